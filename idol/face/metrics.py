"""How good a mouth is, in numbers that need no recorded face: closures reached, when, and how smoothly.

Lip gap after VBridger's openness (jawOpen - mouthClose + 0.2 funnel), made stricter: rolled lips earn nothing, bared
lips (LowerDown, UpperUp) cost. "Lips must close on p, b and m" is the first rule of JALI (Edwards et al. 2016), and
viewers miss nothing sooner; how often it holds is ``ClosureScore.recall``. Everything is measured between the frames as
``FaceTrack`` interpolates them, not on the planner's own finer curves, and the sounds are read from the speech's spans,
not from the planner's segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.face.envelope import envelope_of
from idol.seams import ARKIT_INDEX, FRAME_SECONDS, FaceFrame, PhonemeSpan, Speech

Floats = NDArray[np.float64]

CLOSED_GAP = 0.05
"""Lip gap at or below which the lips count as met (1 is a jaw fully open with free lips)."""
ROUNDED = 0.30
"""mouthPucker + mouthFunnel from which lips count as rounded."""
ROLLED = 0.40
"""mouthRollLower from which the lower lip counts as on the teeth."""

_STEP = 0.0025
_LABIALS = frozenset("pbm")
_STOPS = frozenset("pb")
_TEETH = {"en": frozenset("fv"), "zh": frozenset("f"), "ja": frozenset("v")}
_ROUND = {"en": frozenset("uwoɔOʃ"), "zh": frozenset("uwoyɥ"), "ja": frozenset("o")}
_PAUSES = frozenset('.,;:!?—…"“”()、。，！？；： ')
_DIP_DB = 12.0
"""A stop's closure counts for timing when it is this much softer than the loudest sound within 150 ms."""


@dataclass(frozen=True, slots=True)
class ClosureScore:
    """p, b and m of one or more clauses.

    ``phones`` were spoken, ``reached`` of them had the lips met within their span. ``timing`` holds, for each p and b
    with a clear dip in the sound, the middle of the lips' contact minus the middle of the dip in seconds (positive: the
    lips are late). ``false_closures`` are moments of met lips inside sound without a labial nearby.
    """

    phones: int
    reached: int
    timing: tuple[float, ...]
    false_closures: int

    @property
    def recall(self) -> float:
        """Share of p, b, m whose lips met; 1 when there was none."""
        return self.reached / self.phones if self.phones else 1.0

    @property
    def timing_error_ms(self) -> float:
        """Median distance of contact and dip in ms, without sign; 0 when nothing could be timed."""
        return float(np.median(np.abs(self.timing))) * 1000 if self.timing else 0.0

    def __add__(self, other: ClosureScore) -> ClosureScore:
        return ClosureScore(
            self.phones + other.phones, self.reached + other.reached, self.timing + other.timing,
            self.false_closures + other.false_closures,
        )  # fmt: skip


def lip_gap(weights: NDArray[np.float32]) -> Floats:
    """Distance of the lips, 0 (met) to about 1, of weights [..., 52].

    jawOpen - mouthClose + 0.2 mouthFunnel + 0.25 (LowerDown + UpperUp, means of both sides), not below 0.
    """
    values = np.asarray(weights, np.float64)

    def of(name: str) -> Floats:
        column: Floats = values[..., ARKIT_INDEX[name]]
        return column

    bared = 0.5 * (of("mouthLowerDownLeft") + of("mouthLowerDownRight"))
    bared = bared + 0.5 * (of("mouthUpperUpLeft") + of("mouthUpperUpRight"))
    return np.maximum(0.0, of("jawOpen") - of("mouthClose") + 0.2 * of("mouthFunnel") + 0.25 * bared)


def between(frames: Sequence[FaceFrame], seconds: Floats, rate: int, first_sample: int = 0) -> NDArray[np.float32]:
    """Weights [len(seconds), 52] at times after ``first_sample``, linear between frames like the face track."""
    at = np.array([(frame.at - first_sample) / rate for frame in frames])
    weights = np.stack([frame.weights for frame in frames])
    result = np.stack([np.interp(seconds, at, weights[:, index]) for index in range(weights.shape[1])], axis=-1)
    return result.astype(np.float32)


