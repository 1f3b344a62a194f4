"""What is drawn around an eye: lids, brow, and how each shape moves them. Her left eye; heights of the head."""

from __future__ import annotations

import numpy as np

from avatars.maker.curves import F64, spline

INNER, OUTER = (0.086, 0.344), (0.302, 0.372)
UPPER = spline([INNER, (0.0945, 0.398), (0.130, 0.455), (0.188, 0.477), (0.248, 0.465), (0.288, 0.428), OUTER], 200)
LOWER = spline([INNER, (0.110, 0.316), (0.156, 0.299), (0.208, 0.298), (0.258, 0.315), (0.287, 0.340), OUTER], 200)
CLOSED = spline([(0.083, 0.347), (0.120, 0.326), (0.187, 0.313), (0.255, 0.330), (0.301, 0.362)], 200)
SMILING = spline([(0.083, 0.342), (0.125, 0.383), (0.188, 0.400), (0.252, 0.385), (0.301, 0.346)], 200)
ARC_SHARE = 0.1
BROW = spline([(0.084, 0.570), (0.148, 0.589), (0.224, 0.586), (0.298, 0.552)], 40)

LIDS: dict[str, tuple[float, float, float, float]] = {
    # closing of the upper lid and of the lower lid (shares of the way), lift of both, shift outward
    "eyeBlink": (1.0, 1.0, 0.0, 0.0),
    "eyeSquint": (0.16, 1.6, 0.0, 0.0),
    "eyeWide": (-0.10, -0.5, 0.0, 0.0),
    "eyeLookDown": (0.22, -0.35, 0.0, 0.0),
    "eyeLookUp": (-0.07, 0.25, 0.0, 0.0),
    "eyeLookIn": (0.0, 0.0, 0.0, -0.003),
    "eyeLookOut": (0.0, 0.0, 0.0, 0.003),
    "cheekSquint": (0.0, 1.0, 0.0, 0.0),
}
TILTS: dict[str, tuple[float, float]] = {
    # how far brows press the upper lid down near the inner and the outer corner (shares of the way)
    "browDown": (0.30, 0.0),
    "browInnerUp": (0.0, 0.24),
}


def _spaced(line: F64, count: int) -> F64:
    """Points along a lid, spaced mostly by their sideways distance: evenly along the arc they would crowd to the steep
    inner end and fold the skin there."""
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    x = line[:, 0]
    along = ARC_SHARE * arc / arc[-1] + (1 - ARC_SHARE) * (x - x[0]) / (x[-1] - x[0])
    at = np.linspace(0.0, 1.0, count)
    return np.stack([np.interp(at, along, line[:, c]) for c in range(2)], 1)


def lids(shape: str, count: int, tilt: float = 0.0) -> tuple[F64, F64]:
    """Upper and lower lid (count, 2) for a shape ("" is rest), inner corner to outer; they share their ends.

    ``tilt``: how much higher the outer corner lies than in the drawing, heights of the head."""
    upper, lower = _lids(shape, count)
    middle = 0.5 * (INNER[0] + OUTER[0])
    for line in (upper, lower):
        line[:, 1] += tilt * (line[:, 0] - middle) / (OUTER[0] - middle)
    return upper, lower


def _lids(shape: str, count: int) -> tuple[F64, F64]:
    upper, lower = _spaced(UPPER, count), _spaced(LOWER, count)
    if shape == "":
        return upper, lower
    if shape == "eyeSmile":
        line = _spaced(SMILING, count)
        return line, line.copy()
    line = _spaced(CLOSED, count)
    if shape in TILTS:
        inner, outer = TILTS[shape]
        t = np.linspace(0.0, 1.0, count)[:, None]
        share = (inner * (1 - t) + outer * t) * np.sin(np.pi * t) ** 0.5
        return upper + share * (line - upper), lower
    up, down, lift, out = LIDS[shape]
    move = np.array([out, lift])
    if shape == "eyeBlink":
        return line, line.copy()
    t = np.linspace(0.0, 1.0, count)[:, None]
    ends = np.minimum(np.minimum(t, 1 - t) / 0.12, 1.0)
    a = upper + up * (line - upper) * ends + move * ends
    # The lower lid's way to the closed line is short: shapes that raise it go beyond.
    rise = np.array([0.0, 0.016]) * np.sin(np.pi * t) ** 0.8
    b = lower + down * rise + move * ends
    return a, b


BROWS: dict[str, tuple[float, float, float]] = {
    # inner end up, outer end up, inward
    "browDown": (-0.068, -0.018, 0.014),
    "browInnerUp": (0.052, -0.016, 0.006),
    "browOuterUp": (0.006, 0.036, 0.0),
}


def brow(shape: str, tilt: float = 0.0) -> F64:
    """Middle line of the brow (40, 2), inner end first."""
    raised = np.stack([np.zeros(len(BROW)), np.linspace(-tilt, tilt, len(BROW))], 1)
    if shape == "":
        return BROW + raised
    inner, outer, inward = BROWS[shape]
    t = np.linspace(0.0, 1.0, len(BROW))
    lift = inner * (1 - t) ** 1.3 + outer * np.clip(np.sin(np.pi * np.minimum(t / 1.5 + 0.05, 1.0)), 0, 1) * t**0.5
    return BROW + raised + np.stack([-inward * (1 - t), lift], 1)
