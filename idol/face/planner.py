"""Phonemes and sound to mouth: dominance functions for what flows, hard constraints for what must be seen.

Each sound pulls the mouth toward its target with a dominance that decays in time (Cohen & Massaro 1993), jaw, rounding,
spreading and the lips' edges apart, so a rounded vowel reaches into the consonants before it while t, k and n leave
the lips alone. A weighted mean never closes lips between two open vowels, so what a viewer misses at once is laid on
top, as JALI (Edwards et al. 2016) and Pelachaud et al. (1996) do: p b m close at the sound's own closure, f v put the
lip to the teeth, sibilants narrow the jaw, silence closes the mouth. All numbers stand in ``articulation``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from idol.face import articulation as art
from idol.face.envelope import Envelope, acoustic_closure, envelope_of
from idol.face.phones import Segment, segments_of
from idol.seams import ARKIT_INDEX, FRAME_SECONDS, Emotion, FaceFrame, Speech, Weights

Floats = NDArray[np.float64]

_STEP = 1 / 240
_BROW_SECONDS = 0.22
_BROW_HEIGHT = 0.28
_BROW_REST = 1.1
"""Seconds between two brow raises at least."""


class RulePlanner:
    """Implements ``FacePlanner``. One per show; ``seed`` fixes the small asymmetries."""

    def __init__(self, fps: float = 1 / FRAME_SECONDS, seed: int = 1) -> None:
        self._seconds = 1.0 / fps
        self._random = np.random.default_rng(seed)
        self._last: tuple[int, Weights] | None = None

    def reset(self) -> None:
        """A new turn begins: nothing is carried over."""
        self._last = None

    def plan(self, speech: Speech, first_sample: int, emotion: Emotion) -> list[FaceFrame]:
        """Frames from the clause's first sample to its last."""
        rate = speech.sample_rate
        duration = len(speech.samples) / rate
        if duration <= 0:
            return []
        envelope = envelope_of(speech.samples, rate)
        segments = segments_of(speech.spans, speech.language, rate)
        times = np.arange(0.0, duration + _STEP, _STEP)
        curves = self._blended(segments, times, envelope, emotion)
        curves = _smoothed(curves)
        close = np.zeros(len(times))
        contact = np.zeros(len(times))
        for segment in segments:
            if segment.kind == "closure":
                begin, end = self._contact_of(segment, envelope)
                close = np.maximum(close, _ramp(times, begin, end, art.CLOSURE_ATTACK, art.CLOSURE_RELEASE))
            elif segment.kind == "contact":
                start, end = segment.start - 0.01, segment.start + 0.8 * segment.seconds
                contact = np.maximum(contact, _ramp(times, start, end, art.CONTACT_ATTACK, art.CONTACT_RELEASE))
            elif segment.kind == "sibilant":
                narrow = _ramp(times, segment.start, segment.end - 0.01, 0.04, 0.04)
                jaw = curves[:, art.JAW]
                curves[:, art.JAW] = jaw - narrow * np.maximum(0.0, jaw - art.SIBILANT_JAW)
        gate = self._gate(times, envelope)
        curves *= gate[:, None]
        weights = self._arkit(curves, close * gate, contact * gate)
        self._raise_brows(weights, segments, times, envelope)
        return self._frames(weights, times, first_sample, duration, rate)

    @staticmethod
    def _contact_of(segment: Segment, envelope: Envelope) -> tuple[float, float]:
        """From when to when the lips of a p, b or m touch, in seconds: about the dip in the sound, in or at its span.

        Long ones (geminates, m before p, a held m) keep their lips shut for most of the span. The last sound of a
        clause has a span that runs on through the silence: its end is the end of sound. A silence inside a stop that
        sound follows is its closure.
        """
        start, end = segment.start, segment.end
        for index, (_, silent_from) in enumerate(envelope.sounding):
            if start < silent_from < end:
                following = envelope.sounding[index + 1][0] if index + 1 < len(envelope.sounding) else math.inf
                if following <= end + art.CLOSURE_EARLY:
                    return min(start + art.CLOSURE_EDGES[0], silent_from), following
                end = silent_from
                break
        end = min(end, start + art.CLOSURE_LONGEST)
        centre = acoustic_closure(envelope, start, end)
        first = max(centre - art.CLOSURE_HALF, start - art.CLOSURE_EARLY)
        last = first + 2 * art.CLOSURE_HALF
        if end - start > art.CLOSURE_LONG or end < segment.end:
            first, last = min(first, start + art.CLOSURE_EDGES[0]), max(last, end - art.CLOSURE_EDGES[1])
        return first, last

    # -- curves --------------------------------------------------------------------------------------------------

    def _blended(self, segments: list[Segment], times: Floats, envelope: Envelope, emotion: Emotion) -> Floats:
        """Weighted means of the targets, [times, channels]."""
        curves = np.zeros((len(times), len(art.CHANNELS)))
        if not segments:
            return curves
        places = np.array([art.VISEME_INDEX[segment.viseme] for segment in segments])
        starts = np.array([segment.start for segment in segments]) - art.LEAD_SECONDS
        spans = np.array([segment.seconds for segment in segments])
        first, last = starts + art.CORE[0] * spans, starts + art.CORE[1] * spans
        early = np.maximum(0.0, first - times[:, None]) * 1000
        late = np.maximum(0.0, times[:, None] - last) * 1000
        targets = art.TARGETS[places].copy()
        jaw_style, lip_style = art.EMOTION_SPEECH[emotion]
        middle = (starts + 0.5 * spans).clip(0)
        loudness = np.clip(1.0 + (envelope.at(middle) - envelope.loud + 4.0) / 30.0, 0.72, 1.12)
        stress = np.array([(0.94, 1.0, 1.12)[segment.stress] for segment in segments])
        vowel = np.array([segment.kind == "vowel" for segment in segments])
        targets[:, art.JAW] *= jaw_style * np.where(vowel, loudness * stress, 1.0)
        targets[:, 1:] *= lip_style
        for group, channels in enumerate(art.GROUPS):
            alphas = art.ALPHAS[places, group]
            dominance = alphas * np.exp(-art.THETA_BEFORE[group] * early - art.THETA_AFTER[group] * late)
            total = dominance.sum(axis=1) + art.REST_ALPHA
            for channel in channels:
                curves[:, channel] = dominance @ targets[:, channel] / total
        return curves

    def _gate(self, times: Floats, envelope: Envelope) -> Floats:
        """1 while there is sound, closing within 95 ms after it, opening a little before it."""
        gate = np.zeros(len(times))
        for start, end in envelope.sounding:
            gate = np.maximum(gate, _ramp(times, start, end + art.SILENCE_HOLD, art.SILENCE_OPEN, art.SILENCE_CLOSE))
        return gate

    def _arkit(self, curves: Floats, close: Floats, contact: Floats) -> NDArray[np.float32]:
        """Channels to the 52, with closures on top; [times, 52]."""
        jaw = curves[:, art.JAW]
        jaw = jaw - close * np.maximum(0.0, jaw - art.CLOSED_JAW)
        jaw = jaw - contact * np.maximum(0.0, jaw - art.CONTACT_JAW)
        apart = (1.0 - close) * (1.0 - 0.8 * contact)
        weights = np.zeros((len(jaw), 52), np.float32)
        left, right = 1.0 + self._random.uniform(-0.04, 0.04, 2)

        def put(name: str, values: Floats) -> None:
            weights[:, ARKIT_INDEX[name]] = np.clip(values, 0.0, 1.0)

        def put_both(name: str, values: Floats) -> None:
            put(f"{name}Left", values * left)
            put(f"{name}Right", values * right)

        put("jawOpen", jaw)
        put("mouthClose", jaw * close)
        put("mouthFunnel", curves[:, art.FUNNEL] * (1.0 - 0.85 * close) * (1.0 - 0.7 * contact))
        put("mouthPucker", curves[:, art.PUCKER] * (1.0 - 0.5 * contact))
        put_both("mouthStretch", curves[:, art.STRETCH])
        put_both("mouthSmile", curves[:, art.SMILE])
        put_both("mouthLowerDown", curves[:, art.LOWER_DOWN] * apart)
        put_both("mouthUpperUp", np.maximum(curves[:, art.UPPER_UP], 0.22 * contact) * (1.0 - close))
        put("mouthRollLower", np.maximum(np.maximum(curves[:, art.ROLL_LOWER], 0.60 * contact), 0.24 * close))
        put("mouthRollUpper", 0.22 * close)
        put_both("mouthPress", np.maximum(curves[:, art.PRESS], 0.34 * close) * (1.0 - contact))
        put("tongueOut", curves[:, art.TONGUE] * (1.0 - close))
        return weights

    def _raise_brows(
        self, weights: NDArray[np.float32], segments: list[Segment], times: Floats, envelope: Envelope
    ) -> None:
        """A brow raise on the strongest stressed vowels: begins before the vowel, peaks in it (Kim et al. 2014)."""
        stressed = [s for s in segments if s.stress == 2 and s.kind == "vowel"]
        stressed.sort(key=lambda s: float(envelope.at(s.start + 0.5 * s.seconds)), reverse=True)
        taken: list[float] = []
        for segment in stressed:
            at = segment.start + 0.4 * segment.seconds
            if any(abs(at - other) < _BROW_REST for other in taken):
                continue
            taken.append(at)
            height = _BROW_HEIGHT * self._random.uniform(0.6, 1.0)
            bump = (height * np.exp(-0.5 * ((times - at) / (_BROW_SECONDS / 2)) ** 2)).astype(np.float32)
            for name, share in (("browInnerUp", 0.8), ("browOuterUpLeft", 1.0), ("browOuterUpRight", 0.95)):
                column = ARKIT_INDEX[name]
                weights[:, column] = np.maximum(weights[:, column], bump * share)
            if len(taken) >= 3:
                return

    def _frames(
        self, weights: NDArray[np.float32], times: Floats, first_sample: int, duration: float, rate: int
    ) -> list[FaceFrame]:
        moments = np.arange(0.0, duration, self._seconds)
        rows = np.clip(np.rint(moments / _STEP).astype(np.int64), 0, len(times) - 1)
        frames: list[FaceFrame] = []
        previous = self._last
        for moment, row in zip(moments, rows, strict=True):
            values = weights[row].copy()
            if previous is not None and moment < 0.1:
                gone = max(0.0, first_sample - previous[0]) / rate + moment
                share = max(0.0, 1.0 - gone / 0.1)
                values = values * np.float32(1 - share) + previous[1] * np.float32(share)
            frames.append(FaceFrame(first_sample + round(moment * rate), values))
        if frames:
            self._last = (frames[-1].at, frames[-1].weights)
        return frames


def _ramp(times: Floats, start: float, end: float, attack: float, release: float) -> Floats:
    """1 in [start, end], with raised-cosine flanks outside."""
    rise = np.clip((times - (start - attack)) / attack, 0.0, 1.0)
    fall = np.clip(((end + release) - times) / release, 0.0, 1.0)
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.minimum(rise, fall)))


def _smoothed(curves: Floats) -> Floats:
    """Gaussian over time, per channel."""
    radius = int(3 * art.SMOOTHING_SECONDS / _STEP)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) * _STEP / art.SMOOTHING_SECONDS) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(curves, ((radius, radius), (0, 0)), mode="edge")
    return np.stack(
        [np.convolve(padded[:, channel], kernel, mode="valid") for channel in range(curves.shape[1])], axis=1
    )
