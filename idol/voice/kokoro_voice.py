"""Her voice: clauses in, sound with phoneme timing out, on the Kokoro engine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engines.errors import ModelFileError, SessionError
from engines.models.kokoro import MAX_TOKENS, KokoroEngine
from idol.seams import LANGUAGES, Clause, Language, PhonemeSpan, RuntimeInfo, Samples, Speech
from idol.voice.alignment import phoneme_spans, trim
from idol.voice.leads import lead_of
from idol.voice.phonemes import Phonemizer

if TYPE_CHECKING:
    from engines.trt.device import Device

Progress = Callable[[float, str], None]

_PREFIXES: dict[Language, str] = {"en": "ab", "zh": "z", "ja": "j"}
_MAX_PIECE = 200
"""Phonemes per synthesis: Kokoro rushes and mumbles in longer ones."""
_WARM: dict[Language, str] = {
    "en": "Hello there, it is so nice to have all of you here with me.",
    "zh": "你好，很高兴见到你，今天我们一起玩一个很有意思的游戏，你准备好了吗？",
    "ja": "こんにちは、はじめまして。今日は一緒に楽しいゲームをして遊びましょうね。",
}


class KokoroVoice:
    """Implements ``Synthesiser``. Used from the worker thread only."""

    def __init__(self, engine: KokoroEngine) -> None:
        self._engine = engine
        self._phonemizer = Phonemizer(frozenset(engine.vocabulary))
        self._most = _MAX_PIECE

    @property
    def info(self) -> RuntimeInfo:
        return RuntimeInfo("voice", self._engine.runtime, "Kokoro-82M")

    @property
    def phonemizer(self) -> Phonemizer:
        return self._phonemizer

    @property
    def on_card(self) -> bool:
        """Whether parts of it run on a card."""
        return self._engine.on_card

    def shorten(self, on: bool) -> None:
        """Synthesise in pieces half as long and give back the CUDA graphs, or as at first again. The engines' own work
        space on a card stays what they were built for."""
        self._most = _MAX_PIECE // 2 if on else _MAX_PIECE
        self._engine.keep_graphs(0 if on else None)

    def voices(self, language: Language | None = None) -> tuple[str, ...]:
        """Installed voices, of one language or all."""
        names = self._engine.voice_names
        if language is None:
            return names
        return tuple(name for name in names if name[:1] in _PREFIXES[language])

    def warm(self, languages: tuple[Language, ...] = LANGUAGES, progress: Progress | None = None) -> None:
        """Load dictionaries and run once per language, so that the first reply pays for neither (about 1.2 s each)."""
        for index, language in enumerate(languages):
            if progress is not None:
                progress(index / len(languages), f"warming the voice ({language})")
            voices = self.voices(language)
            if voices:
                self.speak(Clause(0, 0, _WARM[language], "neutral", language), voices[0])

    def preload(self, languages: tuple[Language, ...] = LANGUAGES) -> None:
        """Load dictionaries only. May run on another thread while ``speak`` works."""
        for language in languages:
            self._phonemizer.load(language)

    def speak(self, clause: Clause, voice: str, speed: float = 1.0) -> Speech | None:
        """Raises ``ModelFileError`` for an unknown voice (valid names are listed) and ``SessionError``."""
        started = time.perf_counter()
        if voice not in self._engine.voice_names:
            raise ModelFileError(
                f"There is no voice {voice!r}.", f"Installed voices: {', '.join(self._engine.voice_names)}."
            )
        if not 0.5 <= speed <= 2.0:
            raise SessionError(f"The speed of speech is {speed}.", "Choose 0.5 to 2.")
        spoken = self._phonemizer.spoken(clause.text, clause.language)
        symbols = self._phonemizer.phonemes(spoken, clause.language) if spoken else ""
        if not re.search(r"[^\s.,;:!?—…“”()\"']", symbols):
            return None
        pieces = [self._piece(piece, voice, speed, clause.language) for piece in split_symbols(symbols, self._most)]
        samples = np.concatenate([sound for sound, _ in pieces])
        spans: list[PhonemeSpan] = []
        offset = 0
        for sound, piece_spans in pieces:
            spans += [replace(span, start=span.start + offset, end=span.end + offset) for span in piece_spans]
            offset += len(sound)
        if not len(samples):
            return None
        return Speech(
            turn_id=clause.turn_id,
            clause_index=clause.index,
            samples=samples,
            spans=tuple(spans),
            language=clause.language,
            spoken=spoken,
            seconds_spent=time.perf_counter() - started,
        )

    def close(self) -> None:
        self._engine.close()

    def _piece(
        self, symbols: str, voice: str, speed: float, language: Language
    ) -> tuple[Samples, tuple[PhonemeSpan, ...]]:
        ids = [self._engine.vocabulary[symbol] for symbol in symbols]
        made = self._engine.synthesise(ids, voice, speed)
        spans = phoneme_spans(symbols, made.durations, lead_of(voice, language))
        return trim(limited(made.audio), spans, symbols)


def limited(samples: Samples) -> Samples:
    """``samples`` within -1..1: some voices peak above it. Up to 0.7 nothing changes; beyond, a soft knee."""
    knee = 0.7
    size = np.abs(samples)
    if not len(samples) or float(size.max()) <= knee:
        return samples
    bent = knee + (1 - knee) * np.tanh((size - knee) / (1 - knee))
    return np.where(size > knee, np.copysign(bent, samples), samples).astype(np.float32)


def split_symbols(symbols: str, limit: int = _MAX_PIECE) -> list[str]:
    """Phonemes in pieces of at most ``limit``, cut after sentence ends, else commas, else spaces."""
    limit = min(limit, MAX_TOKENS)
    pieces = []
    rest = symbols.strip()
    while len(rest) > limit:
        head = rest[:limit]
        cut = max(head.rfind(mark) for mark in ".!?…")
        if cut < limit // 3:
            cut = max(head.rfind(mark) for mark in ",;:—")
        if cut < limit // 3:
            cut = head.rfind(" ")
        if cut <= 0:
            cut = limit - 1
        pieces.append(rest[: cut + 1].strip())
        rest = rest[cut + 1 :].strip()
    return [piece for piece in [*pieces, rest] if piece]


def load_voice(
    model_dir: Path,
    *,
    threads: int = 0,
    progress: Progress | None = None,
    device: Device | None = None,
    cancelled: Callable[[], bool] | None = None,
    admit: Callable[[int], None] | None = None,
) -> KokoroVoice:
    """Load Kokoro from ``model_dir`` (``*.onnx``, ``vocab.json``, ``voices/*.bin``), on ``device`` or on the CPU.

    ``admit`` is asked with the bytes that it will take on ``device``, and may refuse by raising. Raises
    ``ModelFileError``, and ``TensorRTError`` where the device fails.
    """
    engine: KokoroEngine
    if device is None:
        engine = KokoroEngine(model_dir, threads=threads)
    else:
        from engines.models.kokoro_trt import TensorRTKokoro

        engine = TensorRTKokoro(model_dir, device, cancelled=cancelled, admit=admit)
    engine.load(progress)
    return KokoroVoice(engine)
