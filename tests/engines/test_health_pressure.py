"""Pressure: hysteresis, dwell times and the memory budget, against a definition that looks at everything at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines.health import Band, Gauge, HealthSample, Pressure, default_reserve, low_water, memory_budget
from engines.health.pressure import standard_bands

GAP = 5.0
HIGH, LOW = 87.0, 80.0
RISE, FALL = 5.0, 10.0
BAND = Band("temperature", lambda sample: sample.temperature, HIGH, LOW, RISE, FALL)

values = st.none() | st.integers(70, 95)
steps = st.sampled_from([0.25, 0.5, 1.0, 1.0, 1.0, 2.0, 4.75, 5.0, 5.25, 40.0])
# Runs of one side are what dwell times are about; a plain list of values would hardly ever stay on one.
runs = st.lists(
    st.tuples(st.sampled_from([90, 87, 86, 83, 81, 80, 70, None]), st.integers(1, 14), steps), min_size=1, max_size=12
)
wavering = st.lists(st.tuples(values, st.just(1), steps), max_size=60)


def series(rows: list[tuple[int | None, int, float]]) -> list[HealthSample]:
    out, at = [], 100.0
    for value, count, step in rows:
        for _ in range(count):
            at += step
            out.append(HealthSample(at, at, "card", temperature=value))
    return out


def changes(samples: list[HealthSample], band: Band = BAND) -> list[Pressure]:
    gauge = Gauge(band, GAP)
    return [change for sample in samples if (change := gauge.update(sample)) is not None]


def by_definition(samples: list[HealthSample]) -> list[tuple[int, float, float]]:
    """(level, since, at): a change needs an unbroken stretch beyond the threshold, after the last change."""
    out: list[tuple[int, float, float]] = []
    level, first_allowed = 0, 0
    for end in range(len(samples)):
        for begin in range(first_allowed, end + 1):
            stretch = samples[begin : end + 1]
            there = all(
                s.temperature is not None and (s.temperature <= LOW if level else s.temperature >= HIGH)
                for s in stretch
            )
            unbroken = all(b.at - a.at <= GAP for a, b in pairwise(stretch))
            if there and unbroken and stretch[-1].at - stretch[0].at >= (FALL if level else RISE):
                level = 1 - level
                out.append((level, stretch[0].at, stretch[-1].at))
                first_allowed = end + 1
                break
    return out


@given(runs | wavering)
@example([(90, 6, 1.0), (70, 11, 1.0), (90, 6, 1.0)])  # each change falls on the last sample of its side
def test_changes_are_those_of_the_definition(rows: list[tuple[int | None, int, float]]) -> None:
    samples = series(rows)
    assert [(c.level, c.since, c.sample.at) for c in changes(samples)] == by_definition(samples)


@given(runs | wavering)
def test_at_most_one_change_in_a_dwell_time(rows: list[tuple[int | None, int, float]]) -> None:
    made = changes(series(rows))
    assert [c.level for c in made] == [1 - i % 2 for i in range(len(made))]
    for before, after in pairwise(made):
        assert after.sample.at - before.sample.at >= (RISE if after.level else FALL)


@given(st.lists(st.tuples(st.none() | st.integers(81, 86), st.integers(1, 9), steps), max_size=30))
def test_nothing_is_said_inside_the_band(rows: list[tuple[int | None, int, float]]) -> None:
    assert changes(series(rows)) == []
    hot = series([(90, 7, 1.0), *rows])
    assert [c.level for c in changes(hot)] == [1]


def test_flapping_says_nothing() -> None:
    assert changes(series([(95, 4, 1.0), (70, 1, 1.0)] * 200)) == []
    hot = series([(90, 7, 1.0)] + [(70, 9, 1.0), (95, 1, 1.0)] * 50)
    assert [c.level for c in changes(hot)] == [1]


def test_up_and_down_once_each_with_their_beginnings() -> None:
    up, down = changes(series([(60, 3, 1.0), (87, 30, 1.0), (80, 30, 1.0)]))
    assert (up.kind, up.level, up.since, up.sample.at) == ("temperature", 1, 104.0, 109.0)
    assert (down.level, down.since, down.sample.at) == (0, 134.0, 144.0)


def test_a_sleeping_machine_proves_nothing() -> None:
    assert changes(series([(90, 3, 1.0), (90, 1, 3600.0)])) == []
    assert [c.level for c in changes(series([(90, 3, 1.0), (90, 1, 3600.0), (90, 5, 1.0)]))] == [1]


@pytest.mark.parametrize(
    ("enter", "leave", "rise", "fall"), [(80, 80, 1, 1), (80, 81, 1, 1), (2, 1, -1, 1), (2, 1, 1, -1)]
)
def test_a_band_must_have_a_width(enter: float, leave: float, rise: float, fall: float) -> None:
    with pytest.raises(ValueError, match="leave must lie below enter"):
        Band("memory", lambda sample: 0.0, enter, leave, rise, fall)


CALM = HealthSample(
    0.0, 0.0, "card", temperature=60, throttles=("idle",), others_utilisation=5,
    memory_total=8 << 30, memory_free=4 << 30, memory_used=4 << 30,
)  # fmt: skip
LIMIT = low_water(8 << 30)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"memory_free": LIMIT}, "memory"),
        ({"memory_free": 0}, "memory"),
        ({"temperature": 87}, "temperature"),
        ({"throttles": ("thermal hardware", "power cap")}, "throttle"),
        ({"throttles": ("thermal software",)}, "throttle"),
        ({"throttles": ("power brake",)}, "throttle"),
        ({"others_utilisation": 60}, "compute"),
        ({"trouble": "GPU is lost"}, "lost"),
    ],
)
def test_each_trouble_raises_its_pressure_and_calm_ends_it(fields: dict[str, object], kind: str) -> None:
    gauges = [Gauge(band, GAP) for band in standard_bands()]

    def feed(sample: HealthSample, first: int, seconds: int) -> list[tuple[str, int]]:
        rows = [replace(sample, at=float(first + i)) for i in range(seconds)]
        return [(c.kind, c.level) for row in rows for gauge in gauges if (c := gauge.update(row)) is not None]

    assert feed(CALM, 0, 30) == []
    assert feed(replace(CALM, **fields), 30, 30) == [(kind, 1)]  # type: ignore[arg-type]
    assert feed(CALM, 60, 30) == [(kind, 0)]


@pytest.mark.parametrize(
    "fields",
    [
        {"memory_free": LIMIT + 1}, {"temperature": 86}, {"others_utilisation": 59}, {"throttles": ("power cap",)},
        {"memory_free": None, "temperature": None, "throttles": None, "others_utilisation": None},
    ],
)  # fmt: skip
def test_what_is_in_order_or_unknown_raises_none(fields: dict[str, object]) -> None:
    gauges = [Gauge(band, GAP) for band in standard_bands()]
    rows = [replace(CALM, at=float(at), **fields) for at in range(60)]  # type: ignore[arg-type]
    assert [gauge.update(row) for row in rows for gauge in gauges if gauge.update(row)] == []


def test_memory_is_calm_again_only_at_twice_the_limit() -> None:
    band = standard_bands()[0]
    full = [replace(CALM, at=float(i), memory_free=LIMIT) for i in range(10)]
    half = [replace(CALM, at=float(10 + i), memory_free=2 * LIMIT - 1) for i in range(60)]
    roomy = [replace(CALM, at=float(70 + i), memory_free=2 * LIMIT) for i in range(60)]
    assert [(c.level, c.sample.at) for c in changes(full + half + roomy, band)] == [(1, 2.0), (0, 85.0)]


def test_hot_and_cool_can_be_set() -> None:
    hot = [HealthSample(float(i), 0, "card", temperature=75) for i in range(9)]
    assert [c.level for c in changes(hot, standard_bands(hot=75, cool=70)[1])] == [1]


GIB = 1 << 30


@pytest.mark.parametrize(
    ("total", "free", "ours", "reserve", "budget"),
    [
        (8 * GIB, 8 * GIB, 0, GIB, 7 * GIB),
        (8 * GIB, 5 * GIB, 2 * GIB, GIB, 6 * GIB),  # what we hold already is ours to use
        (8 * GIB, 5 * GIB, None, GIB, 4 * GIB),  # Windows does not tell
        (8 * GIB, GIB // 2, 0, GIB, 0),
        (8 * GIB, 8 * GIB, GIB, GIB, 7 * GIB),  # never more than the card has
        (8 * GIB, 8 * GIB, 0, 0, 8 * GIB),
        (8 * GIB, 8 * GIB, 0, None, 8 * GIB - 8 * GIB * 8 // 100),
    ],
)
def test_the_budget(total: int, free: int, ours: int | None, reserve: int | None, budget: int) -> None:
    assert memory_budget(total, free, ours, reserve) == budget


@given(st.integers(1, 1 << 38), st.data())
def test_the_budget_leaves_the_reserve_and_never_goes_below_nothing(total: int, data: st.DataObject) -> None:
    free = data.draw(st.integers(0, total))
    ours = data.draw(st.integers(0, total - free))
    reserve = data.draw(st.none() | st.integers(0, total))
    budget = memory_budget(total, free, ours, reserve)
    kept = default_reserve(total) if reserve is None else reserve
    assert budget == max(0, free + ours - kept)
    assert memory_budget(total, free, None, reserve) <= budget


@pytest.mark.parametrize("figures", [(0, 0, 0, 0), (8, 9, 0, 0), (8, -1, 0, 0), (8, 8, -1, 0), (8, 8, 0, -1)])
def test_figures_of_no_card_are_refused(figures: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="no bytes of one card"):
        memory_budget(*figures)


def test_reserve_and_limit_of_known_cards() -> None:
    mib = 1 << 20
    assert [default_reserve(g * GIB) // mib for g in (4, 8, 16, 24, 140)] == [512, 655, 1310, 1966, 2048]
    assert [low_water(g * GIB) // mib for g in (4, 8, 12, 24, 140)] == [384, 384, 491, 983, 1024]
