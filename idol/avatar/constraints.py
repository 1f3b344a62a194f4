"""Node constraints (VRMC_node_constraint 1.0): roll, aim and rotation. Twist bones of sleeves and the like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData, Constraint
from idol.avatar.rotation import between, inverse, multiply, rotate
from idol.avatar.skeleton import Skeleton

F64 = NDArray[np.float64]


class Constraints:
    """The constraints of one avatar, in an order in which each source is final before its followers."""

    def __init__(self, data: AvatarData, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        waiting = list(data.constraints)
        driven = {item.node for item in waiting}
        self._items: list[Constraint] = []
        done: set[int] = set()
        while waiting:
            ready = [item for item in waiting if item.source not in driven or item.source in done]
            if not ready:
                data.warnings.append("VRMC_node_constraint: constraints that follow each other in a ring are left out")
                break
            self._items += ready
            done |= {item.node for item in ready}
            waiting = [item for item in waiting if item not in ready]

    def apply(self) -> bool:
        """Write the followers' rotations, from a solved skeleton. True when any was written."""
        for item in self._items:
            self._apply_one(item)
        return bool(self._items)

    def _apply_one(self, item: Constraint) -> None:
        skeleton = self._skeleton
        rest = skeleton.rest_rotations[item.node]
        if item.kind == "aim":
            target = self._aim(item, rest)
        else:
            source_rest = skeleton.rest_rotations[item.source]
            delta = multiply(inverse(source_rest), skeleton.rotations[item.source])
            if item.kind == "rotation":
                target = multiply(rest, delta)
            else:
                axis = np.zeros(3)
                axis[item.axis] = 1.0
                # The source's turn in the follower's frame, less the part that swings the roll axis.
                turn = multiply(multiply(source_rest, delta), inverse(source_rest))
                turn = multiply(multiply(inverse(rest), turn), rest)
                swing = between(axis, rotate(turn, axis))
                target = multiply(rest, multiply(inverse(swing), turn))
        skeleton.rotations[item.node] = _mix(rest, target, item.weight)

    def _aim(self, item: Constraint, rest: F64) -> F64:
        skeleton = self._skeleton
        parent = int(skeleton.parents[item.node])
        basis = skeleton.world[parent, :3, :3] if parent >= 0 else np.eye(3)
        axis = np.zeros(3)
        axis[item.axis] = item.sign
        wanted = skeleton.world[item.source, :3, 3] - skeleton.world[item.node, :3, 3]
        local = np.linalg.pinv(basis) @ wanted
        length = float(np.linalg.norm(local))
        if length < 1e-9:
            return rest
        return multiply(between(rotate(rest, axis), local / length), rest)


def _mix(a: F64, b: F64, weight: float) -> F64:
    """Spherical mix; the nearer of b and -b."""
    cosine = float((a * b).sum())
    if cosine < 0:
        b, cosine = -b, -cosine
    if cosine > 0.9995:
        out = a + (b - a) * weight
    else:
        angle = float(np.arccos(cosine))
        out = (np.sin((1 - weight) * angle) * a + np.sin(weight * angle) * b) / np.sin(angle)
    mixed: F64 = out / np.linalg.norm(out)
    return mixed
