"""The head's skin with all its shapes. Heights of the head inside; the part it returns is in metres."""

from __future__ import annotations

import numpy as np

from avatars.maker import eye_curves, mouth_shapes
from avatars.maker.atlas import FEATURES, cell
from avatars.maker.curves import F64, bump, smooth
from avatars.maker.face_grid import HALF, FaceGrid, Spread
from avatars.maker.face_surface import CAP_CENTRE, CAP_RADII, cap_edge, depth
from avatars.maker.mesh import I64, Part, unit, vertex_normals
from avatars.maker.skeleton import CHIN, H

PROXY_CENTRE, PROXY_RADII = np.array([0.0, 0.42, -0.05]), np.array([0.42, 0.62, 0.45])
LID_WALL = 0.0075
"""Less than the iris lies behind the lids, so that the wall never cuts it."""


BLUSH_AT, BLUSH_SIZE, BLUSH_UP = (0.215, 0.222), (0.135, 0.085), 0.70
"""The cheek's patch of blush, and how much higher in the picture of the skin it is painted: where hair covers it."""
BLUSH_UNDER, BLUSH_RISE = (0.0012, 0.0040), 0.0060
"""How deep it lies under the skin, in the middle and at its edge, and how far its shape lifts it."""


def metres(points: F64) -> F64:
    out: F64 = points * H + np.array([0.0, CHIN, 0.0])
    return out


