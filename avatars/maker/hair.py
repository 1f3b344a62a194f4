"""Hair styles. Heights of the head; parts in metres."""

from __future__ import annotations

import numpy as np

from avatars.maker.curves import F64, spline
from avatars.maker.face import metres
from avatars.maker.hair_shapes import before_face, dome, lock, on_skull
from avatars.maker.pieces import Chain, Pieces

Locks = tuple[tuple[float, float, float, float, float, int], ...]
Thin = tuple[tuple[float, float, float, float, float], ...]
EDGE = [(0, 66), (40, 68), (62, 76), (80, 94), (100, 112), (130, 122), (180, 126)]
"""The dome's edge: degrees round from the front, degrees down from the crown."""


def _bang(root: float, x: float, y: float, belly: float, layer: float, start: float = 56.0) -> F64:
    """A guide from the dome over the forehead to a tip at (x, y); ``belly``: how far it bows outward on its way."""
    s = 1.012 + 0.016 * layer
    brow = float(np.sin(np.radians(root)) * 0.43)
    return np.array([
        on_skull(root * 0.86, start, 0.960), on_skull(root, start + 13, s),
        before_face(0.66 * brow + 0.34 * x + belly, 0.45 * y + 0.36, s + 0.014),
        before_face(0.24 * brow + 0.76 * x + 0.9 * belly, y + 0.075, s + 0.006),
        before_face(x, y, s - 0.030),
    ])  # fmt: skip


FRINGE = (
    # root azimuth, tip x, tip y, bow, width, layer
    (-70, -0.350, 0.270, -0.036, 0.165, 1), (-53, -0.262, 0.400, -0.046, 0.190, 0),
    (-34, -0.150, 0.452, -0.044, 0.180, 2), (-16, -0.100, 0.418, -0.020, 0.135, 0),
    (-3, 0.028, 0.372, -0.030, 0.155, 2), (13, 0.082, 0.440, 0.026, 0.125, 0), (30, 0.140, 0.462, 0.046, 0.180, 1),
    (50, 0.262, 0.405, 0.046, 0.200, 0), (69, 0.350, 0.262, 0.036, 0.170, 2),
)  # fmt: skip
SWEPT = (
    (-72, -0.372, 0.230, -0.030, 0.170, 1), (-54, -0.318, 0.345, -0.02, 0.19, 0), (-34, -0.262, 0.425, -0.02, 0.190, 2),
    (-14, -0.170, 0.455, 0.000, 0.185, 0), (6, -0.062, 0.440, 0.030, 0.180, 1), (22, 0.048, 0.492, 0.046, 0.150, 2),
    (38, 0.245, 0.455, 0.060, 0.150, 0), (52, 0.318, 0.360, 0.050, 0.180, 2), (70, 0.366, 0.240, 0.036, 0.170, 1),
)  # fmt: skip
"""Swept to her right from a parting over her left eye."""


def fringe(spec: Locks = FRINGE, thin: Thin = (), strip: str = "plain") -> Pieces:
    """Locks of differing width whose tips turn in, and thin ones in front of their gaps."""
    hair = Pieces()
    for root, x, y, bow, width, layer in spec:
        guide = _bang(root, x, y, bow, layer)
        hair.parts.append(lock(guide, width, 0.036, rows=14, root=0.86, full=0.36, taper=0.92, across=6, strip=strip))
    for root, x, y, bow, width in thin:
        hair.parts.append(lock(_bang(root, x, y, bow, 3.4, 60), width, 0.016, rows=11, root=0.1, full=0.5, across=5,
                               strip="accent" if strip == "short" else strip))  # fmt: skip
    return hair


def sides() -> Pieces:
    """Long strands before the ears, on springs. Her left; the caller mirrors it."""
    hair = Pieces()
    main = np.array([on_skull(58, 48, 0.965), on_skull(70, 62, 1.02), on_skull(76, 84, 1.035), [0.425, 0.34, 0.150],
                     [0.392, 0.14, 0.205], [0.362, -0.06, 0.240], [0.385, -0.26, 0.232], [0.420, -0.44, 0.220],
                     [0.395, -0.60, 0.250]])  # fmt: skip
    chain = Chain("hairSideLeft", "head", metres(main[[2, 3, 4, 6, 8]]), 1.0, 0.4, 0.1, 0.020, "sides")
    hair.chains.append(chain)
    hair.parts.append(lock(main, 0.165, 0.050, rows=17, full=0.50, taper=0.95, strip="short", chain=chain, across=6))
    inner = main + np.array([0.005, 0.0, -0.265])
    inner[-3:] = [[0.395, -0.10, -0.02], [0.405, -0.22, -0.02], [0.380, -0.34, 0.00]]
    hair.parts.append(lock(inner, 0.230, 0.045, rows=16, full=0.5, strip="short", chain=chain))
    thin = np.array([on_skull(66, 60, 1.0), [0.432, 0.44, 0.19], [0.402, 0.20, 0.262], [0.350, 0.02, 0.292],
                     [0.342, -0.12, 0.290], [0.368, -0.24, 0.275]])  # fmt: skip
    hair.parts.append(lock(thin, 0.058, 0.022, rows=15, root=0.5, strip="short", chain=chain, across=5))
    return hair


