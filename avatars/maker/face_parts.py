"""What lies on and behind the skin of the face: lashes, folds, brows, lip lines, the mouth's inside."""

from __future__ import annotations

import numpy as np

from avatars.maker import eye_curves, mouth_shapes
from avatars.maker.atlas import FEATURES, cell
from avatars.maker.curves import F64, Monotone, resample, smooth
from avatars.maker.face import Face, metres
from avatars.maker.face_surface import depth
from avatars.maker.mesh import Part, grid, unit
from avatars.maker.skeleton import H

N = 27
EYE_SHAPES = (*eye_curves.LIDS, *eye_curves.TILTS, "eyeSmile")


def _ribbon(line: F64, above: F64, below: F64, normal: F64, lift: float) -> F64:
    """Three rows along a drawn line (N, 2), laid on the face (3 N, 3)."""
    rows = [line - normal * below[:, None], line + normal * (0.5 * (above - below))[:, None],
            line + normal * above[:, None]]  # fmt: skip
    flat = np.concatenate(rows)
    return np.concatenate([flat, depth(*flat.T)[:, None] + lift], 1)


def _normals(line: F64) -> F64:
    along = np.gradient(line, axis=0)
    return unit(np.stack([-along[:, 1], along[:, 0]], 1))


def _feature(points: F64, uv: F64, morphs: dict[str, F64], flip: bool = False) -> Part:
    """Her left eye's part from three rows; normals look forward, so it takes light evenly."""
    n = len(points) // 3
    normal = np.tile(unit(np.array([[0.25, 0.1, 1.0]])), (len(points), 1))
    kept = {k + "Left": (v - points) * H for k, v in morphs.items() if np.abs(v - points).max() > 1e-6}
    return Part(metres(points), grid(3, n, flip=flip), uv, {"head": np.ones(len(points))}, normal, kept)


UPPER_THICK = Monotone((0, 0.0015), (0.08, 0.008), (0.35, 0.0165), (0.7, 0.021), (0.88, 0.019), (1.0, 0.0005))
TILT_LIFT = 0.012
"""How much further before the skin a lash goes when a brow presses the lid: a blink then carries the lid past the lower
one, where the skin lies further forward."""
WING = np.array([0.021, -0.004])


def _upper_lash(shape: str, tilt: float) -> F64:
    upper, _ = eye_curves.lids(shape, N, tilt)
    # Beyond the outer corner the lash runs on as a small wing.
    drop = {"eyeBlink": -0.010, "eyeSmile": -0.004}.get(shape, 0.0)
    tip = upper[-1] + WING + np.array([0.0, drop + 0.004])
    line = resample(np.concatenate([upper[:-1], [upper[-1] + 0.35 * WING, tip]]), N)
    t = np.linspace(0, 1, N)
    thick = UPPER_THICK(t) * (0.72 if shape in ("eyeBlink", "eyeSmile") else 1.0)
    return _ribbon(
        line,
        thick,
        0.0035 * np.minimum(1.0, 8 * (1 - t)) * np.minimum(1, 0.2 + 8 * t),
        _normals(line),
        0.006 + TILT_LIFT * (shape in eye_curves.TILTS),
    )


def _spikes(shape: str, tilt: float) -> list[F64]:
    """Single lashes that stand out of the strip near the outer corner."""
    upper, _ = eye_curves.lids(shape, 101, tilt)
    normal = _normals(upper)
    closed = shape in ("eyeBlink", "eyeSmile")
    out = []
    for at, size, lean in ((74, 0.034, 0.55), (86, 0.036, 0.85), (96, 0.030, 1.3)):
        way = unit(normal[at] + lean * np.array([1.0, -0.55 if closed else 0.0]))
        base, tip = upper[at] + 0.002 * normal[at], upper[at] + size * way
        t = np.linspace(0, 1, 7)[:, None]
        bend = np.array([0.35, 0.65]) * 0.010 * (1 if not closed else 0.3)
        line = base * (1 - t) + tip * t + bend * (t * t - t)
        width = 0.0070 * (1 - t[:, 0]) ** 0.8
        out.append(_ribbon(line, width, width, _normals(line), 0.0065 + TILT_LIFT * (shape in eye_curves.TILTS)))
    return out


def _lower_lash(shape: str, tilt: float) -> F64:
    _, lower = eye_curves.lids(shape, 101, tilt)
    line = resample(lower[22:], N)
    t = np.linspace(0, 1, N)
    thin = 0.0034 * smooth(t, 0.0, 0.5) * smooth(t, 1.02, 0.9)
    return _ribbon(line, 0.3 * thin, thin, _normals(line), 0.0035)


