"""How much of a reply was heard when it was cut off.

Clauses are placed on the speech axis; the text of the clause that was cut is shortened in proportion to the sound, at
a word border (at a character for Chinese and Japanese, which have none).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from idol.seams import Language


@dataclass(frozen=True, slots=True)
class PlacedClause:
    """A clause and its sound on the speech axis, [first, end) in samples."""

    index: int
    text: str
    first: int
    end: int
    language: Language


def heard_text(clauses: Sequence[PlacedClause], ended_at: float) -> str:
    """What was audible of ``clauses`` when the sound ended at ``ended_at``."""
    parts = []
    for clause in clauses:
        if ended_at >= clause.end:
            parts.append(clause.text)
            continue
        if ended_at > clause.first:
            share = (ended_at - clause.first) / (clause.end - clause.first)
            parts.append(_shorten(clause.text, share, clause.language))
        break
    return "".join(parts).strip()


def _shorten(text: str, share: float, language: Language) -> str:
    cut = int(len(text) * share)
    if language == "en" and cut < len(text) and not text[cut].isspace():
        cut = text.rfind(" ", 0, cut) + 1
    return text[:cut]