def back() -> Pieces:
    """Hair down the back below the shoulders, on springs; two layers of broad locks with turned tips."""
    hair = Pieces()
    spec = [
        # azimuth, layer, end y, curl, width
        (98, 1, -0.62, 0.07, 0.26), (112, 0, -0.78, -0.06, 0.30), (131, 1, -0.92, 0.07, 0.28),
        (149, 0, -1.00, -0.07, 0.30), (167, 1, -1.06, 0.06, 0.28),
    ]  # fmt: skip
    for k, (azimuth, layer, low, curl, width) in enumerate(spec):
        a = np.radians(azimuth)
        side, rear = np.sin(a), np.cos(a)
        s = 0.995 + 0.045 * layer
        across = np.array([rear, 0.0, -side])
        main = np.array([
            on_skull(azimuth, 48 + 3 * (k % 2), 0.955), on_skull(azimuth, 72, s), on_skull(azimuth, 102, s * 1.01),
            [0.440 * side * s, 0.18, 0.47 * rear * s - 0.05], [0.405 * side, -0.08, 0.42 * rear * s - 0.06],
            [0.430 * side, -0.08 + 0.42 * (low + 0.08), 0.44 * rear * s - 0.06],
            [0.450 * side, -0.08 + 0.75 * (low + 0.08), 0.46 * rear * s - 0.06],
            [0.420 * side, low, 0.44 * rear - 0.05],
        ])  # fmt: skip
        main[5] += across * curl * 0.6
        main[6] += across * curl * 0.3
        main[7] -= across * curl
        chain = Chain(f"hairBackLeft{k + 1}x", "head", metres(main[[2, 3, 4, 5, 7]]), 1.2, 0.4, 0.1, 0.018, "back")
        hair.chains.append(chain)
        hair.parts.append(
            lock(main, width, 0.060, rows=14, root=0.7, full=0.55, taper=0.85, strip="long", chain=chain, across=5)
        )
        fork = main.copy()
        fork[5:] += across * 0.09 + np.array([0.0, 0.10, 0.0])
        fork[7] += across * 0.06
        hair.parts.append(
            lock(fork[2:] * 0.985, width * 0.55, 0.035, rows=10, root=0.8, full=0.5, strip="long", chain=chain,
                 across=5, span=(0.25, 1.0))
        )  # fmt: skip
    return hair


def back_middle() -> Pieces:
    """Over the seam at the back: a broad lock that swings, and narrow ones that cross the others."""
    hair = Pieces()
    for k, (azimuth, low, swing, width, lift) in enumerate(
        ((180, -0.96, 0.060, 0.250, 1.068), (162, -0.70, -0.075, 0.105, 1.088), (-156, -0.80, 0.085, 0.115, 1.088),
         (126, -0.60, 0.070, 0.095, 1.075), (-120, -0.66, -0.070, 0.095, 1.075))
    ):  # fmt: skip
        a = np.radians(azimuth)
        side, rear = np.sin(a), np.cos(a)
        across = np.array([rear, 0.0, -side]) * swing
        s = lift
        main = np.array([
            on_skull(azimuth, 50, 0.96), on_skull(azimuth, 72, s * 0.985), on_skull(azimuth, 102, s),
            [0.440 * side * s, 0.18, 0.47 * rear * s - 0.05], [0.412 * side * s, -0.08, 0.425 * rear * s - 0.06],
            [0.430 * side * s, -0.08 + 0.42 * (low + 0.08), 0.44 * rear * s - 0.06],
            [0.440 * side * s, -0.08 + 0.75 * (low + 0.08), 0.45 * rear * s - 0.06],
            [0.410 * side, low, 0.43 * rear - 0.06],
        ])  # fmt: skip
        main += across * np.array([0.0, 0.2, 0.7, 1.0, 0.4, -0.7, -1.0, 0.6])[:, None]
        chain = Chain(f"hairBack{k + 1}m", "head", metres(main[[2, 3, 4, 5, 7]]), 1.2, 0.4, 0.1, 0.018, "back")
        hair.chains.append(chain)
        hair.parts.append(
            lock(main, width, 0.050 if k == 0 else 0.030, rows=14, root=0.55, full=0.50, taper=0.9, strip="long",
                 chain=chain, across=5)
        )  # fmt: skip
    return hair


