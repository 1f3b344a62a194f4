"""The frame clock's beat and sharpness: steady while frames begin in time, and steady at less while they do not."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable

from idol.ui.frame_clock import FIRST_TRY, LAST_TRY, SOFTWARE_STEPS, Pacer

TICK = 0.033


def _play(pacer: Pacer, costs: Iterable[float], now: float = 0.0) -> list[float]:
    """Draw frames of these ``costs`` one after the other; when each began, in seconds."""
    begun = []
    for cost in costs:
        begun.append(now)
        due = pacer.begun(now)
        pacer.drawn(cost)
        now = max(due, now + cost)
    return begun


def _play_pixels(pacer: Pacer, fixed: float, pixels: float, seconds: float, now: float = 0.0) -> list[float]:
    """As ``_play``, where a frame costs ``fixed`` and what its pixels cost."""
    begun, end = [], now + seconds
    while now < end:
        begun.append(now)
        due = pacer.begun(now)
        cost = fixed + pixels * pacer.step.detail
        pacer.drawn(cost)
        now = max(due, now + cost)
    return begun


def _intervals(begun: list[float]) -> list[float]:
    return [(b - a) * 1000 for a, b in itertools.pairwise(begun)]


def test_draws_that_fit_come_every_tick() -> None:
    pacer = Pacer(TICK)
    seen = _intervals(_play(pacer, [0.012, 0.032] * 300))
    assert pacer.step.divider == 1
    assert max(seen) - min(seen) < 1e-6


def test_draws_longer_than_a_tick_come_every_second_tick() -> None:
    pacer = Pacer(TICK)
    seen = _intervals(_play(pacer, [0.046, 0.052, 0.048, 0.060] * 40))
    assert pacer.step.divider == 2
    settled = seen[30:150]
    assert abs(statistics.mean(settled) - 66) < 0.1
    assert statistics.pstdev(settled) < 0.1


def test_one_late_frame_in_three_slows_the_beat_too() -> None:
    pacer = Pacer(TICK)
    _play(pacer, [0.020, 0.020, 0.050] * 12)
    assert pacer.step.divider == 2


def test_one_long_draw_is_late_once() -> None:
    pacer = Pacer(TICK)
    costs = [0.015] * 60
    costs[30] = 0.040
    begun = _play(pacer, costs)
    assert pacer.step.divider == 1
    assert abs(begun[31] - begun[30] - 0.040) < 1e-9
    assert abs(begun[32] - 32 * TICK) < 1e-9


def test_a_stall_is_not_made_up_for() -> None:
    pacer = Pacer(TICK)
    begun = _play(pacer, [0.010, 0.300, 0.010, 0.010])
    assert min(b - a for a, b in itertools.pairwise(begun)) > 0.02


def test_the_quick_beat_is_tried_again_and_kept_where_it_holds() -> None:
    pacer = Pacer(TICK)
    begun = _play(pacer, [0.046] * 60)
    assert pacer.step.divider == 2
    begun = _play(pacer, [0.015] * 400, begun[-1] + 0.05)
    assert pacer.step.divider == 1
    seen = _intervals(begun)
    assert abs(statistics.mean(seen[-100:]) - 33) < 0.1


def test_where_frames_cost_too_much_it_is_not_even_tried() -> None:
    pacer = Pacer(TICK)
    begun = _play(pacer, [0.050] * 2000)
    assert max(_intervals(begun)[60:]) - min(_intervals(begun)[60:]) < 1e-6


def test_a_try_that_fails_is_made_ever_more_rarely() -> None:
    pacer = Pacer(TICK)
    tries, now, before = [], 0.0, 1
    while now < 900:
        due = pacer.begun(now)
        if before == 2 and pacer.step.divider == 1:
            tries.append(now)
        before = pacer.step.divider
        pacer.drawn(0.020)  # a frame is cheap, and begins late all the same
        now = max(due, now + (0.020 if before == 2 else 0.050))
    waits = [round(b - a) for a, b in itertools.pairwise(tries)]
    assert FIRST_TRY < waits[0] < LAST_TRY and waits == sorted(waits) and LAST_TRY < waits[-1] < LAST_TRY + 5
    assert len(tries) < 10  # so that nearly all of the time is steady


def test_the_beat_has_a_floor() -> None:
    pacer = Pacer(TICK, SOFTWARE_STEPS)
    _play(pacer, [0.5] * 150)
    assert pacer.step == SOFTWARE_STEPS[-1]


def test_pixels_are_given_up_before_the_beat() -> None:
    pacer = Pacer(TICK, SOFTWARE_STEPS)
    begun = _play_pixels(pacer, 0.010, 0.030, 8)
    assert pacer.step.divider == 1 and pacer.step.detail < 1
    assert sum(value > 34 for value in _intervals(begun)) <= 3


def test_a_load_on_the_machine_costs_three_late_frames_and_its_end_brings_the_sharpness_back() -> None:
    pacer = Pacer(TICK, SOFTWARE_STEPS)
    begun = _play_pixels(pacer, 0.025, 0.030, 20)
    assert pacer.step.divider == 2 and pacer.step.detail == 1.0
    begun = _play_pixels(pacer, 0.035, 0.052, 20, begun[-1] + 2 * TICK)
    assert pacer.step.divider == 2 and pacer.step.detail < 1
    assert sum(value > 67 for value in _intervals(begun)) <= 3
    begun = _play_pixels(pacer, 0.015, 0.030, 12, begun[-1] + 2 * TICK)
    assert pacer.step.divider == 2 and pacer.step.detail == 1.0
    assert sum(value > 67 for value in _intervals(begun)) == 0


def test_frames_that_are_late_for_other_reasons_keep_their_pixels() -> None:
    pacer = Pacer(TICK, SOFTWARE_STEPS)
    now, seen = 0.0, set()
    for number in range(200):
        due = pacer.begun(now)
        seen.add((pacer.step.divider, pacer.step.detail))
        pacer.drawn(0.010)
        # Half of the beginnings come 15 ms late, whatever is drawn: another thread holds the lock.
        now = due + (0.015 if number % 2 else 0.0)
    assert seen == {(1, 1.0), (2, 1.0)}


def test_from_the_slow_beat_the_way_back_keeps_all_pixels_where_they_fit() -> None:
    pacer = Pacer(TICK, SOFTWARE_STEPS)
    begun = _play_pixels(pacer, 0.025, 0.030, 8)
    assert pacer.step.divider == 2
    seen = set()
    now = begun[-1] + 2 * TICK
    for _ in range(1500):
        due = pacer.begun(now)
        seen.add((pacer.step.divider, pacer.step.detail))
        pacer.drawn(0.012)
        now = due
    assert pacer.step.divider == 1 and seen <= {(1, 1.0), (2, 1.0)}
