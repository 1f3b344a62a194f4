"""Parts of one material together with the chains of spring bones that their weights name."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from avatars.maker.curves import F64
from avatars.maker.mesh import Part


@dataclass
class Chain:
    """Spring bones: ``points`` (J + 1, 3) in metres, the last one the end of the last bone.

    ``group``: fringe, sides, back, tails, accents or skirt; ``body``: whether shoulders and arms push it too."""

    name: str
    parent: str
    points: F64
    stiffness: float = 1.0
    drag: float = 0.4
    gravity: float = 0.1
    radius: float = 0.015
    group: str = "sides"
    against: tuple[str, ...] = ("head", "body")

    @property
    def bones(self) -> list[str]:
        return [f"{self.name}{i + 1}" for i in range(len(self.points))]

    def mirrored(self) -> Chain:
        twin = self.name.replace("Left", "Right")
        return Chain(
            twin, self.parent.replace("left", "right").replace("Left", "Right"), self.points * [-1.0, 1.0, 1.0],
            self.stiffness, self.drag, self.gravity, self.radius, self.group, self.against,
        )  # fmt: skip


@dataclass
class Pieces:
    """All parts (one material) and the chains that their weights name."""

    parts: list[Part] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)

    def __iadd__(self, other: Pieces) -> Pieces:
        self.parts += other.parts
        self.chains += other.chains
        return self

    def mirrored(self) -> Pieces:
        return Pieces([p.mirrored() for p in self.parts], [c.mirrored() for c in self.chains])


def weights_along(points: F64, chain: Chain | None, parent: str = "head") -> dict[str, F64]:
    """Each point follows the two bones of the chain next to it; above the chain's root, its parent."""
    if chain is None:
        return {parent: np.ones(len(points))}
    joints = chain.points
    best, place = np.full(len(points), np.inf), np.zeros(len(points))
    for i in range(len(joints) - 1):
        way = joints[i + 1] - joints[i]
        s = (points - joints[i]) @ way / (way @ way)
        low = -0.5 if i == 0 else 0.0
        c = np.clip(s, low, 1.0)
        far = np.linalg.norm(points - joints[i] - c[:, None] * way, axis=1)
        better = far < best
        best, place = np.where(better, far, best), np.where(better, i + c, place)
    names = [chain.parent, *chain.bones[: len(joints) - 1]]
    # place i + s lies on bone i + 1 of names; the middle of a bone is all its own.
    at = np.clip(place + 0.5, 0.0, len(names) - 1)
    return {name: np.clip(1 - np.abs(at - k), 0, 1) for k, name in enumerate(names)}