def tails() -> Pieces:
    """A tail, high at her left side: S-curved locks around one axis of spring bones, their tips apart."""
    hair = Pieces()
    axis = np.array([[0.385, 0.815, -0.120], [0.480, 0.872, -0.140], [0.620, 0.850, -0.170], [0.760, 0.660, -0.205],
                     [0.845, 0.350, -0.235], [0.875, 0.00, -0.250], [0.885, -0.36, -0.245], [0.905, -0.70, -0.220],
                     [0.985, -1.02, -0.190], [1.070, -1.24, -0.170]])  # fmt: skip
    fat = np.array([0.020, 0.075, 0.135, 0.172, 0.182, 0.172, 0.150, 0.120, 0.080, 0.030])
    chain = Chain("hairTailLeft", "head", metres(axis[[0, 2, 4, 5, 6, 9]]), 0.9, 0.4, 0.12, 0.016, "tails")
    hair.chains.append(chain)
    count = 8
    for k in range(count):
        turn = 2 * np.pi * (k + 0.35) / count
        way = 1.0 if k % 2 else -0.55
        wave = turn + way * np.array([0, 0, 0.05, 0.16, 0.32, 0.50, 0.72, 0.95, 1.15, 1.3])
        share = np.array([1, 1, 1, 1, 1, 1, 1, 1.05, 1.25, 1.7]) * (1.0 if k % 3 else 0.86)
        away = np.stack([np.cos(wave), 0.10 * np.sin(wave), 0.92 * np.sin(wave)], 1) * (fat * share)[:, None]
        # Before the bow the roots keep together: seen from the side one apart is a blade.
        early = np.array([0.2, 0.2, 0.3, 0.5, 0.8])
        away[:5, 2] *= np.where(away[:5, 2] > 0, early, 1.0)
        guide = axis + away
        guide[-1] += np.array([0.05 * np.cos(turn * 2), 0.34 * ((k * 5) % count) / count, 0.06 * np.sin(turn)])
        hair.parts.append(
            lock(guide, 0.215 if k % 3 else 0.185, 0.062, rows=18, root=0.26, full=0.50, taper=0.85, axis=axis,
                 strip="long", chain=chain, roundness=0.5)
        )  # fmt: skip
    return hair


def ahoge() -> Pieces:
    """A strand that stands up from the crown."""
    guide = np.array([on_skull(-140, 14, 0.93), on_skull(20, 2, 1.03), [0.030, 1.165, 0.060], [0.012, 1.200, 0.140],
                      [-0.045, 1.195, 0.215], [-0.115, 1.125, 0.250]])  # fmt: skip
    axis = guide + np.array([0.0, -0.2, -0.10])
    chain = Chain("hairAhoge", "head", metres(guide[[1, 2, 3, 5]]), 2.2, 0.35, 0.0, 0.01, "accents", ())
    part = lock(guide, 0.075, 0.022, rows=15, root=0.9, full=0.30, taper=0.9, axis=axis, chain=chain, across=5)
    return Pieces([part], [chain])


def two_side_up() -> Pieces:
    """Two tails high at the sides over long open hair; what is in front comes first, so that it hides the rest."""
    hair = fringe()
    hair += ahoge()
    for half in (sides(), tails()):
        hair += half
        hair += half.mirrored()
    hair += Pieces([dome(EDGE)])
    half = back()
    hair += half
    hair += half.mirrored()
    hair += back_middle()
    return hair