def closure_score(speech: Speech, frames: Sequence[FaceFrame], first_sample: int = 0) -> ClosureScore:
    """Closures of ``frames`` planned for ``speech``. Threshold: ``CLOSED_GAP``.

    After "closure recall" of the lip-sync literature (a bilabial is right when the lips meet while it sounds); recall
    within the span, timing against the sound.
    """
    rate = speech.sample_rate
    times = np.arange(0.0, len(speech.samples) / rate, _STEP)
    met = lip_gap(between(frames, times, rate, first_sample)) <= CLOSED_GAP
    phones = reached = 0
    timing: list[float] = []
    envelope = envelope_of(speech.samples, rate)
    excused = np.zeros(len(times), bool)
    for span in speech.spans:
        start, end = span.start / rate, span.end / rate
        if _is_pause(span):
            excused |= (times >= start - 0.12) & (times <= end + 0.12)
        if not _LABIALS & set(span.phoneme):
            continue
        phones += 1
        excused |= (times >= start - 0.12) & (times <= end + 0.12)
        inside = (times >= start) & (times <= end)
        if not (met & inside).any():
            continue
        reached += 1
        if _STOPS & set(span.phoneme):
            dip = _dip(envelope.at(times), times, start, end)
            if dip is not None:
                timing.append(_contact(met, times, dip) - dip)
    sounding = np.zeros(len(times), bool)
    for start, end in envelope.sounding:
        sounding |= (times > start + 0.12) & (times < end - 0.12)
    wrong = met & sounding & ~excused
    false_closures = int(np.count_nonzero(np.diff(np.concatenate(([False], wrong)).astype(np.int8)) == 1))
    return ClosureScore(phones, reached, tuple(timing), false_closures)


def labiodental_recall(speech: Speech, frames: Sequence[FaceFrame], first_sample: int = 0) -> tuple[int, int]:
    """(f and v spoken, those with the lower lip on the teeth and the lips not sealed within the span)."""
    index = ARKIT_INDEX

    def right(weights: NDArray[np.float32]) -> bool:
        rolled = weights[:, index["mouthRollLower"]] >= ROLLED
        teeth = weights[:, index["mouthUpperUpLeft"]] > 0.1
        sealed = weights[:, index["mouthClose"]] > 0.5 * weights[:, index["jawOpen"]]
        return bool((rolled & teeth & ~sealed).any())

    return _share(speech, frames, first_sample, _TEETH[speech.language], right)


def rounding_recall(speech: Speech, frames: Sequence[FaceFrame], first_sample: int = 0) -> tuple[int, int]:
    """(rounded sounds spoken, those with mouthPucker + mouthFunnel at ``ROUNDED`` or more within the span).

    English u w o ɔ ʃ, Chinese u w o ü, Japanese o: its u is compressed, not rounded.
    """

    def right(weights: NDArray[np.float32]) -> bool:
        rounded = weights[:, ARKIT_INDEX["mouthPucker"]] + weights[:, ARKIT_INDEX["mouthFunnel"]]
        return bool((rounded >= ROUNDED).any())

    return _share(speech, frames, first_sample, _ROUND[speech.language], right)


def largest_step(frames: Sequence[FaceFrame]) -> float:
    """The largest change of any weight from one frame to the next: a pop shows here. 0 for fewer than two frames."""
    if len(frames) < 2:
        return 0.0
    weights = np.stack([frame.weights for frame in frames])
    return float(np.abs(np.diff(weights, axis=0)).max())


def jitter(frames: Sequence[FaceFrame], seconds: float = FRAME_SECONDS) -> float:
    """Share of the jaw's motion (power without the mean) above 8 Hz, 0 to 1; 0 for fewer than 16 frames.

    Jaws cycle with syllables, 5 to 6 Hz at most; what is quicker trembles. ``seconds`` is the frames' spacing.
    """
    if len(frames) < 16:
        return 0.0
    jaw = np.array([frame.weights[ARKIT_INDEX["jawOpen"]] for frame in frames], np.float64)
    power = np.abs(np.fft.rfft((jaw - jaw.mean()) * np.hanning(len(jaw)))) ** 2
    total = float(power[1:].sum())
    return float(power[np.fft.rfftfreq(len(jaw), seconds) > 8.0].sum()) / total if total > 0 else 0.0


