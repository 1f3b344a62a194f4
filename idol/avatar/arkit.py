"""The 52 ARKit weights on a model: which morph or expression each name finds, and what to do when there are none.

Names match whatever the habit: ``jawOpen``, ``JawOpen``, ``jaw_open``, ``eyeBlink_L``, ``blendShape1.eyeBlinkLeft``,
and VRCFaceTracking's Unified Expressions where they mean the same: ``MouthClosed``, ``LipPuckerUpperLeft``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from idol.avatar.easing import smoothstep
from idol.seams import ARKIT_INDEX, ARKIT_NAMES

VISEMES = ("aa", "ih", "ou", "ee", "oh")
OCULUS = (
    "viseme_sil", "viseme_PP", "viseme_FF", "viseme_TH", "viseme_DD", "viseme_kk", "viseme_CH", "viseme_SS",
    "viseme_nn", "viseme_RR", "viseme_aa", "viseme_E", "viseme_I", "viseme_O", "viseme_U",
)  # fmt: skip
"""The fifteen visemes of Oculus LipSync, in its order and in Ready Player Me's spelling."""
ENOUGH_NAMES = 12
"""A model with at least this many of the mouth's ARKit shapes is driven by them; below it, by visemes."""
ENOUGH_VISEMES = 10
"""With at least this many of ``OCULUS`` these are used; below it, the five vowels."""

MOUTH_NAMES = tuple(name for name in ARKIT_NAMES if name.startswith(("jaw", "mouth", "tongue", "cheekPuff")))
BLINK_NAMES = ("eyeBlinkLeft", "eyeBlinkRight")
LOOK_NAMES = tuple(name for name in ARKIT_NAMES if name.startswith("eyeLook"))
MOUTH_INDEX = np.asarray([ARKIT_INDEX[name] for name in MOUTH_NAMES])
LOOK_INDEX = np.asarray([ARKIT_INDEX[name] for name in LOOK_NAMES])
BLINK_INDEX = np.asarray([ARKIT_INDEX[name] for name in BLINK_NAMES])

_WHOLE = {
    "mouthclosed": "mouthClose", "lippucker": "mouthPucker", "lipfunnel": "mouthFunnel",
    "lipsuckupper": "mouthRollUpper", "lipsucklower": "mouthRollLower",
    "mouthraiserupper": "mouthShrugUpper", "mouthraiserlower": "mouthShrugLower",
    **{
        f"{theirs}{side.lower()}": f"{ours}{side}"
        for side in ("Left", "Right")
        for theirs, ours in (
            ("eyeclosed", "eyeBlink"), ("mouthcornerpull", "mouthSmile"), ("mouthsad", "mouthFrown"),
        )
    },
}  # fmt: skip
"""Unified Expressions (VRCFaceTracking) that move what one ARKit shape moves."""
_SIDES = {
    "cheekpuff": "cheekPuff", "browinnerup": "browInnerUp", "lippucker": "mouthPucker", "lipfunnel": "mouthFunnel",
    "lipsuckupper": "mouthRollUpper", "lipsucklower": "mouthRollLower",
}  # fmt: skip
_PARTS = {
    **{f"{name}{side}": ours for name, ours in _SIDES.items() for side in ("left", "right")},
    **{
        f"{name}{lip}": ours
        for name, ours in (
            ("mouthfunnel", "mouthFunnel"), ("lippucker", "mouthPucker"), ("lipfunnel", "mouthFunnel"),
        )
        for lip in ("upper", "lower")
    },
    **{f"mouth{lip}{side.lower()}": f"mouth{side}" for lip in ("upper", "lower") for side in ("Left", "Right")},
    **{f"brow{part}{side.lower()}": f"browDown{side}" for part in ("lowerer", "pinch") for side in ("Left", "Right")},
}  # fmt: skip
"""Shapes that move a half of what one ARKit shape moves: all of them are set."""
_QUARTERS = {
    f"{name}{lip}{side}": ours
    for name, ours in (("lippucker", "mouthPucker"), ("lipfunnel", "mouthFunnel"))
    for lip in ("upper", "lower")
    for side in ("left", "right")
}
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


def _spelled(name: str) -> tuple[str, int] | None:
    """The ARKit name that ``name`` spells, and how far from it the spelling is."""
    plain = plain_name(name)
    for prefix in ("", "blendshape", "arkit", "bs"):
        if plain.startswith(prefix):
            for rank, table in enumerate((_PLAIN, _WHOLE, _PARTS, _QUARTERS)):
                found = table.get(plain.removeprefix(prefix))
                if found is not None:
                    return found, 0 if name == found else rank + 1
    return None


def arkit_name(name: str) -> str | None:
    """The ARKit name that ``name`` spells, or None."""
    found = _spelled(name)
    return None if found is None else found[0]