def bob_sides() -> Pieces:
    """Chin-long locks before the ears whose tips turn in. Her left."""
    hair = Pieces()
    main = np.array([on_skull(58, 48, 0.955), on_skull(68, 64, 1.0), on_skull(75, 86, 1.03), [0.436, 0.34, 0.140],
                     [0.442, 0.16, 0.165], [0.410, 0.01, 0.205], [0.335, -0.095, 0.260]])  # fmt: skip
    chain = Chain("hairSideLeft", "head", metres(main[[2, 3, 4, 6]]), 1.2, 0.4, 0.05, 0.015, "sides")
    hair.chains.append(chain)
    hair.parts.append(lock(main, 0.190, 0.055, rows=14, full=0.55, taper=0.80, strip="short", chain=chain, across=6))
    inner = np.array([on_skull(74, 52, 0.955), on_skull(84, 72, 1.02), [0.440, 0.40, 0.030], [0.446, 0.20, 0.050],
                      [0.420, 0.03, 0.080], [0.345, -0.055, 0.120]])  # fmt: skip
    hair.parts.append(lock(inner, 0.240, 0.055, rows=17, full=0.6, taper=0.7, strip="short", chain=chain))
    return hair


def bob_back() -> Pieces:
    """Round the nape, two layers. Her left."""
    hair = Pieces()
    for k, (azimuth, layer, low) in enumerate(((98, 1, -0.06), (114, 0, -0.10), (132, 1, -0.09), (150, 0, -0.13),
                                               (168, 1, -0.11))):  # fmt: skip
        a = np.radians(azimuth)
        side, rear = np.sin(a), np.cos(a)
        s = 1.0 + 0.022 * layer
        main = np.array([
            on_skull(azimuth, 48 + 3 * (k % 2), 0.955), on_skull(azimuth, 72, s), on_skull(azimuth, 100, s * 1.02),
            [0.455 * side * s, 0.24, 0.49 * rear * s - 0.03], [0.435 * side * s, 0.06, 0.47 * rear * s - 0.03],
            [0.350 * side, low, 0.39 * rear - 0.03],
        ])  # fmt: skip
        chain = Chain(f"hairBackLeft{k + 1}x", "head", metres(main[[2, 3, 4, 5]]), 1.4, 0.4, 0.05, 0.015, "back")
        hair.chains.append(chain)
        hair.parts.append(
            lock(main, 0.270, 0.060, rows=17, root=0.7, full=0.62, taper=0.62, strip="short", chain=chain, across=6)
        )
    return hair


def braid() -> Pieces:
    """A plait before her left ear: leaves that cross from side to side down a chain, and a tuft."""
    axis = spline(np.array([on_skull(50, 62, 1.05), [0.430, 0.44, 0.225], [0.440, 0.24, 0.215], [0.420, 0.00, 0.245],
                            [0.400, -0.24, 0.275], [0.400, -0.50, 0.290]]), 60)  # fmt: skip
    chain = Chain("hairBraid", "head", metres(axis[[8, 20, 32, 44, 59]]), 1.2, 0.45, 0.1, 0.014, "accents")
    out = Pieces([], [chain])
    count = 13
    for k in range(count):
        i = 6 + round(k * 40 / count)
        wide = 0.050 * (1 - 0.25 * k / count)
        aside = np.array([0.030, 0.0, -0.020]) * (1 if k % 2 else -1) * (1 - 0.25 * k / count)
        start, middle, end = axis[i] - 0.9 * aside, axis[i + 4] + 0.75 * aside, axis[i + 9] + 0.1 * aside
        inner = np.array([axis[i], axis[i + 4], axis[i + 9]]) - np.array([0.12, 0.0, 0.16])
        out.parts.append(lock(np.array([start, middle, end]), wide * 2, 0.034, rows=8, root=0.55, full=0.5, taper=0.7,
                              tip=0.25, axis=inner, strip="plain", chain=chain, across=5, span=(0.3, 1.0)))  # fmt: skip
    for out_to in (-0.03, 0.0, 0.03):
        tuft = np.array([axis[48], axis[53] + [out_to, 0.0, 0.0], axis[59] + [out_to * 1.6, 0.02 - abs(out_to), 0.0]])
        out.parts.append(lock(tuft, 0.060, 0.030, rows=9, root=0.5, full=0.45, strip="accent", chain=chain, across=5,
                              axis=tuft - np.array([0.12, 0.0, 0.16]), span=(0.3, 1.0)))  # fmt: skip
    return out


def bob() -> Pieces:
    """A short bob with a swept fringe and one plait."""
    hair = Pieces([dome(EDGE)])
    hair += fringe(SWEPT, ((-12, -0.140, 0.462, 0.01, 0.045), (47, 0.300, 0.400, 0.05, 0.040)), "short")
    hair += ahoge()
    hair += braid()
    for half in (bob_sides(), bob_back()):
        hair += half
        hair += half.mirrored()
    return hair


STYLES = {"two_side_up": two_side_up, "bob": bob}