def jaw_lag(speech: Speech, frames: Sequence[FaceFrame], first_sample: int = 0) -> tuple[float, float]:
    """(seconds by which jawOpen comes after the sound where both agree best, their correlation there).

    The sound's openness is its first formant, roughly: the share of 550-1200 Hz in all below 1200 Hz, in dB, on loud
    frames, since an open jaw raises F1 (Lindblom & Sundberg 1971). Loudness itself is no guide: i and u are loud.
    Pearson over -200 to +200 ms in steps of 5 ms. (0, 0) when there is under 0.3 s of sound to compare.
    """
    rate = speech.sample_rate
    hop, width, size = round(0.005 * rate), round(0.025 * rate), 2048
    count = (len(speech.samples) - width) // hop
    if count < 60:
        return 0.0, 0.0
    windows = np.lib.stride_tricks.sliding_window_view(speech.samples, width)[: count * hop : hop] * np.hanning(width)
    power = np.abs(np.fft.rfft(windows, size)) ** 2 + 1e-12
    hertz = np.fft.rfftfreq(size, 1 / rate)
    below, above = power[:, (hertz > 80) & (hertz < 480)].sum(1), power[:, (hertz > 550) & (hertz < 1200)].sum(1)
    loud = 10 * np.log10(below + above)
    times = (np.arange(count) * hop + width / 2) / rate
    kept = (loud > loud.max() - 25.0) & (times > 0.2) & (times < times[-1] - 0.2)
    if np.count_nonzero(kept) < 60:
        return 0.0, 0.0
    times, openness = times[kept], np.clip(10 * np.log10(above / (below + above)), -15.0, 0.0)[kept]
    best = (0.0, 0.0)
    for lag in np.arange(-0.2, 0.2025, 0.005):
        jaw = between(frames, times + lag, rate, first_sample)[:, ARKIT_INDEX["jawOpen"]].astype(np.float64)
        if jaw.std() > 1e-6 and openness.std() > 1e-6:
            value = float(np.corrcoef(jaw, openness)[0, 1])
            if value > best[1]:
                best = (float(lag), value)
    return best


def _share(
    speech: Speech,
    frames: Sequence[FaceFrame],
    first_sample: int,
    symbols: frozenset[str],
    right: Callable[[NDArray[np.float32]], bool],
) -> tuple[int, int]:
    rate = speech.sample_rate
    spoken = reached = 0
    for span in speech.spans:
        if symbols & set(span.phoneme):
            times = np.arange(span.start / rate, span.end / rate + _STEP / 2, _STEP)
            spoken += 1
            reached += int(right(between(frames, times, rate, first_sample)))
    return spoken, reached


def _is_pause(span: PhonemeSpan) -> bool:
    return bool(span.phoneme) and all(symbol in _PAUSES for symbol in span.phoneme)


def _dip(level: Floats, times: Floats, start: float, end: float) -> float | None:
    """The middle of the softest stretch (within 3 dB of the minimum) from 40 ms before a stop's span to its end."""
    near = np.flatnonzero((times >= start - 0.04) & (times <= min(end, start + 0.14)))
    around = (times >= start - 0.15) & (times <= end + 0.15)
    if not len(near):
        return None
    lowest = int(near[np.argmin(level[near])])
    if level[around].max() - level[lowest] < _DIP_DB or lowest in (near[0], near[-1]):
        return None
    first = last = lowest
    while first > near[0] and level[first - 1] <= level[lowest] + 3.0:
        first -= 1
    while last < near[-1] and level[last + 1] <= level[lowest] + 3.0:
        last += 1
    return float(0.5 * (times[first] + times[last]))


def _contact(met: NDArray[np.bool_], times: Floats, near: float) -> float:
    """The middle of the stretch of met lips nearest to ``near``; there is one."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], met, [False])).astype(np.int8)))
    firsts, lasts = times[edges[::2]], times[np.minimum(edges[1::2] - 1, len(times) - 1)]
    away = np.maximum(0.0, np.maximum(firsts - near, near - lasts))
    nearest = int(np.argmin(away))
    return float(0.5 * (firsts[nearest] + lasts[nearest]))
