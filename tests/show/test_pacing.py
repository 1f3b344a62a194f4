"""Pacing: how long clauses may be, and when the first may start, from the measured speed of the machine."""

from __future__ import annotations

import pytest

from idol.show.pacing import Rates, may_start, start_delay


def test_clauses_grow_on_a_fast_machine_and_stay_short_on_a_slow_one() -> None:
    fast = Rates(seconds_per_token=0.004, speech_seconds_per_token=0.25, work_per_speech_second=0.02)
    slow = Rates(seconds_per_token=0.1, speech_seconds_per_token=0.25, work_per_speech_second=0.55)
    assert fast.clause_growth == 1.8
    assert slow.clause_growth == 1.0
    between = Rates(seconds_per_token=0.05, speech_seconds_per_token=0.25, work_per_speech_second=0.4)
    assert between.clause_growth == pytest.approx(0.9 / 0.6)


@pytest.mark.parametrize("load", [0.5, 0.6, 0.75, 0.9])
def test_what_plays_covers_the_work_on_what_comes(load: float) -> None:
    """With clauses that grow by ``clause_growth``, each is ready before the one before it has been played."""
    rates = Rates(seconds_per_token=load * 0.125, speech_seconds_per_token=0.25, work_per_speech_second=load / 2)
    clause, ready, sounding = 1.0, 0.0, 0.0
    for _ in range(6):
        ready += clause * load  # the worker goes from one clause straight to the next
        assert ready <= max(sounding, clause * load) + 1e-9
        sounding = max(sounding, ready) + clause
        clause *= rates.clause_growth


def test_rates_are_learned_from_what_was_measured() -> None:
    rates = Rates()
    for _ in range(30):
        rates.learn_decode(20, 2.0)
        rates.learn_synthesis(2.0, 1.2)
        rates.learn_clause(8, 2.0)
    assert rates.seconds_per_token == pytest.approx(0.1, rel=0.01)
    assert rates.work_per_speech_second == pytest.approx(0.55, rel=0.01)
    assert rates.clause_growth == 1.0
    before = rates.seconds_per_token
    rates.learn_decode(0, 1.0)
    rates.learn_synthesis(0.0, 1.0)
    assert rates.seconds_per_token == before


def test_a_first_clause_waits_only_while_that_helps() -> None:
    assert may_start(2.0, 1.5, 0.0)
    assert not may_start(1.0, 1.5, 0.0)
    assert may_start(1.0, 1.5, 1.0)  # patience is over
    assert start_delay(2.0, 1.0) == 0.0
    assert start_delay(1.0, 1.5) == pytest.approx(0.65)
    assert start_delay(0.0, 9.0) == 1.2