def match(names: Iterable[str]) -> dict[str, list[int]]:
    """ARKit name to the positions in ``names`` that spell it.

    Where a model has several spellings (its own ``JawOpen`` beside ``jawOpen``, a whole shape beside its halves), only
    those nearest to ARKit's count: all of them together would move the face twice.
    """
    found: dict[str, tuple[int, list[int]]] = {}
    for i, name in enumerate(names):
        known = _spelled(name)
        if known is None:
            continue
        at, rank = known
        best = found.get(at)
        if best is None or rank < best[0]:
            found[at] = (rank, [i])
        elif rank == best[0] and rank > 0:
            best[1].append(i)
    return {name: places for name, (_, places) in found.items()}


def visemes(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """(aa, ih, ou, ee, oh) for a mouth that has only these, from the 52 weights.

    What must hold on any model: lips that meet in ARKit (p, b, m: mouthClose as wide as jawOpen, or both lips rolled or
    pressed) give all zeros, because VRM's visemes only open. Openness picks the size, rounding and spreading the shape.
    """
    return np.asarray(_open_shapes(weights.tolist()))


def _closed_lips(w: list[float]) -> float:
    """How far the lips meet, 0 to 1. Smoothing of the frames can leave a trace of jaw in the middle of a closure:
    near-closed counts as closed."""
    jaw, close = w[17], w[18]
    return max(
        _ramp(close, 0.5 * jaw, 0.9 * jaw) if close > 0.02 else 0.0,
        _ramp(min(w[31], w[32]), 0.12, 0.30),
        _ramp(0.5 * (w[35] + w[36]), 0.15, 0.40),
    )


def _open_shapes(w: list[float]) -> list[float]:
    gap = max(w[17] - w[18], 0.0)
    funnel, pucker = w[19], w[20]
    spread = 0.5 * (w[29] + w[30]) + 0.25 * (w[27] + w[28]) + 0.15 * (w[23] + w[24])
    bared = 0.5 * max(w[37] + w[38], w[39] + w[40])
    rounding = min(max(funnel, pucker, 0.6 * (funnel + pucker)), 1.0)
    wide = min(spread * 1.4, 1.0) * (1.0 - rounding)
    # A spoken vowel opens the jaw by a quarter to a half, an "aa" drawn for that is nearly whole.
    opening = min(1.7 * gap, 1.0)
    size = min(max(opening, 0.85 * rounding, 0.8 * wide, 0.35 * bared), 1.0)
    # Without an open jaw there is nothing to close, so a smile at rest must not open the mouth: jaw or lips must part.
    if gap < 0.02 and rounding < 0.15 and bared < 0.05:
        size *= gap / 0.02
    size *= 1.0 - max(_closed_lips(w), 0.6 * _ramp(w[31], 0.25, 0.60))
    near = 1.0 - opening
    shares = (
        opening * (1.0 - rounding) * (1.0 - 0.8 * wide) + 1e-4,
        wide * near * 0.8 + 0.15 * (1.0 - rounding) * near,
        rounding * near,
        wide * (0.3 + 0.7 * opening),
        rounding * (0.15 + 0.85 * opening),
    )
    scale = size / sum(shares)
    return [share * scale for share in shares]


def oculus(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Weights of the fifteen ``OCULUS`` visemes from the 52.

    What lips show is told apart: closed (PP), lower lip to teeth (FF), teeth (SS), a small ring (CH), the tongue (TH)
    and five vowels. DD, kk, nn and RR differ inside the mouth, of which the 52 say nothing; their jaw is a vowel's.
    """
    w = weights.tolist()
    gap = max(w[17] - w[18], 0.0)
    closed = _closed_lips(w)
    free = 1.0 - closed
    teeth = free * _ramp(w[31], 0.25, 0.55) * (1.0 - _ramp(w[32], 0.12, 0.30))
    tongue = free * _ramp(w[51], 0.02, 0.25)
    ring = free * _ramp(w[19] - w[20], 0.0, 0.20) * (1.0 - _ramp(gap, 0.12, 0.25))
    rounding = _ramp(max(w[19], w[20]), 0.1, 0.4)
    hiss = free * _ramp(0.5 * (w[37] + w[38]), 0.10, 0.22) * (1.0 - _ramp(gap, 0.08, 0.18)) * (1.0 - rounding)
    told = teeth + tongue + ring + hiss
    scale = min(1.0, free / told) if told > 0.0 else 1.0
    vowel = max(free - told, 0.0) / free if free > 0.0 else 0.0
    aa, ih, ou, ee, oh = (value * vowel for value in _open_shapes(w))
    out = np.zeros(15)
    out[[1, 2, 3, 6, 7]] = closed, teeth * scale, tongue * scale, ring * scale, hiss * scale
    out[10:] = aa, ee, ih, oh, ou
    return out


def _ramp(value: float, low: float, high: float) -> float:
    if high <= low:
        return 1.0 if value >= high else 0.0
    return smoothstep((value - low) / (high - low))
