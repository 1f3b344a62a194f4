"""What ``main.py engines bench`` times: language models, the voice and the face, on whatever they run on here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from idol.show.latency import Summary, summarise

if TYPE_CHECKING:
    from engines.models.families import ChatModel
    from engines.models.kokoro import KokoroEngine
    from engines.models.trt_parts import LocalModel
    from engines.trt.device import Device

PROMPTS = (64, 256)
"""Tokens of the prompts that are prefilled."""
CLAUSES = (1.6, 5.0)
"""Seconds of sound of the clauses that are spoken and planned."""
LEAST_RUNS = 5
_WARM_RUNS = 2
_PHONEMES = "ðə sˈi ɪz kwˈIət tənˈIt, ænd ˈɔl ðə bˈOts kˈʌm hˈOm slˈOli."
_FRAMES_PER_SECOND = 40
"""Kokoro's, of 600 samples at 24 kHz."""

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Timing:
    """One row: what was timed ``summary.count`` times, in ms. ``rate`` with its unit says the same for people."""

    engine: str
    what: str
    runtime: str
    summary: Summary
    rate: float = 0.0
    unit: str = ""

    def document(self) -> dict[str, object]:
        """The row of the JSON report."""
        return {
            "engine": self.engine, "what": self.what, "runtime": self.runtime, "runs": self.summary.count,
            "median_ms": round(self.summary.median, 4), "p95_ms": round(self.summary.p95, 4),
            "p99_ms": round(self.summary.p99, 4), "sd_ms": round(self.summary.sd, 4),
            "rate": round(self.rate, 3), "unit": self.unit,
        }  # fmt: skip


def repeat(work: Callable[[], object], seconds: float) -> list[float]:
    """Milliseconds of each run: for about ``seconds``, ``LEAST_RUNS`` at least, after two that do not count."""
    for _ in range(_WARM_RUNS):
        work()
    laps: list[float] = []
    deadline = time.perf_counter() + seconds
    while len(laps) < LEAST_RUNS or time.perf_counter() < deadline:
        began = time.perf_counter()
        work()
        laps.append((time.perf_counter() - began) * 1e3)
    return laps


def time_chat(
    model: LocalModel, device: Device | None, seconds: float, threads: int, context: int, progress: Progress
) -> list[Timing]:
    """Prefill of 64 and 256 tokens, and the decoding of one token behind them. Raises the engine errors."""
    from engines.models.families import load_chat_model, load_trt_chat_model

    if device is None:
        chat = load_chat_model(model.path, context=context, threads=threads, progress=progress)
    else:
        chat = load_trt_chat_model(model.path, device, context=context, progress=progress)
    progress(1.0, "loaded")
    try:
        return _chat_rows(model.name, chat, chat.decoder.runtime, seconds)
    finally:
        chat.close()


