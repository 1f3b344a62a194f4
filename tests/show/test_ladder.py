"""The order of steps, one at a time, and the way back: no engine, no card, a clock that is set by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.errors import EngineError
from idol.show.interface import Notice, SwapKind
from idol.show.ladder import CALM_SECONDS, LONGEST_WAIT, SETTLE_SECONDS, Ladder


@dataclass
class FakeRung:
    """``slow`` ones load something: they are busy until ``finish``."""

    label: str
    kind: SwapKind | None = None
    needs: int = 100
    slow: bool = False
    nothing: bool = False
    trouble: str = ""
    no_way_back: str = ""
    held: bool = False
    busy: bool = False
    did: list[str] = field(default_factory=list)

    def down(self) -> str:
        if self.trouble:
            raise EngineError(self.trouble)
        if self.nothing:
            return ""
        self.did.append("down")
        self.held, self.busy = not self.slow, self.slow
        return f"{self.label} is given up."

    def up(self) -> str:
        if self.no_way_back and not self.slow:
            raise EngineError(self.no_way_back)
        self.did.append("up")
        self.busy = self.slow
        self.held = self.slow
        return f"{self.label} is back."

    def finish(self, held: bool) -> None:
        self.busy, self.held = False, held

    def forget(self) -> None:
        self.held = False


class World:
    def __init__(self, *rungs: FakeRung) -> None:
        self.now = 1000.0
        self.room: int | None = 1000
        self.told: list[Notice] = []
        self.rungs = rungs
        self.ladder = Ladder(rungs, self.told.append, clock=lambda: self.now)

    def run(self, seconds: float, step: float = 0.5) -> None:
        """Ticks, each with a fresh sample."""
        end = self.now + seconds
        while self.now < end:
            self.now += step
            self.ladder.tick(self.now, lambda: self.room)

    @property
    def held(self) -> list[str]:
        return [rung.label for rung in self.ladder.taken]


def three() -> World:
    return World(FakeRung("context", "llm"), FakeRung("batches"), FakeRung("cpu", "voice"))


def test_nothing_happens_without_pressure() -> None:
    world = three()
    world.run(600)
    assert world.held == [] and world.told == [] and world.ladder.line == ""


def test_one_step_at_a_time_in_order_and_all_the_way_back() -> None:
    world = three()
    world.ladder.press(True)
    world.run(1)
    assert world.held == ["context"]
    world.run(SETTLE_SECONDS - 1.5)
    assert world.held == ["context"]  # its effect is not known yet
    world.run(2)
    assert world.held == ["context", "batches"] and world.ladder.line == "context, batches"
    world.run(SETTLE_SECONDS + 1)
    assert world.held == ["context", "batches", "cpu"]
    world.ladder.press(False)
    world.run(CALM_SECONDS - 1)
    assert len(world.held) == 3
    world.run(2)
    assert world.held == ["context", "batches"]
    world.run(CALM_SECONDS - 3)
    assert len(world.held) == 2  # the next one waits as long again
    world.run(2 * CALM_SECONDS + 3)
    assert world.held == [] and world.ladder.line == ""
    assert [notice.level for notice in world.told] == ["warning"] * 3 + ["info"] * 3
    assert [notice.text.split(": ")[1].split()[0] for notice in world.told] == [
        "context", "batches", "cpu", "cpu", "batches", "context",
    ]  # fmt: skip


def test_a_step_waits_for_a_fresh_sample() -> None:
    world = three()
    world.ladder.press(True)
    world.run(1)
    seen = world.now - 1
    for _ in range(100):
        world.now += 1
        world.ladder.tick(seen, lambda: 0)
    assert world.held == ["context"]
    world.ladder.tick(None, lambda: 0)
    assert world.held == ["context"]
    world.ladder.tick(world.now, lambda: 0)
    assert world.held == ["context", "batches"]


def test_pressure_that_goes_in_time_ends_the_descent() -> None:
    world = three()
    world.ladder.press(True)
    world.run(1)
    world.ladder.press(False)
    world.run(CALM_SECONDS - 2)
    assert world.held == ["context"]


@pytest.mark.parametrize("room", [None, 99])
def test_no_way_back_without_room(room: int | None) -> None:
    world = three()
    world.ladder.press(True)
    world.run(1)
    world.ladder.press(False)
    world.room = room
    world.run(5 * CALM_SECONDS)
    assert world.held == ["context"]
    world.room = 100
    world.run(1)
    assert world.held == []


def test_what_cannot_be_given_up_is_passed_over() -> None:
    world = World(FakeRung("a", nothing=True), FakeRung("b", trouble="it broke."), FakeRung("c"))
    world.ladder.press(True)
    world.run(1)
    assert world.held == ["c"]
    assert "it broke" in world.told[0].text and "c is given up" in world.told[1].text


def test_the_end_of_the_ladder_is_said_once() -> None:
    world = World(FakeRung("a"))
    world.ladder.press(True)
    world.run(60)
    assert world.held == ["a"] and [n for n in world.told if "nothing is left" in n.text] == world.told[1:]
    assert len(world.told) == 2
    assert not world.ladder.shortage()


def test_a_failed_allocation_takes_a_step_at_once_and_says_whether_to_try_again() -> None:
    world = three()
    assert [world.ladder.shortage() for _ in range(4)] == [True, True, True, False]
    assert world.held == ["context", "batches", "cpu"]
    assert "found no memory" in world.told[0].text
    world.run(4 * CALM_SECONDS)
    assert world.held == []


def test_an_undo_that_fails_is_tried_again_later_and_later() -> None:
    world = World(FakeRung("a", no_way_back="it does not fit."))
    world.ladder.press(True)
    world.run(1)
    world.ladder.press(False)
    tries = []
    for _ in range(20_000):
        before = len(world.told)
        world.run(0.5)
        if len(world.told) > before:
            tries.append(world.now)
    gaps = [later - earlier for earlier, later in pairwise(tries)]
    assert gaps[:3] == pytest.approx([60, 120, 240], abs=2) and gaps[-1] == pytest.approx(LONGEST_WAIT, abs=2)
    assert world.held == ["a"] and "it does not fit" in world.told[-1].text
    world.rungs[0].no_way_back = ""
    world.run(LONGEST_WAIT + 1)
    assert world.held == []


def test_an_undo_that_does_not_last_is_tried_again_later() -> None:
    world = World(FakeRung("a"))
    held_for = []
    for _ in range(3):
        world.ladder.press(True)
        world.run(1 + SETTLE_SECONDS)
        world.ladder.press(False)
        began = world.now
        while world.held:
            world.run(0.5)
        held_for.append(world.now - began)
    assert held_for == pytest.approx([30, 60, 120], abs=2)
    world.run(CALM_SECONDS + 1)  # this time it lasts
    world.ladder.press(True)
    world.run(1)
    world.ladder.press(False)
    world.run(CALM_SECONDS + 1)
    assert world.held == []


def test_nothing_else_happens_while_a_step_loads() -> None:
    world = World(FakeRung("smaller", "llm", slow=True), FakeRung("cpu", "llm"))
    smaller, cpu = world.rungs
    world.ladder.press(True)
    world.run(60)
    assert world.held == ["smaller"] and cpu.did == []
    smaller.finish(held=True)
    world.run(1)
    assert cpu.did == []  # now its effect is waited for
    world.run(SETTLE_SECONDS + 1)
    assert world.held == ["smaller", "cpu"]


def test_a_load_that_came_to_nothing_leads_to_the_next_step() -> None:
    world = World(FakeRung("smaller", "llm", slow=True), FakeRung("cpu", "llm"))
    world.ladder.press(True)
    world.run(5)
    world.rungs[0].finish(held=False)
    world.rungs[0].nothing = True
    world.run(SETTLE_SECONDS + 1)
    assert world.held == ["cpu"]


def test_a_way_back_that_loads_counts_when_it_has_arrived() -> None:
    world = World(FakeRung("cpu", "llm", slow=True))
    (rung,) = world.rungs
    world.ladder.press(True)
    world.run(1)
    rung.finish(held=True)
    world.ladder.press(False)
    world.run(CALM_SECONDS + 2)
    assert rung.did == ["down", "up"] and world.held == ["cpu"]
    rung.finish(held=True)  # refused
    world.run(1)
    assert world.held == ["cpu"] and "no way back yet" in world.told[-1].text
    world.run(2 * CALM_SECONDS + 2)
    assert rung.did == ["down", "up", "up"]
    rung.finish(held=False)
    world.run(1)
    assert world.held == []


def test_an_engine_that_fell_by_itself_climbs_back() -> None:
    world = World(FakeRung("context", "llm", nothing=True), FakeRung("cpu", "llm", nothing=True))
    cpu = world.rungs[1]
    assert not world.ladder.shortage()
    cpu.held = True
    world.ladder.fallen("llm")
    world.ladder.fallen("voice")
    assert world.held == ["cpu"] and world.ladder.line == "cpu"
    world.run(CALM_SECONDS + 1)
    assert world.held == [] and cpu.did == ["up"]


def test_what_the_user_puts_in_place_is_whole() -> None:
    world = three()
    world.ladder.press(True)
    world.run(3 * SETTLE_SECONDS)
    world.rungs[1].forget = lambda: None  # type: ignore[method-assign]
    world.ladder.forget("llm")
    assert world.held == ["batches", "cpu"]


@given(
    st.lists(st.tuples(st.sampled_from(["press", "calm", "shortage", "fit", "full"]), st.floats(0.5, 90)), max_size=30),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_whatever_comes_steps_stay_in_order_and_apart(events: list[tuple[str, float]], nothing: list[bool]) -> None:
    world = World(*(FakeRung(str(place), nothing=flag) for place, flag in enumerate(nothing)))
    acted: list[tuple[float, str]] = []
    for event, seconds in events:
        if event in ("press", "calm"):
            world.ladder.press(event == "press")
        elif event == "shortage":
            world.ladder.shortage()
        else:
            world.room = 1000 if event == "fit" else 0
        end = world.now + seconds
        while world.now < end:
            before = world.held
            world.run(0.5)
            assert abs(len(world.held) - len(before)) <= 1
            if world.held != before:
                acted.append((world.now, "down" if len(world.held) > len(before) else "up"))
            assert world.held == sorted(world.held)
            assert [rung.label for rung in world.rungs if rung.held] == world.held
    for (earlier, _), (later, what) in pairwise(acted):
        assert later - earlier >= (SETTLE_SECONDS if what == "down" else CALM_SECONDS) - 0.01