def _fold(shape: str, tilt: float) -> F64:
    upper, _ = eye_curves.lids("", 101, tilt)
    now, _ = eye_curves.lids(shape, 101, tilt)
    lifted = upper + np.array([0.004, 0.037]) + 0.22 * (now - upper)
    line = resample(lifted[26:92], N)
    t = np.linspace(0, 1, N)
    thin = 0.0028 * np.sin(np.pi * t) ** 0.7
    return _ribbon(line, thin, thin, _normals(line), 0.003)


def _brow(shape: str, tilt: float, heavy: float, lift: float) -> F64:
    line = resample(eye_curves.brow(shape, tilt), N)
    t = np.linspace(0, 1, N)
    thick = np.interp(t, [0, 0.06, 0.4, 1.0], [0.0045, 0.0095, 0.0115, 0.0012]) * heavy
    return _ribbon(line, thick, thick, _normals(line), lift)


def _lash_uv(count: int, strength: float) -> F64:
    """Three rows along a lash: from its own colour to that of its outer end, which is the next cell."""
    t = np.linspace(0, 1, count)
    share = strength * smooth(t, 0.50, 1.0)
    uv = cell(FEATURES, "lash", count)
    tip = cell(FEATURES, "lashTip", count)
    return np.tile(uv + (tip - uv) * share[:, None], (3, 1))


def eye_parts(tilt: float, heavy: float, lift: float) -> list[Part]:
    """Lashes, folds and brows of both eyes; ``heavy`` brows are thicker than drawn and lie ``lift`` before the skin."""
    left: list[Part] = []
    for make, colour in ((_upper_lash, "lash"), (_lower_lash, "lashSoft"), (_fold, "fold")):
        rest = make("", tilt)
        uv = _lash_uv(N, 0.8) if colour == "lash" else cell(FEATURES, colour, len(rest))
        left.append(_feature(rest, uv, {s: make(s, tilt) for s in EYE_SHAPES}))
    for k, rest in enumerate(_spikes("", tilt)):
        moved = {s: _spikes(s, tilt)[k] for s in EYE_SHAPES}
        left.append(_feature(rest, cell(FEATURES, "lash", len(rest)), moved))
    rest = _brow("", tilt, heavy, lift)
    left.append(
        _feature(rest, cell(FEATURES, "brow", len(rest)), {s: _brow(s, tilt, heavy, lift) for s in eye_curves.BROWS})
    )
    parts = left + [p.mirrored() for p in left]
    for part in parts:
        # ARKit has one shape for both inner brows.
        for side in ("Left", "Right"):
            if "browInnerUp" + side in part.morphs:
                part.morphs["browInnerUp"] = part.morphs.pop("browInnerUp" + side)
    return parts


