"""How each shape moves the lips. ``u`` runs along the lips from her right corner (-1) to her left (1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from avatars.maker.curves import F64, smooth
from avatars.maker.face_grid import MOUTH_HALF as A

JAW_DROP = 0.046
"""How far the chin goes down when the jaw is open, in heights of the head."""


@dataclass(frozen=True)
class Lips:
    """Offsets (N, 3) of the upper and lower lip and how far the jaw goes: (sideways, down, forward)."""

    upper: F64
    lower: F64
    jaw: tuple[float, float, float] = (0.0, 0.0, 0.0)


def _move(u: F64, x: F64 | float = 0.0, y: F64 | float = 0.0, z: F64 | float = 0.0) -> F64:
    return np.stack([np.broadcast_to(np.asarray(v, np.float64), u.shape) for v in (x, y, z)], 1)


def _arch(u: F64, power: float = 0.75) -> F64:
    """1 in the middle, 0 at the corners, steep there: an open mouth is round."""
    out: F64 = np.maximum(1 - u * u, 0.0) ** power
    return out


def _corner(u: F64, reach: float = 1.5) -> F64:
    """1 at her left corner, falling to 0 beyond the middle."""
    return smooth(u, 1.0 - reach, 1.0) ** 1.2


def rest_curve(x: F64) -> F64:
    """y of the closed lips above the slit's row: corners a little up, a soft dip in the middle."""
    u = x / A
    out: F64 = 0.013 * u * u - 0.0035 * np.exp(-((u / 0.35) ** 2))
    return out


def _jaw_open(u: F64) -> Lips:
    narrow = -0.10 * A * u
    upper = _move(u, narrow, -0.004 + 0.014 * _arch(u, 0.6), 0.0)
    lower = _move(u, narrow * (1 - 0.9 * _arch(u)), -0.004 - 0.108 * _arch(u, 0.70), -0.010 * _arch(u))
    return Lips(upper, lower, (0.0, -JAW_DROP, -0.012))


def _mouth_close(u: F64) -> Lips:
    opened = _jaw_open(u)
    gap = opened.upper - opened.lower
    share = np.array([0.5, 0.30, 0.5])
    return Lips(-share * gap, (1 - share) * gap)


def _round(width: float, out: float, up: float, down: float, flare: float = 0.0) -> Callable[[F64], Lips]:
    def make(u: F64) -> Lips:
        x = -width * A * u
        # Rounding takes the smile out of the line: the corners come down to the middle's level.
        level = -0.013 * u * u
        return Lips(
            _move(u, x, level + up * _arch(u), (out + flare) * (0.55 + 0.45 * _arch(u))),
            _move(u, x, level - down * _arch(u), out * (0.55 + 0.45 * _arch(u))),
        )

    return make


def _shift(u: F64) -> Lips:
    both = _move(u, 0.026, 0.004 * u)
    return Lips(both, both)


def _jaw_left(u: F64) -> Lips:
    return Lips(_move(u, 0.004), _move(u, 0.020), (0.026, 0.0, 0.0))


def _jaw_forward(u: F64) -> Lips:
    return Lips(_move(u), _move(u, z=0.012 * _arch(u)), (0.0, 0.0, 0.018))


def _side(
    x: float, y: float, z: float = 0.0, upper: float = 0.0, lower: float = 0.0, reach: float = 1.5
) -> Callable[[F64], Lips]:
    """Her left corner moved by (x, y, z); beyond that her left half of the upper or the lower lip by a height."""

    def make(u: F64) -> Lips:
        c = _corner(u, reach)
        half = smooth(u, -0.45, 0.45)
        both = _move(u, x * c, y * c, z * c)
        return Lips(both + _move(u, y=upper * half * _arch(u)), both + _move(u, y=lower * half * _arch(u)))

    return make


def _roll(lip: str) -> Callable[[F64], Lips]:
    def make(u: F64) -> Lips:
        a = _arch(u)
        still = _move(u)
        if lip == "lower":
            return Lips(still, _move(u, y=0.012 * a, z=-0.007 * a))
        return Lips(_move(u, y=-0.008 * a, z=-0.006 * a), still)

    return make


def _shrug(lip: str) -> Callable[[F64], Lips]:
    def make(u: F64) -> Lips:
        if lip == "lower":
            # The chin's muscle pushes both lips up.
            return Lips(_move(u, y=0.008 * _arch(u)), _move(u, y=0.010 * _arch(u), z=0.008 * _arch(u)), (0, 0.006, 0))
        return Lips(_move(u, y=0.009 * _arch(u), z=0.007 * _arch(u)), _move(u, y=0.007 * _arch(u)))

    return make


def _press(u: F64) -> Lips:
    half = smooth(u, -0.45, 0.45)
    flat = -0.004 * _corner(u)
    return Lips(
        _move(u, 0.003 * _corner(u), flat - 0.003 * half * _arch(u), -0.006 * half * _arch(u)),
        _move(u, 0.003 * _corner(u), flat + 0.003 * half * _arch(u), -0.006 * half * _arch(u)),
    )


BOTH: dict[str, Callable[[F64], Lips]] = {
    "jawOpen": _jaw_open, "mouthClose": _mouth_close, "jawForward": _jaw_forward,
    "mouthFunnel": _round(0.40, 0.020, 0.020, 0.022, 0.004), "mouthPucker": _round(0.56, 0.026, 0.008, 0.009),
    "mouthRollLower": _roll("lower"), "mouthRollUpper": _roll("upper"),
    "mouthShrugLower": _shrug("lower"), "mouthShrugUpper": _shrug("upper"),
}  # fmt: skip
LEFT: dict[str, Callable[[F64], Lips]] = {
    "jaw": _jaw_left, "mouth": _shift,
    "mouthSmile": _side(0.020, 0.024, -0.006), "mouthFrown": _side(0.003, -0.046, upper=0.005, lower=0.005, reach=1.6),
    "mouthDimple": _side(0.012, 0.008, -0.012, reach=0.9), "mouthStretch": _side(0.026, -0.006, -0.004, reach=1.7),
    "mouthPress": _press, "mouthUpperUp": _side(0.0, 0.002, upper=0.024),
    "mouthLowerDown": _side(0.0, -0.002, lower=-0.028), "noseSneer": _side(0.0, 0.0, upper=0.010),
}  # fmt: skip
"""Keys of ``LEFT`` become two shapes, with Left and Right behind the name."""


def lips(shape: str, x: F64) -> Lips:
    """Offsets for a shape of ``BOTH`` or ``LEFT`` at the lip's points ``x`` (heights of the head)."""
    return {**BOTH, **LEFT}[shape](np.clip(x / A, -1.0, 1.0))
