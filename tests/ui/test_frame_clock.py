"""The frame clock's beat: steady while frames begin in time, and steady at a multiple of it while they do not."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable

from idol.ui.frame_clock import FIRST_TRY, LAST_TRY, SLOWEST, Pacer

TICK = 0.033


def _play(pacer: Pacer, costs: Iterable[float], now: float = 0.0) -> list[float]:
    """Draw frames of these ``costs`` one after the other; when each began, in seconds."""
    begun = []
    for cost in costs:
        begun.append(now)
        due = pacer.begun(now)
        now = max(due, now + cost)
    return begun


def _intervals(begun: list[float]) -> list[float]:
    return [(b - a) * 1000 for a, b in itertools.pairwise(begun)]


def test_draws_that_fit_come_every_tick() -> None:
    pacer = Pacer(TICK)
    seen = _intervals(_play(pacer, [0.012, 0.032] * 300))
    assert pacer.divider == 1
    assert max(seen) - min(seen) < 1e-6


def test_draws_longer_than_a_tick_come_every_second_tick() -> None:
    pacer = Pacer(TICK)
    seen = _intervals(_play(pacer, [0.046, 0.052, 0.048, 0.060] * 40))
    assert pacer.divider == 2
    settled = seen[30:150]
    assert abs(statistics.mean(settled) - 66) < 0.1
    assert statistics.pstdev(settled) < 0.1


def test_one_late_frame_in_three_slows_the_beat_too() -> None:
    pacer = Pacer(TICK)
    _play(pacer, [0.020, 0.020, 0.050] * 12)
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


def test_the_quick_beat_is_tried_again_and_kept_where_it_holds() -> None:
    pacer = Pacer(TICK)
    begun = _play(pacer, [0.046] * 60)
    assert pacer.divider == 2
    begun = _play(pacer, [0.015] * 400, begun[-1] + 0.05)
    assert pacer.divider == 1
    seen = _intervals(begun)
    assert abs(statistics.mean(seen[-100:]) - 33) < 0.1


def test_where_it_fails_it_is_tried_ever_more_rarely() -> None:
    pacer = Pacer(TICK)
    tries, now, before = [], 0.0, 1
    while now < 900:
        due = pacer.begun(now)
        if before == 2 and pacer.divider == 1:
            tries.append(now)
        before = pacer.divider
        now = max(due, now + 0.050)
    waits = [round(b - a) for a, b in itertools.pairwise(tries)]
    assert waits[0] > FIRST_TRY and waits == sorted(waits) and LAST_TRY < waits[-1] < LAST_TRY + 5
    assert len(tries) < 10  # so that nearly all of the time is steady


def test_the_beat_has_a_floor() -> None:
    pacer = Pacer(TICK)
    _play(pacer, [0.5] * 15)
    assert pacer.divider <= SLOWEST