def _chat_rows(name: str, chat: ChatModel, runtime: str, seconds: float) -> list[Timing]:
    decoder = chat.decoder
    random = np.random.default_rng(0)
    vocabulary = min(decoder.config.vocabulary, 30_000)  # past that, some tokenisers keep special tokens
    rows = []
    for count in PROMPTS:
        count = min(count, decoder.capacity // 2)

        def prefill(count: int = count) -> None:
            ids = [int(token) for token in random.integers(0, vocabulary, count)]
            decoder.cache.reset()
            decoder.prefill(ids)

        summary = summarise(repeat(prefill, seconds))
        rows.append(Timing(name, f"prefill {count} tokens", runtime, summary, count / summary.median * 1e3, "tokens/s"))
    laps: list[float] = []
    deadline = time.perf_counter() + seconds
    while len(laps) < LEAST_RUNS or time.perf_counter() < deadline:
        prefill()
        for turn in range(_WARM_RUNS + 24):
            began = time.perf_counter()
            decoder.step(int(random.integers(0, vocabulary)))
            if turn >= _WARM_RUNS:
                laps.append((time.perf_counter() - began) * 1e3)
    summary = summarise(laps)
    what = f"decode a token after {min(PROMPTS[-1], decoder.capacity // 2)}"
    rows.append(Timing(name, what, runtime, summary, 1e3 / summary.median, "tokens/s"))
    return rows


def time_voice(
    model: LocalModel, device: Device | None, seconds: float, threads: int, progress: Progress
) -> list[Timing]:
    """Each part and the whole, for clauses of 1.6 s and 5 s. Raises the engine errors."""
    from engines.models.kokoro import KokoroEngine

    engine: KokoroEngine
    if device is None:
        engine = KokoroEngine(model.path, threads=threads)
    else:
        from engines.models.kokoro_trt import TensorRTKokoro

        engine = TensorRTKokoro(model.path, device)
    engine.load(progress)
    progress(1.0, "loaded")
    try:
        return [row for clause in CLAUSES for row in _voice_rows(model.name, engine, clause, seconds)]
    finally:
        engine.close()


def _voice_rows(name: str, engine: KokoroEngine, clause: float, seconds: float) -> list[Timing]:
    frames = round(clause * _FRAMES_PER_SECOND)
    ids = clause_ids(engine.vocabulary, frames)
    durations = np.full(len(ids) + 2, frames // (len(ids) + 2), np.int64)
    durations[: frames - int(durations.sum())] += 1  # forced: the sound is as long as it says, whatever is predicted
    voice = "af_heart" if "af_heart" in engine.voice_names else engine.voice_names[0]
    parts: dict[str, list[float]] = {}
    sound = 0.0

    def speak() -> None:
        nonlocal sound
        made = engine.synthesise(ids, voice, forced=durations, whole=True)
        sound = len(made.audio) / 24_000
        for part, spent in made.seconds.items():
            parts.setdefault(part, []).append(spent * 1e3)

    whole = repeat(speak, seconds)
    rows = [
        Timing(name, f"{clause:g} s, part {part}", engine.runtime, summarise(laps[_WARM_RUNS:]))
        for part, laps in parts.items()
    ]
    summary = summarise(whole)
    factor = summary.median / 1e3 / sound
    rows.append(Timing(name, f"{clause:g} s, whole", engine.runtime, summary, factor, "of real time"))
    return rows


def clause_ids(vocabulary: dict[str, int], frames: int) -> list[int]:
    """Phoneme ids of an English sentence, over and over: as many as such a clause has, one per 3 frames (75 ms)."""
    known = [vocabulary[symbol] for symbol in _PHONEMES if symbol in vocabulary]
    count = max(4, frames // 3 - 2)
    return [known[index % len(known)] for index in range(count)]


def time_face(seconds: float) -> list[Timing]:
    """A clause's plan divided by its frames: what one frame of 33 ms costs."""
    from idol.face.planner import RulePlanner
    from idol.seams import PhonemeSpan, Speech

    rows = []
    for clause in CLAUSES:
        rate = 24_000
        count = round(clause * rate)
        # Noise that swells and fades as syllables do, four a second: the planner looks at loudness and gaps.
        syllables = 0.5 - 0.5 * np.cos(2 * np.pi * 4 * np.arange(count) / rate)
        sound = (0.1 * syllables * np.random.default_rng(0).standard_normal(count)).astype(np.float32)
        symbols = [_PHONEMES[index % len(_PHONEMES)] for index in range(max(4, round(clause * 13)))]
        edges = np.linspace(0, count, len(symbols) + 1).astype(int)
        spans = tuple(
            PhonemeSpan(symbol, int(edges[index]), int(edges[index + 1])) for index, symbol in enumerate(symbols)
        )
        speech = Speech(
            turn_id=1, clause_index=0, samples=sound, sample_rate=rate, spans=spans, language="en",
            spoken=_PHONEMES, seconds_spent=0.0,
        )  # fmt: skip
        planner = RulePlanner()
        frames = len(planner.plan(speech, 0, "neutral"))
        plan = partial(planner.plan, speech, 0, "neutral")
        summary = summarise([lap / frames for lap in repeat(plan, seconds)])
        share = summary.median / (1e3 / 30)
        rows.append(Timing("face", f"a frame of {clause:g} s", "NumPy CPU", summary, share, "of a frame's time"))
    return rows