class Mouth:
    """Lip lines, the pocket behind the lips, teeth and tongue."""

    def __init__(self, face: Face) -> None:
        self.face = face
        grid_ = face.grid
        self.upper, self.lower = grid_.mouth_upper, grid_.mouth_lower
        self.moves = {
            k: v for k, v in face.moves.items() if np.abs(v[self.upper]).max() + np.abs(v[self.lower]).max() > 0
        }

    def parts(self) -> list[Part]:
        return [*self._lines(), self._pocket(), self._teeth(), self._tongue()]

    def _part(self, points: F64, tri: np.ndarray, uv: F64, morphs: dict[str, F64]) -> Part:
        normal = np.tile([[0.0, 0.1, 0.995]], (len(points), 1))
        kept = {k: v * H for k, v in morphs.items() if np.abs(v).max() > 1e-6}
        return Part(metres(points), tri, uv, {"head": np.ones(len(points))}, normal, kept)

    def _lines(self) -> list[Part]:
        out = []
        n = len(self.upper)
        u = np.linspace(-1, 1, n)
        for loop, thick, colour, lift in (
            (self.upper, 0.0062 * (1 - 0.50 * u**2), "lip", 0.0035),
            (self.lower, 0.0030 * np.maximum(1 - 1.2 * u**2, 0.0), "lipSoft", 0.0022),
        ):
            centre = self.face.rest[loop]
            up = np.array([0.0, 1.0, 0.0])
            spread = np.array([-0.55, 0.1, 0.55]) if colour == "lip" else np.array([-0.8, -0.3, 0.0])
            points = np.concatenate([centre + up * (thick * s)[:, None] for s in spread])
            points[:, 2] += lift
            moves = {k: np.tile(v[loop], (3, 1)) for k, v in self.moves.items()}
            uv = cell(FEATURES, colour, len(points))
            out.append(self._part(points, grid(3, n), uv, moves))
        return out

    def _pocket(self) -> Part:
        face = self.face
        loop = np.concatenate([self.upper, self.lower[-2:0:-1]])
        rim, n = face.rest[loop], len(loop)
        up = np.concatenate([np.ones(len(self.upper)), -np.ones(len(self.lower) - 2)])
        up[[0, len(self.upper) - 1]] = 0.0
        rings, shares, colours = [rim - np.array([0, 0, 0.001])], [1.0], ["mouth"]
        for back, wide, tall, share, colour in (
            (0.030, 1.06, 0.014, 1.0, "mouth"), (0.085, 1.05, 0.020, 1.0, "mouthDeep"),
            (0.130, 0.6, 0.010, 0.8, "mouthDeep"),
        ):  # fmt: skip
            ring = rim * [wide, 1.0, 1.0] + np.stack([np.zeros(n), tall * up, np.full(n, -back)], 1)
            rings.append(ring)
            shares.append(share)
            colours.append(colour)
        rings.append(np.tile(rings[-1].mean(0, keepdims=True), (n, 1)))
        colours.append("mouthDeep")
        points = np.concatenate(rings)
        a, tri = np.arange(n), []
        b = (a + 1) % n
        for r in range(len(rings) - 1):
            o, p = r * n, (r + 1) * n
            tri += [np.stack([a + o, b + o, b + p], 1), np.stack([a + o, b + p, a + p], 1)]
        # The last ring is one point and stays one, or the pocket would open into the head.
        end = {k: np.tile(0.5 * v[loop].mean(0), (n, 1)) for k, v in self.moves.items()}
        moves = {k: np.concatenate([*(v[loop] * s for s in shares), end[k]]) for k, v in self.moves.items()}
        uv = np.concatenate([cell(FEATURES, c, n) for c in colours])
        # The ring's order runs along the upper lip to her left and back: its inside must face the viewer.
        return self._part(points, np.concatenate(tri)[:, ::-1], uv, moves)

    def _teeth(self) -> Part:
        x = np.linspace(-0.050, 0.050, 15)
        y = 0.141 + 0.010 * (x / 0.05) ** 2
        back = depth(x, np.full_like(x, 0.14)) - 0.010 - 0.12 * np.abs(x) ** 1.5
        short = 1 - 0.8 * (x / 0.050) ** 4
        rows = [
            np.stack([x, y + dy * (short if dy < 0 else 1.0), back + dz], 1)
            for dy, dz in ((-0.016, 0.0), (0.002, 0.001), (0.020, -0.002))
        ]
        points = np.concatenate(rows)
        # The strip keeps its place under the upper lip, whatever the corners do: a tooth that stays shows as a fang.
        lip_x = self.face.rest[self.upper, 0]
        lift = {}
        for name, move in self.moves.items():
            rise = np.interp(np.clip(points[:, 0], lip_x[1], lip_x[-2]), lip_x, move[self.upper, 1])
            aside = np.interp(points[:, 0], lip_x, move[self.upper, 0])
            lift[name] = np.stack([np.clip(aside, -0.02, 0.02), 0.9 * rise, 0 * rise], 1)
        return self._part(points, grid(3, 15), cell(FEATURES, "teeth", len(points)), lift)

    def _tongue(self) -> Part:
        s, t = (v.ravel() for v in np.meshgrid(np.linspace(-1, 1, 9), np.linspace(0, 1, 9)))
        width = 0.044 * np.sqrt(np.clip(1 - (1 - np.clip(t / 0.45, 0, 1)) ** 2, 0.02, 1))
        x = s * width
        front = float(depth(0.0, 0.12)) - 0.040
        z = front - t * 0.075
        y = 0.112 - 0.010 * (x / 0.044) ** 2 + 0.010 * np.sin(np.pi * np.clip(t * 1.2, 0, 1)) - 0.004
        points = np.stack([x, y, z], 1)
        lips = {k: mouth_shapes.lips(k, np.zeros(1)).lower[0] for k in ("jawOpen", "mouthClose")}
        moves = {
            "jawOpen": np.tile(lips["jawOpen"] * [0, 0.48, 1], (len(points), 1)),
            "mouthClose": np.tile(lips["mouthClose"] * [0, 0.30, 0], (len(points), 1)),
        }
        tip = 1 - t
        out = np.stack([0.10 * s * 0.1 * tip, 0.024 * tip - 0.085 * tip**5, 0.110 * tip**0.8], 1)
        moves["tongueOut"] = out
        return self._part(points, grid(9, 9, flip=True), cell(FEATURES, "tongue", len(points)), moves)
