"""Node constraints (VRMC_node_constraint 1.0): roll, aim and rotation. Twist bones of sleeves and the like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData, Constraint
from idol.avatar.rotation import between, inverse, multiply, rotate
from idol.avatar.skeleton import Skeleton, Subtree

F64 = NDArray[np.float64]


class Constraints:
    """The constraints of one avatar, in an order in which each is final before what depends on it.

    An aim looks from its node's place to its source's, so it depends on whatever turns an ancestor of either; a roll
    or a rotation copies the source's own turn and depends on its source alone.
    """

    def __init__(self, data: AvatarData, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        parents = skeleton.parents
        turning: dict[int, list[int]] = {}
        for place, item in enumerate(data.constraints):
            turning.setdefault(item.node, []).append(place)
        needs = [
            {place for node in _depends_on(item, parents) for place in turning.get(node, ())}
            for item in data.constraints
        ]
        ordered = _ordered(needs)
        if len(ordered) < len(needs):
            data.warnings.append("VRMC_node_constraint: constraints that follow each other in a ring are left out")
        # World matrices go stale below a node that a constraint turns: an aim that reads one there solves it first.
        self._steps: list[tuple[Constraint, Subtree | None]] = []
        stale: list[int] = []
        for place in ordered:
            item = data.constraints[place]
            fresh = None
            if item.kind == "aim" and any(needed in stale for needed in needs[place]):
                fresh = skeleton.below(np.asarray([data.constraints[i].node for i in stale], np.int64))
                stale = []
            self._steps.append((item, fresh))
            stale.append(place)

    def apply(self) -> bool:
        """Write the followers' rotations, from a solved skeleton. True when any was written."""
        for item, fresh in self._steps:
            if fresh is not None:
                self._skeleton.solve(fresh)
            self._apply_one(item)
        return bool(self._steps)

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


def _depends_on(item: Constraint, parents: NDArray[np.int32]) -> set[int]:
    """Nodes whose turns a constraint must see final. Its own node is not among them."""
    if item.kind != "aim":
        return {item.source}
    found = set()
    for start in (item.source, int(parents[item.node])):
        at = start
        while at >= 0 and at not in found:
            found.add(at)
            at = int(parents[at])
    return found


def _ordered(needs: list[set[int]]) -> list[int]:
    """Places in an order in which needs come first. Rings, and what depends on one, are left out."""
    out: list[int] = []
    done: set[int] = set()
    waiting = list(range(len(needs)))
    while waiting:
        ready = [place for place in waiting if needs[place] <= done]
        if not ready:
            break
        out += ready
        done |= set(ready)
        waiting = [place for place in waiting if place not in done]
    return out
