"""Node constraints (VRMC_node_constraint 1.0) against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from idol.avatar.constraints import Constraints
from idol.avatar.model import AvatarData, Constraint
from idol.avatar.rotation import about, multiply, rotate
from idol.avatar.skeleton import Skeleton
from tests.avatar.test_springs import avatar_data

F64 = NDArray[np.float64]
X, Y, Z = np.eye(3)


class Tree:
    """Nodes with no rotation at rest but those of ``turned``; ``turn`` sets one on top of its rest."""

    def __init__(
        self, parents: list[int], places: list[tuple[float, float, float]], items: list[Constraint],
        turned: dict[int, F64] | None = None,
    ) -> None:  # fmt: skip
        self.data: AvatarData = avatar_data(parents, places)
        for node, rotation in (turned or {}).items():
            self.data.rotations[node] = rotation
        self.data.constraints = items
        self.skeleton = Skeleton(self.data)
        self.constraints = Constraints(self.data, self.skeleton)

    def turn(self, node: int, rotation: F64) -> None:
        self.skeleton.rotations[node] = multiply(self.skeleton.rest_rotations[node], rotation)

    def apply(self) -> None:
        self.skeleton.solve()
        self.constraints.apply()
        self.skeleton.solve()

    def points(self, node: int, axis: F64) -> F64:
        """Where the node's own ``axis`` points in the world."""
        return self.skeleton.world[node, :3, :3] @ axis


def two(kind: str, turned: dict[int, F64] | None = None, **more: float) -> Tree:
    """A root (0), a source (1) and a follower (2) beside each other."""
    item = Constraint(kind, 2, 1, **more)  # type: ignore[arg-type]
    return Tree([-1, 0, 0], [(0, 0, 0), (1, 0, 0), (-1, 0, 0)], [item], turned)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_a_rotation_copies_a_share_of_the_turn(weight: float) -> None:
    tree = two("rotation", weight=weight)
    tree.turn(1, about(1, 0.8))
    tree.apply()
    assert tree.points(2, Z) == pytest.approx([math.sin(0.8 * weight), 0.0, math.cos(0.8 * weight)])


def test_a_rotation_is_relative_to_both_rests() -> None:
    tree = two("rotation", {1: about(0, 0.5), 2: about(2, 0.3)})
    tree.turn(1, about(1, 0.8))
    tree.apply()
    # The source's own turn since rest, after the follower's rest.
    wanted = rotate(about(2, 0.3), rotate(about(1, 0.8), Z))
    assert tree.points(2, Z) == pytest.approx(wanted)


def test_a_roll_takes_the_turn_about_its_axis_only() -> None:
    tree = two("roll", axis=0)
    tree.turn(1, about(0, 0.6))
    tree.apply()
    assert tree.points(2, Y) == pytest.approx([0.0, math.cos(0.6), math.sin(0.6)])
    tree.turn(1, about(1, 0.6))  # a swing of the axis is no roll
    tree.apply()
    assert tree.points(2, X) == pytest.approx(X) and tree.points(2, Y) == pytest.approx(Y)
    tree.turn(1, multiply(about(1, 0.6), about(0, 0.4)))
    tree.apply()
    assert tree.points(2, X) == pytest.approx(X)
    assert tree.points(2, Y) == pytest.approx([0.0, math.cos(0.4), math.sin(0.4)])


@pytest.mark.parametrize(("axis", "sign", "own"), [(0, 1.0, X), (2, 1.0, Z), (2, -1.0, -Z), (1, -1.0, -Y)])
def test_an_aim_points_at_its_source(axis: int, sign: float, own: F64) -> None:
    tree = Tree([-1, 0, 0], [(0, 0, 0), (0.5, 2.0, 1.0), (-0.5, 1.0, 0.0)], [Constraint("aim", 2, 1, axis, sign)])
    tree.apply()
    assert tree.points(2, own) == pytest.approx(np.asarray([1.0, 1.0, 1.0]) / math.sqrt(3.0))


def test_an_aim_of_half_weight_goes_half_the_way() -> None:
    tree = Tree([-1, 0, 0], [(0, 0, 0), (0, 0, 0), (-1, 0, 0)], [Constraint("aim", 2, 1, 2, 1.0, 0.5)])
    tree.apply()  # from Z to X: 45 degrees
    assert tree.points(2, Z) == pytest.approx([math.sqrt(0.5), 0.0, math.sqrt(0.5)])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_aim_sees_what_another_constraint_has_moved(order: tuple[int, int]) -> None:
    """The aim's source (3) hangs a metre from a node (2) that copies the turn of 1: it goes from X to -Z of it."""
    items = [Constraint("rotation", 2, 1), Constraint("aim", 4, 3, 0)]
    tree = Tree([-1, 0, 0, 2, 0], [(0, 0, 0), (5, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 1)], [items[i] for i in order])
    tree.turn(1, about(1, math.pi / 2))
    tree.apply()
    assert tree.skeleton.world[3, :3, 3] == pytest.approx([0.0, 0.0, -1.0])
    assert tree.points(4, X) == pytest.approx([0.0, 0.0, -1.0])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_aim_below_a_driven_node_waits_for_it(order: tuple[int, int]) -> None:
    items = [Constraint("rotation", 2, 1), Constraint("aim", 3, 4, 0)]
    tree = Tree([-1, 0, 0, 2, 0], [(0, 0, 0), (5, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, -3)], [items[i] for i in order])
    tree.turn(1, about(1, math.pi / 2))
    tree.apply()
    assert tree.skeleton.world[3, :3, 3] == pytest.approx([0.0, 0.0, -1.0])
    assert tree.points(3, X) == pytest.approx([0.0, 0.0, -1.0])


def test_rings_are_left_out_and_told() -> None:
    items = [Constraint("rotation", 1, 2), Constraint("rotation", 2, 1), Constraint("rotation", 4, 3)]
    tree = Tree([-1, 0, 0, 0, 0], [(0, 0, 0)] * 5, items)
    assert any("ring" in text for text in tree.data.warnings)
    tree.turn(3, about(1, 0.5))
    tree.apply()
    assert tree.points(4, Z) == pytest.approx([math.sin(0.5), 0.0, math.cos(0.5)])
    assert tree.points(1, Z) == pytest.approx(Z)
