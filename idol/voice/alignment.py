"""Kokoro's durations as phoneme spans on the sound, and the sound trimmed to what is heard.

Kokoro's sound comes earlier than its symbols' frames say, by about 50 ms; the measured leads per language are below
(``tests/voice/measure_lead.py`` makes them). Stress, tone, length and aspiration marks have frames of their own and are
merged into the phoneme they belong to. The last sounding symbol swallows the trailing silence, so its end is taken from
the sound's energy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.seams import SAMPLE_RATE, Language, PhonemeSpan, Samples

FRAME = 600
LEAD_SECONDS: dict[Language, float] = {"en": 0.050, "zh": 0.055, "ja": 0.055}
"""How much earlier the sound is than the symbols' frames, in seconds."""

_MODIFIERS = "ˈˌːˑ→↗↘↓ʰʲᵝ\u0303"
_INTO_NEXT = "ˈˌ"
_PAUSES = " .,;:!?—…“”()\"'"
_STEP = SAMPLE_RATE // 200  # 5 ms
_SENTENCE_END = ".!?…。！？"


def phoneme_spans(symbols: str, durations: NDArray[np.int64], language: Language) -> list[PhonemeSpan]:
    """Spans in samples of the untrimmed sound, marks merged, shifted by the lead.

    ``durations`` int [len(symbols) + 2] in frames, both pads included. Spans may begin below 0.
    """
    ends = np.cumsum(durations) * FRAME - round(LEAD_SECONDS[language] * SAMPLE_RATE)
    spans: list[PhonemeSpan] = []
    waiting_start: int | None = None
    for index, symbol in enumerate(symbols):
        start, end = int(ends[index]), int(ends[index + 1])
        if symbol in _INTO_NEXT:
            waiting_start = start if waiting_start is None else waiting_start
        elif symbol in _MODIFIERS and spans and spans[-1].end == start:
            spans[-1] = PhonemeSpan(spans[-1].phoneme + symbol, spans[-1].start, end)
        else:
            stressed = waiting_start is not None
            spans.append(PhonemeSpan(("ˈ" if stressed else "") + symbol, waiting_start if stressed else start, end))  # type: ignore[arg-type]
            waiting_start = None
    return spans


def loud_region(samples: Samples) -> tuple[int, int]:
    """First and last sample that can be heard, (0, 0) for silence: 5 ms steps above −50 dB of the loudest."""
    count = len(samples) // _STEP
    if not count:
        return 0, 0
    energy = np.sqrt(np.mean(samples[: count * _STEP].reshape(count, _STEP) ** 2, axis=1))
    peak = float(energy.max())
    if peak < 1e-4:
        return 0, 0
    loud = np.flatnonzero(energy > max(peak * 10 ** (-50 / 20), 2e-4))
    return int(loud[0]) * _STEP, (int(loud[-1]) + 1) * _STEP


def trim(samples: Samples, spans: list[PhonemeSpan], text: str) -> tuple[Samples, tuple[PhonemeSpan, ...]]:
    """The sound from 25 ms before its first audible sample to a natural pause after its last, with spans to match."""
    first, last = loud_region(samples)
    if last == 0:
        return samples[:0], ()
    start = max(0, first - round(0.025 * SAMPLE_RATE))
    ending = text.rstrip("\"'”’」』）) ")[-1:]
    pause = 0.26 if ending in _SENTENCE_END else 0.13 if ending in ",;:，、；：—" else 0.08
    length = last - start + round(pause * SAMPLE_RATE)
    kept = samples[start : start + length]
    sound = np.zeros(length, np.float32)
    sound[: len(kept)] = kept
    fade = min(round(0.005 * SAMPLE_RATE), first - start)
    if fade > 0:
        sound[:fade] *= np.linspace(0, 1, fade, dtype=np.float32)
    tail = round(0.02 * SAMPLE_RATE)
    sound[-tail:] *= np.linspace(1, 0, tail, dtype=np.float32)
    moved: list[PhonemeSpan] = []
    for span in spans:
        begin = min(max(span.start - start, 0), length)
        end = min(max(span.end - start, 0), length)
        if end > begin:
            moved.append(PhonemeSpan(span.phoneme, begin, end))
    return sound, tuple(_close_last(moved, last - start))


def _close_last(spans: list[PhonemeSpan], sound_end: int) -> list[PhonemeSpan]:
    """End the last sounding span where the sound ends; pauses fill the rest."""
    sounding = [index for index, span in enumerate(spans) if span.phoneme not in _PAUSES]
    if not sounding:
        return spans
    last = sounding[-1]
    span = spans[last]
    end = max(span.start + 1, min(span.end, sound_end))
    closed = [*spans[:last], PhonemeSpan(span.phoneme, span.start, end)]
    for later in spans[last + 1 :]:
        closed.append(PhonemeSpan(later.phoneme, max(later.start, end), max(later.end, end + 1)))
    return closed
