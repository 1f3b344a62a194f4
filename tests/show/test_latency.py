"""Statistics and rows of the latency book."""

from __future__ import annotations

import pytest

from idol.show.latency import LatencyBook, TurnRecord, percentile, stage_summaries, summarise


def test_statistics_are_the_usual_ones() -> None:
    summary = summarise([float(n) for n in range(1, 101)])
    assert summary.median == 50.5
    assert summary.p95 == pytest.approx(95.05)
    assert summary.p99 == pytest.approx(99.01)
    assert summary.sd == pytest.approx(29.011, abs=1e-3)
    assert percentile([3.0], 0.99) == 3.0
    with pytest.raises(ValueError, match="no values"):
        summarise([])


def test_a_stage_counts_once_and_only_if_known() -> None:
    row = TurnRecord(1, "hi", "chat", received_at=10.0)
    row.reach("first_token", 10.25)
    row.reach("first_token", 11.0)
    assert row.stages == {"first_token": 250.0}
    with pytest.raises(ValueError, match="unknown stage"):
        row.reach("lunch", 11.0)


def test_the_book_forgets_the_oldest_and_sums_up_what_was_reached() -> None:
    book = LatencyBook(keep=2)
    for index in range(3):
        row = TurnRecord(index, "hi", "chat", received_at=0.0)
        row.reach("understand", 0.001 * index)
        book.add(row)
    assert [row.turn_id for row in book.rows] == [1, 2]
    assert set(stage_summaries(book.rows)) == {"understand"}
    assert book.last is not None and book.last.document()["stages"] == {"understand": 2.0}
