"""The 52 ARKit weights on a model: which morph or expression each name finds, and what to do when there are none.

Names match whatever the habit: ``jawOpen``, ``JawOpen``, ``jaw_open``, ``eyeBlink_L``, ``blendShape1.eyeBlinkLeft``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from idol.seams import ARKIT_INDEX, ARKIT_NAMES

VISEMES = ("aa", "ih", "ou", "ee", "oh")
ENOUGH_NAMES = 12
"""A model with at least this many of the mouth's ARKit shapes is driven by them; below it, by visemes."""

MOUTH_NAMES = tuple(name for name in ARKIT_NAMES if name.startswith(("jaw", "mouth", "tongue", "cheekPuff")))
BLINK_NAMES = ("eyeBlinkLeft", "eyeBlinkRight")
LOOK_NAMES = tuple(name for name in ARKIT_NAMES if name.startswith("eyeLook"))
MOUTH_INDEX = np.asarray([ARKIT_INDEX[name] for name in MOUTH_NAMES])
LOOK_INDEX = np.asarray([ARKIT_INDEX[name] for name in LOOK_NAMES])
BLINK_INDEX = np.asarray([ARKIT_INDEX[name] for name in BLINK_NAMES])

_SPLIT = {
    "cheekpuffleft": "cheekPuff", "cheekpuffright": "cheekPuff",
    "browinnerupleft": "browInnerUp", "browinnerupright": "browInnerUp",
    "mouthfunnelupper": "mouthFunnel", "mouthfunnellower": "mouthFunnel",
}  # fmt: skip
_PLAIN = {name.lower(): name for name in ARKIT_NAMES}


def plain_name(name: str) -> str:
    """Lower case, no separators, the side spelt out at the end."""
    tail = re.split(r"[.:|]", name)
    last = tail[-1] if len(tail[-1]) > 1 else name
    side = re.search(r"[_.\- ]([lLrR])$", name) or re.search(r"(?<=[a-z])([LR])$", name)
    plain = re.sub(r"[^a-z0-9]", "", last.lower())
    if side is not None:
        whole = re.sub(r"[^a-z0-9]", "", (name if len(tail[-1]) <= 1 else last).lower())
        plain = whole[:-1] + ("left" if side.group(1) in "lL" else "right")
    return plain


def arkit_name(name: str) -> str | None:
    """The ARKit name that ``name`` spells, or None."""
    plain = plain_name(name)
    for prefix in ("", "blendshape", "arkit", "bs"):
        if plain.startswith(prefix):
            found = _PLAIN.get(plain.removeprefix(prefix)) or _SPLIT.get(plain.removeprefix(prefix))
            if found is not None:
                return found
    return None


def match(names: Iterable[str]) -> dict[str, list[int]]:
    """ARKit name to the positions in ``names`` that spell it. The exact spelling wins over the others."""
    found: dict[str, list[int]] = {}
    exact: set[str] = set()
    for i, name in enumerate(names):
        known = arkit_name(name)
        if known is None:
            continue
        if name == known:
            if known not in exact:
                found[known] = []
            exact.add(known)
        elif known in exact:
            continue
        found.setdefault(known, []).append(i)
    return found


def visemes(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """(aa, ih, ou, ee, oh) for a mouth that has only these, from the 52 weights.

    What must hold on any model: lips that meet in ARKit (p, b, m: mouthClose as wide as jawOpen, or both lips rolled or
    pressed) give all zeros, because VRM's visemes only open. Openness picks the size, rounding and spreading the shape.
    """
    w = weights
    jaw, close = float(w[17]), float(w[18])
    funnel, pucker = float(w[19]), float(w[20])
    spread = 0.5 * float(w[29] + w[30]) + 0.25 * float(w[27] + w[28]) + 0.15 * float(w[23] + w[24])
    roll_lower, roll_upper = float(w[31]), float(w[32])
    press = 0.5 * float(w[35] + w[36])
    bared = 0.5 * max(float(w[37] + w[38]), float(w[39] + w[40]))
    rounding = min(max(funnel, pucker, 0.6 * (funnel + pucker)), 1.0)
    gap = max(jaw - close, 0.0)
    opening = min(1.5 * gap, 1.0)
    size = min(max(opening, 0.85 * rounding, 0.55 * spread, 0.35 * bared), 1.0)
    # Without an open jaw there is nothing to close, so a smile at rest must not open the mouth: jaw or lips must part.
    if gap < 0.02 and rounding < 0.15 and bared < 0.05:
        size *= gap / 0.02
    # Smoothing of the frames can leave a trace of jaw in the middle of a closure: near-closed counts as closed.
    closed = max(
        _ramp(close, 0.5 * jaw, 0.9 * jaw) if close > 0.02 else 0.0,
        _ramp(min(roll_lower, roll_upper), 0.12, 0.30),
        _ramp(press, 0.15, 0.40),
        0.6 * _ramp(roll_lower, 0.25, 0.60),
    )
    size *= 1.0 - closed
    wide = min(spread * 1.4, 1.0) * (1.0 - rounding)
    shares = np.asarray(
        [
            opening * (1.0 - rounding) * (1.0 - 0.8 * wide) + 1e-4,
            wide * (1.0 - opening) * 0.8 + 0.15 * (1.0 - rounding) * (1.0 - opening),
            rounding * (1.0 - opening),
            wide * (0.3 + 0.7 * opening),
            rounding * (0.15 + 0.85 * opening),
        ]
    )
    out: NDArray[np.float64] = shares / shares.sum() * size
    return out


def _ramp(value: float, low: float, high: float) -> float:
    if high <= low:
        return 1.0 if value >= high else 0.0
    t = min(max((value - low) / (high - low), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)
