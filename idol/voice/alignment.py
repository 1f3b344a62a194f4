"""Kokoro's durations as phoneme spans on the sound, and the sound trimmed to what is heard.

Kokoro's sound comes earlier than its symbols' frames say, by 40 to 80 ms (``leads``). Stress, tone, length and
aspiration marks have frames of their own and are merged into the phoneme they belong to. The last sounding symbol
swallows the trailing silence, so its end is taken from the sound's energy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.seams import SAMPLE_RATE, PhonemeSpan, Samples

FRAME = 600
MARGIN_SECONDS = 0.025
"""Kept before the first sound that can be heard."""
SENTENCE_PAUSE, CLAUSE_PAUSE, WORD_PAUSE = 0.27, 0.12, 0.08
"""Silence in seconds after a full stop, after a comma and after anything else."""

_MODIFIERS = "ˈˌːˑ→↗↘↓ʰʲᵝ\u0303"
_INTO_NEXT = "ˈˌ"
_PAUSES = " .,;:!?—…“”()\"'"
_STEP = SAMPLE_RATE // 200  # 5 ms
_SENTENCE_END = ".!?…。！？"


def phoneme_spans(symbols: str, durations: NDArray[np.int64], lead: float) -> list[PhonemeSpan]:
    """Spans in samples of the untrimmed sound, marks merged, shifted ``lead`` seconds to the front.

    ``durations`` int [len(symbols) + 2] in frames, both pads included. Spans may begin below 0.
    """
    ends = np.cumsum(durations) * FRAME - round(lead * SAMPLE_RATE)
    spans: list[PhonemeSpan] = []
    waiting_start: int | None = None
    for index, symbol in enumerate(symbols):
        start, end = int(ends[index]), int(ends[index + 1])
        if symbol in _INTO_NEXT:
            waiting_start = start if waiting_start is None else waiting_start
        elif symbol in _MODIFIERS:
            if waiting_start is None and spans and spans[-1].end == start and spans[-1].phoneme not in _PAUSES:
                spans[-1] = PhonemeSpan(spans[-1].phoneme + symbol, spans[-1].start, end)
        else:
            if waiting_start is None or symbol in _PAUSES:
                spans.append(PhonemeSpan(symbol, start, end))
            else:
                spans.append(PhonemeSpan("ˈ" + symbol, waiting_start, end))
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
    """The sound from 25 ms before its first audible sample to a natural pause after its last, with spans to match.

    ``text`` (or its symbols) tells the pause by its last mark. Spans are sorted, within the sound, and cover all of
    it that can be heard.
    """
    first, last = loud_region(samples)
    if last == 0:
        return samples[:0], ()
    start = max(0, first - round(MARGIN_SECONDS * SAMPLE_RATE))
    length = last - start + round(_pause_after(text) * SAMPLE_RATE)
    kept = samples[start : start + length].copy()
    _fade(kept[: first - start][: round(0.005 * SAMPLE_RATE)], rising=True)
    _fade(kept[last - start :], rising=False)
    sound = np.zeros(length, np.float32)
    sound[: len(kept)] = kept
    moved: list[PhonemeSpan] = []
    for span in spans:
        begin = min(max(span.start - start, 0), length)
        end = min(max(span.end - start, 0), length)
        if end > begin:
            moved.append(PhonemeSpan(span.phoneme, begin, end))
    return sound, tuple(_cover(_close_last(moved, last - start), first - start))


def _pause_after(text: str) -> float:
    ending = text.rstrip("\"'”’」』）) ")[-1:]
    if ending and ending in _SENTENCE_END:
        return SENTENCE_PAUSE
    return CLAUSE_PAUSE if ending and ending in ",;:，、；：—" else WORD_PAUSE


def _fade(part: Samples, *, rising: bool) -> None:
    """In place; the tail of a clause goes down over all that is left of it."""
    if len(part):
        part *= np.linspace(0.0, 1.0, len(part), dtype=np.float32)[:: 1 if rising else -1]


def _cover(spans: list[PhonemeSpan], sound_start: int) -> list[PhonemeSpan]:
    """The first sounding span reaches back to where the sound starts."""
    for index, span in enumerate(spans):
        if span.phoneme not in _PAUSES:
            begin = max(0, min(span.start, sound_start))
            earlier = [PhonemeSpan(s.phoneme, min(s.start, begin), min(s.end, begin)) for s in spans[:index]]
            earlier = [s for s in earlier if s.end > s.start]
            return [*earlier, PhonemeSpan(span.phoneme, begin, span.end), *spans[index + 1 :]]
    return spans


def _close_last(spans: list[PhonemeSpan], sound_end: int) -> list[PhonemeSpan]:
    """End the last sounding span where the sound ends; pauses fill the rest."""
    sounding = [index for index, span in enumerate(spans) if span.phoneme not in _PAUSES]
    if not sounding:
        return spans
    last = sounding[-1]
    span = spans[last]
    end = max(span.start + 1, sound_end)
    closed = [*spans[:last], PhonemeSpan(span.phoneme, span.start, end)]
    # What follows are pauses; one that would lie within the sound begins after it.
    for later in spans[last + 1 :]:
        if later.end > end:
            closed.append(PhonemeSpan(later.phoneme, max(later.start, end), later.end))
    return closed
