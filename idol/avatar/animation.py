"""Keyframed motion of a humanoid: tracks as glTF 2.0 defines them (section 3.11), sampled many at a time.

A ``MotionClip`` is in normalised humanoid terms (see ``idol.avatar.rig``), so it plays on any avatar.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from idol.avatar.clips import Interpolation
from idol.avatar.easing import smoothstep
from idol.avatar.rig import ABOVE, BONES, ROW
from idol.avatar.rotation import multiply

F64 = NDArray[np.float64]
LOOP_SEAM = 0.4
"""Seconds over which a loop whose ends do not meet is led back to its start."""


def normalised(q: F64) -> F64:
    out: F64 = q / np.maximum(np.sqrt((q * q).sum(-1, keepdims=True)), 1e-12)
    return out


def slerp(a: F64, b: F64, share: F64 | float) -> F64:
    """Spherical interpolation of unit quaternions (N, 4) the shorter way; ``share`` a number or (N, 1)."""
    cosine = (a * b).sum(-1, keepdims=True)
    b = np.where(cosine < 0.0, -b, b)
    cosine = np.minimum(np.abs(cosine), 1.0)
    angle = np.arccos(cosine)
    sine = np.sin(angle)
    near = sine < 1e-4
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(near, 1.0 - share, np.sin((1.0 - share) * angle) / sine)
        second = np.where(near, share, np.sin(share * angle) / sine)
    return normalised(first * a + second * b)


@dataclass(frozen=True, slots=True)
class Track:
    """Keys of one channel: ``times`` (K,) seconds, rising; ``values`` (K, C), or (K, 3, C) for CUBICSPLINE, which are
    in-tangent, value and out-tangent."""

    times: F64
    values: F64
    interpolation: Interpolation = "LINEAR"


class Tracks:
    """Several tracks of the same width, sampled together. ``spherical``: they are unit quaternions."""

    def __init__(self, tracks: Sequence[Track], *, spherical: bool = False) -> None:
        self._spherical = spherical
        self._times = [track.times.tolist() for track in tracks]
        self._first = np.concatenate([[0], np.cumsum([len(t) for t in self._times])]).astype(np.int64)
        self._step = [track.interpolation == "STEP" for track in tracks]
        self._cubic = np.asarray([track.interpolation == "CUBICSPLINE" for track in tracks], bool)
        width = tracks[0].values.shape[-1] if tracks else 1
        self._values = np.zeros((int(self._first[-1]), width))
        self._into, self._out = np.zeros_like(self._values), np.zeros_like(self._values)
        for i, track in enumerate(tracks):
            part = slice(int(self._first[i]), int(self._first[i + 1]))
            if self._cubic[i]:
                self._into[part], self._values[part], self._out[part] = (track.values[:, k] for k in range(3))
            else:
                self._values[part] = track.values
        self._any_cubic = bool(self._cubic.any())

    def __len__(self) -> int:
        return len(self._times)

    def sample(self, seconds: float) -> F64:
        """Values (N, C) at ``seconds``, held before the first and after the last key."""
        low, high, share, length = [], [], [], []
        for times, step, first in zip(self._times, self._step, self._first.tolist(), strict=False):
            i = min(max(bisect_right(times, seconds) - 1, 0), len(times) - 1)
            j = min(i + 1, len(times) - 1)
            h = times[j] - times[i]
            low.append(first + i)
            high.append(first + j)
            share.append(0.0 if step or h <= 0.0 else min(max((seconds - times[i]) / h, 0.0), 1.0))
            length.append(h)
        a, b = self._values[low], self._values[high]
        u = np.asarray(share)[:, None]
        out = slerp(normalised(a), normalised(b), u) if self._spherical else a + (b - a) * u
        if self._any_cubic:
            h = np.asarray(length)[:, None]
            u2, u3 = u * u, u * u * u
            curve = (
                (2 * u3 - 3 * u2 + 1) * a + (u3 - 2 * u2 + u) * h * self._out[low]
                + (3 * u2 - 2 * u3) * b + (u3 - u2) * h * self._into[high]
            )  # fmt: skip
            if self._spherical:
                curve = normalised(curve)
            out = np.where(self._cubic[:, None], curve, out)
        return out


@dataclass(frozen=True, slots=True)
class MotionSample:
    """A moment of a clip for one avatar: ``turns`` (N, 4) of the ``rows`` of the pose; ``hips`` (3,) in heights of the
    hips from where they rest, or None; ``expressions`` by name; ``gaze`` as (yaw, pitch) in radians or None."""

    rows: NDArray[np.int64]
    turns: F64
    hips: F64 | None
    expressions: dict[str, float]
    gaze: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class MotionClip:
    """An animation of a humanoid.

    ``bones``: normalised rotations by human bone; ``hips``: where the hips are, in heights of the resting hips,
    relative to rest; ``expressions``: weights 0..1 by name; ``gaze``: a rotation of the eyes' forward (+Z).
    """

    name: str
    duration: float
    bones: dict[str, Track] = field(default_factory=dict)
    hips: Track | None = None
    expressions: dict[str, Track] = field(default_factory=dict)
    gaze: Track | None = None

    def fitted(self, has: NDArray[np.bool_]) -> BoundClip:
        """The clip for an avatar that has the human bones ``has`` (55,) of ``BONES``."""
        return BoundClip(self, has)


class BoundClip:
    """A clip on one avatar's bones: a turn of a bone that the avatar lacks goes to the bones below it."""

    def __init__(self, clip: MotionClip, has: NDArray[np.bool_]) -> None:
        self.clip = clip
        self.duration = clip.duration
        kept: dict[int, Track] = {}
        for row, name in enumerate(BONES):
            if not has[row]:
                continue
            chain = [clip.bones[name]] if name in clip.bones else []
            at = ABOVE[row]
            while at >= 0 and not has[at]:
                if BONES[at] in clip.bones:
                    chain.insert(0, clip.bones[BONES[at]])
                at = ABOVE[at]
            if chain:
                kept[row] = chained(chain)
        self.rows = np.asarray(list(kept), np.int64)
        self._turns = Tracks(list(kept.values()), spherical=True)
        self._hips = Tracks([clip.hips]) if clip.hips is not None and has[ROW["hips"]] else None
        self._names = tuple(clip.expressions)
        self._weights = Tracks(list(clip.expressions.values())) if clip.expressions else None
        self._gaze = Tracks([clip.gaze], spherical=True) if clip.gaze is not None else None
        self._gap: bool | None = None

    def sample(self, seconds: float) -> MotionSample:
        turns = self._turns.sample(seconds) if len(self._turns) else np.zeros((0, 4))
        hips = None if self._hips is None else self._hips.sample(seconds)[0]
        weights = {}
        if self._weights is not None:
            values = np.clip(self._weights.sample(seconds)[:, 0], 0.0, 1.0).tolist()
            weights = dict(zip(self._names, values, strict=True))
        gaze = None
        if self._gaze is not None:
            x, y, z, w = self._gaze.sample(seconds)[0].tolist()
            gaze = (
                math.atan2(2 * (x * z + w * y), 1 - 2 * (x * x + y * y)),
                math.asin(min(max(2 * (y * z - w * x), -1.0), 1.0)),
            )
        return MotionSample(self.rows, turns, hips, weights, gaze)

    def looped(self, seconds: float) -> MotionSample:
        """As ``sample`` within 0..``duration``; where the end does not meet the start, the last moment leads over."""
        sample = self.sample(seconds)
        left = self.duration - seconds
        seam = min(LOOP_SEAM, 0.25 * self.duration)
        if seam <= 0.0 or left >= seam or not self._gapes():
            return sample
        share = smoothstep(1.0 - left / seam)
        start = self.sample(0.0)
        turns = slerp(sample.turns, start.turns, share) if len(sample.rows) else sample.turns
        hips = sample.hips
        if hips is not None and start.hips is not None:
            hips = hips + (start.hips - hips) * share
        weights = {n: w + (start.expressions[n] - w) * share for n, w in sample.expressions.items()}
        gaze = sample.gaze
        if gaze is not None and start.gaze is not None:
            gaze = (gaze[0] + (start.gaze[0] - gaze[0]) * share, gaze[1] + (start.gaze[1] - gaze[1]) * share)
        return MotionSample(sample.rows, turns, hips, weights, gaze)

    def _gapes(self) -> bool:
        if self._gap is None:
            start, end = self.sample(0.0), self.sample(self.duration)
            apart = 1.0 - np.abs((start.turns * end.turns).sum(-1)).min(initial=1.0)
            moved = 0.0 if start.hips is None or end.hips is None else float(np.abs(start.hips - end.hips).max())
            shown = max((abs(w - end.expressions[n]) for n, w in start.expressions.items()), default=0.0)
            gaze = 0.0 if start.gaze is None or end.gaze is None else math.dist(start.gaze, end.gaze)
            self._gap = apart > 4e-5 or moved > 0.005 or shown > 0.05 or gaze > 0.02
        return self._gap


def chained(tracks: Sequence[Track]) -> Track:
    """One track for bones that hang on each other and turn as one, the upper first: its keys are at all their keys."""
    if len(tracks) == 1:
        return tracks[0]
    times = np.unique(np.concatenate([track.times for track in tracks]))
    together = Tracks(tracks, spherical=True)
    values = []
    for at in times.tolist():
        each = together.sample(at)
        whole = each[0]
        for turn in each[1:]:
            whole = multiply(whole, turn)
        values.append(whole)
    return Track(times, np.asarray(values))
