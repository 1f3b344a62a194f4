"""What history keeps of a reply that was cut off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from idol.show.heard import PlacedClause, heard_text

CLAUSES = [
    PlacedClause(0, "Hello there, ", 0, 1000, "en"),
    PlacedClause(1, "how are you today?", 1000, 3000, "en"),
]


def test_whole_clauses_and_half_of_one() -> None:
    assert heard_text(CLAUSES, 0) == ""
    assert heard_text(CLAUSES, 1000) == "Hello there,"
    assert heard_text(CLAUSES, 2000) == "Hello there, how are"
    assert heard_text(CLAUSES, 5000) == "Hello there, how are you today?"


def test_chinese_is_cut_at_a_character() -> None:
    assert heard_text([PlacedClause(0, "你好世界", 0, 1000, "zh")], 500) == "你好"


@given(st.floats(-10, 4000))
def test_it_is_always_a_beginning_of_the_reply(ended_at: float) -> None:
    whole = "".join(clause.text for clause in CLAUSES)
    assert whole.startswith(heard_text(CLAUSES, ended_at))
