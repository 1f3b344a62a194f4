"""The frame clock's beat: steady while draws fit a tick, and steady at a multiple of it while they do not."""

from __future__ import annotations

import itertools
import statistics

from idol.ui.frame_clock import SLOWEST, Pacer

TICK = 0.033


def _play(pacer: Pacer, costs: list[float], now: float = 0.0) -> list[float]:
    """Draw frames of these ``costs`` one after the other; when each began, in seconds."""
    begun = []
    for cost in costs:
        begun.append(now)
        due = pacer.begun(now)
        pacer.drawn(cost)
        now = max(due, now + cost)
    return begun


def _intervals(begun: list[float]) -> list[float]:
    return [(b - a) * 1000 for a, b in itertools.pairwise(begun)]


def test_draws_that_fit_come_every_tick() -> None:
    pacer = Pacer(TICK)
    seen = _intervals(_play(pacer, [0.012, 0.024] * 50))
    assert pacer.divider == 1
    assert max(seen) - min(seen) < 1e-6


def test_draws_longer_than_a_tick_come_every_second_tick() -> None:
    pacer = Pacer(TICK)
    seen = _intervals(_play(pacer, [0.031, 0.046, 0.038, 0.052] * 40))
    assert pacer.divider == 2
    settled = seen[20:]
    assert abs(statistics.mean(settled) - 66) < 0.1
    assert statistics.pstdev(settled) < 0.1


def test_many_overruns_under_a_short_median_slow_the_beat_too() -> None:
    pacer = Pacer(TICK)
    _play(pacer, [0.020, 0.020, 0.020, 0.045] * 20)
    assert pacer.divider == 2


def test_one_long_draw_is_late_once() -> None:
    pacer = Pacer(TICK)
    costs = [0.015] * 60
    costs[30] = 0.040
    begun = _play(pacer, costs)
    assert pacer.divider == 1
    assert abs(begun[31] - begun[30] - 0.040) < 1e-9
    assert abs(begun[32] - 32 * TICK) < 1e-9


def test_a_stall_is_not_made_up_for() -> None:
    pacer = Pacer(TICK)
    begun = _play(pacer, [0.010, 0.300, 0.010, 0.010])
    assert min(b - a for a, b in itertools.pairwise(begun)) > 0.02


def test_it_comes_back_only_when_well_under() -> None:
    pacer = Pacer(TICK)
    begun = _play(pacer, [0.040] * 40)
    assert pacer.divider == 2
    begun = _play(pacer, [0.027] * 200, begun[-1] + 1)
    assert pacer.divider == 2
    _play(pacer, [0.015] * 80, begun[-1] + 1)
    assert pacer.divider == 1


def test_the_beat_has_a_floor() -> None:
    pacer = Pacer(TICK)
    _play(pacer, [0.5] * 200)
    assert pacer.divider == SLOWEST