class Face:
    """``rest`` (V, 3) and ``moves``: shape name to offsets (V, 3), both in heights of the head, skin only."""

    def __init__(self, tilt: float = 0.0) -> None:
        self.tilt = tilt
        self.grid = grid = FaceGrid()
        self._lid_handles = np.concatenate([grid.eye_upper["left"], grid.eye_lower["left"][1:-1]])
        self._lip_handles = np.concatenate([grid.mouth_upper, grid.mouth_lower[1:-1]])
        self._lid_spread = Spread(grid, (0.19, 0.64), (1, HALF - 2), self._lid_handles)
        self._lip_spread = Spread(grid, (0.0, 0.315), (-HALF + 3, HALF - 3), self._lip_handles)
        flat = grid.flat
        self._lids_rest = self._lid_field("")
        lip_x = flat[self._lip_handles, 0]
        lip_y = mouth_shapes.rest_curve(lip_x)
        lip_field = self._lip_spread(np.stack([np.zeros_like(lip_y), lip_y], 1))
        both = self._lids_rest + grid.reflected(_three(self._lids_rest))[:, :2]
        self.rest = flat.copy()
        self.rest[:, :2] += both + lip_field
        self._front = np.abs(both + lip_field).max(1) > 0
        self.rest[self._front, 2] = depth(*self.rest[self._front, :2].T)
        self.rest = grid.symmetric(self.rest)
        self.moves: dict[str, F64] = {}
        self._eye_moves()
        self._mouth_moves()
        self._soft_moves()

    # Fields

    def _lid_field(self, shape: str) -> F64:
        upper, lower = eye_curves.lids(shape, len(self.grid.eye_upper["left"]), self.tilt)
        target = np.concatenate([upper, lower[1:-1]])
        return self._lid_spread(target - self.grid.flat[self._lid_handles, :2])

    def _eye_moves(self) -> None:
        for shape in (*eye_curves.LIDS, *eye_curves.TILTS, "eyeSmile"):
            field = self._lid_field(shape) - self._lids_rest
            moved = np.abs(field).max(1) > 1e-7
            new = self.rest.copy()
            new[:, :2] += field
            new[moved, 2] = depth(*new[moved, :2].T)
            self._both_sides(shape, np.where(moved[:, None], new - self.rest, 0.0))

    def _both_sides(self, shape: str, offsets: F64) -> None:
        self.moves[shape + "Left"] = self.moves.get(shape + "Left", 0.0) + offsets
        self.moves[shape + "Right"] = self.moves.get(shape + "Right", 0.0) + self.grid.reflected(offsets)

    def jaw_share(self, points: F64) -> F64:
        """How much of the jaw's motion a point of the head takes."""
        out: F64 = smooth(points[:, 1], 0.21, 0.055) * smooth(points[:, 2], -0.02, 0.24)
        return out

    def lip_field(self, shape: str) -> F64:
        grid, rest = self.grid, self.rest
        lips = mouth_shapes.lips(shape, rest[grid.mouth_upper, 0])
        jaw = self.jaw_share(rest)[:, None] * np.asarray(lips.jaw)
        target = np.concatenate([lips.upper, lips.lower[1:-1]])
        field: F64 = jaw + self._lip_spread(target - jaw[self._lip_handles])
        near = (np.abs(field[:, 0]) > 1e-7) & (rest[:, 2] > 0.1) & (rest[:, 1] > 0.02)
        x, y = rest[near, 0], rest[near, 1]
        field[near, 2] += depth(x + field[near, 0], y) - depth(x, y)
        return field

    def _mouth_moves(self) -> None:
        for shape in mouth_shapes.BOTH:
            self.moves[shape] = self.grid.symmetric(self.lip_field(shape))
        for shape in mouth_shapes.LEFT:
            self._both_sides(shape, self.lip_field(shape))

    def _soft_moves(self) -> None:
        """Cheeks, nose and brow skin: hills of motion, still at lids and lips."""
        x, y, z = self.rest.T
        front = smooth(z, 0.0, 0.12)[:, None]
        loops = np.concatenate([*self.grid.eye_upper.values(), *self.grid.eye_lower.values()])
        outward = unit(self.rest - np.array([0.0, 0.25, -0.05]))
        cheek = bump(x, y, 0.215, 0.150, 0.065, 0.055)[:, None] * outward * 0.026
        puff = front * (cheek + self.grid.reflected(cheek))
        lips = self.lip_field("mouthPucker") * 0.22
        self.moves["cheekPuff"] = self.grid.symmetric(puff + lips)
        squint = bump(x, y, 0.205, 0.235, 0.055, 0.026)[:, None] * np.array([0.0, 0.010, 0.006])
        sneer = bump(x, y, 0.035, 0.262, 0.022, 0.022)[:, None] * np.array([0.003, 0.010, 0.003])
        still = np.ones((len(x), 1))
        still[loops] = 0.0
        self._both_sides("cheekSquint", squint * still)
        self._both_sides("noseSneer", sneer * still)
        brow = bump(x, y, 0.19, 0.61, 0.075, 0.035)[:, None] * np.array([0.0, 0.008, 0.0])
        self._both_sides("browDown", -brow * still)
        inner = self.moves.pop("browInnerUpLeft") + self.moves.pop("browInnerUpRight")
        self._both_sides("browOuterUp", brow * still)
        self.moves["browInnerUp"] = self.grid.symmetric((brow + self.grid.reflected(brow)) * still + inner)

    # The part

    def normals(self) -> F64:
        """Mostly an ellipsoid's, so that light and shade fall in clean shapes; the jaw's underside looks down."""
        own = vertex_normals(self.rest, self.grid.triangles)
        proxy = unit((self.rest - PROXY_CENTRE) / PROXY_RADII**2)
        share = 0.88 * smooth(self.rest[:, 2], 0.0, 0.15) * smooth(self.rest[:, 1], 0.0, 0.06)
        out = unit(own * (1 - share[:, None]) + proxy * share[:, None])
        # All of it: a proxy's normal halfway would leave a streak of shade across the chin, seen from below.
        under = (smooth(own[:, 1], -0.55, -0.80) * smooth(self.rest[:, 1], 0.20, 0.12))[:, None]
        return self.grid.symmetric(unit(out * (1 - under) + under * (own + np.array([0.0, -0.3, 0.0]))))

    def part(self) -> Part:
        """The skin; UVs are the front view, x -0.5..0.5 over u, y 1.1..-0.1 over v."""
        skin = Part(
            metres(self.rest), self._seen(), front_uv(self.rest), {"head": np.ones(len(self.rest))},
            self.normals(), {k: v * H for k, v in self.moves.items()},
        )  # fmt: skip
        skin.morphs = {k: v for k, v in skin.morphs.items() if np.abs(v).max() > 1e-6}
        return skin

    def blush(self) -> Part:
        """A second skin of the cheeks, painted red, which its shape brings from under the skin to its front."""
        x, y, z = self.rest.T
        away = np.hypot((np.abs(x) - BLUSH_AT[0]) / BLUSH_SIZE[0], (y - BLUSH_AT[1]) / BLUSH_SIZE[1])
        near = (away < 1.0) & (z > 0.0)
        triangles = self.grid.triangles[near[self.grid.triangles].all(1)]
        used, renumbered = np.unique(triangles, return_inverse=True)
        normals = self.normals()[used]
        deep = BLUSH_UNDER[0] + (BLUSH_UNDER[1] - BLUSH_UNDER[0]) * away[used]
        out = unit(vertex_normals(self.rest, self.grid.triangles))[used]
        moves = {k: v[used] * H for k, v in self.moves.items() if np.abs(v[used]).max() > 1e-6}
        moves["blush"] = out * BLUSH_RISE * H
        return Part(
            metres(self.rest[used] - out * deep[:, None]), renumbered.reshape(-1, 3),
            front_uv(self.rest[used] + np.array([0.0, BLUSH_UP, 0.0])), {"head": np.ones(len(used))}, normals, moves,
        )  # fmt: skip

    def _seen(self) -> I64:
        """The skin's triangles without those that lie wholly under the hair's cap."""
        away = (self.rest - CAP_CENTRE) / CAP_RADII
        polar = np.degrees(np.arccos(np.clip(unit(away)[:, 1], -1, 1)))
        hidden = polar < cap_edge(np.degrees(np.arctan2(away[:, 0], away[:, 2]))) - 9.0
        triangles: I64 = self.grid.triangles
        return triangles[~hidden[triangles].all(1)]

    def lid_wall(self) -> list[Part]:
        """A rim that runs from the lids into the head, so that nothing shows between lid and eye."""
        grid = self.grid
        out = []
        for side, sign in (("left", 1.0), ("right", -1.0)):
            loop = np.concatenate([grid.eye_upper[side], grid.eye_lower[side][-2:0:-1]])
            n = len(loop)
            # Deeper at the outer corner: from the other side one would look past the eye into the head there.
            deep = LID_WALL + 0.070 * smooth(np.abs(self.rest[loop, 0]), 0.200, 0.270)
            back = self.rest[loop] - deep[:, None] * np.array([0.0, 0.0, 1.0])
            points = np.concatenate([self.rest[loop], back])
            a = np.arange(n)
            b = (a + 1) % n
            tri = np.concatenate([np.stack([a, b, b + n], 1), np.stack([a, b + n, a + n], 1)])
            normal = np.tile(unit(np.array([[0.3 * sign, 0.1, 1.0]])), (2 * n, 1))
            moves = {k: np.tile(v[loop], (2, 1)) * H for k, v in self.moves.items() if np.abs(v[loop]).max() > 1e-6}
            out.append(
                Part(metres(points), tri if sign < 0 else tri[:, ::-1], cell(FEATURES, "lid", 2 * n),
                     {"head": np.ones(2 * n)}, normal, moves)
            )  # fmt: skip
        return out


def front_uv(points: F64) -> F64:
    return np.stack([points[:, 0] + 0.5, (1.05 - points[:, 1]) / 1.1], 1)


def _three(field: F64) -> F64:
    return np.concatenate([field, np.zeros((len(field), 1))], 1)
