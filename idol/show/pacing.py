"""When may the first clause of a reply start to sound?

On a slow machine the second clause may not be ready when the first has been played, and the listener hears a hole in
the middle of a sentence. So the first clause is held back while the time the next one still needs is longer than the
sound at hand. All rates are measured as the show runs; on a fast machine nothing is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from idol.seams import Language

_FASTEST_GROWTH = 1.8
"""Longer clauses sound better; more than this makes no difference to the ear."""


@dataclass(slots=True)
class Rates:
    """Measured speed of this machine, as exponential means. Seconds throughout."""

    seconds_per_token: float = 0.02
    speech_fixed_seconds: float = 0.1
    """Work per clause that does not depend on its length (Kokoro's leading pad, phonemes)."""
    work_per_speech_second: float = 0.35
    speech_seconds_per_token: float = 0.3
    tokens_per_clause: float = 10.0
    speech_seconds_per_letter: dict[Language, float] = field(
        default_factory=lambda: {"en": 0.065, "zh": 0.2, "ja": 0.14}
    )

    def learn_decode(self, tokens: int, seconds: float) -> None:
        if tokens > 0 and seconds > 0:
            self.seconds_per_token += 0.3 * (seconds / tokens - self.seconds_per_token)

    def learn_synthesis(self, speech_seconds: float, work_seconds: float) -> None:
        if speech_seconds > 0:
            rate = max(0.0, work_seconds - self.speech_fixed_seconds) / speech_seconds
            self.work_per_speech_second += 0.3 * (rate - self.work_per_speech_second)

    def learn_text(self, text: str, language: Language, speech_seconds: float) -> None:
        letters = _letters(text)
        if letters:
            known = self.speech_seconds_per_letter[language]
            self.speech_seconds_per_letter[language] += 0.2 * (speech_seconds / letters - known)

    def learn_clause(self, tokens: float, speech_seconds: float) -> None:
        if tokens > 0:
            self.speech_seconds_per_token += 0.2 * (speech_seconds / tokens - self.speech_seconds_per_token)
            self.tokens_per_clause += 0.2 * (tokens - self.tokens_per_clause)

    @property
    def clause_growth(self) -> float:
        """How much longer each clause may be than the one before: what is playing must cover the work on the next."""
        load = self.seconds_per_token / self.speech_seconds_per_token + self.work_per_speech_second
        return min(_FASTEST_GROWTH, max(1.0, 0.9 / load))

    def synthesis_seconds(self, tokens: float) -> float:
        """Expected work for a clause of ``tokens``."""
        return self.speech_fixed_seconds + tokens * self.speech_seconds_per_token * self.work_per_speech_second

    def text_synthesis_seconds(self, text: str, language: Language) -> float:
        """Expected work for a clause whose text is known."""
        speech = _letters(text) * self.speech_seconds_per_letter[language]
        return self.speech_fixed_seconds + speech * self.work_per_speech_second

    def next_clause_seconds(self, tokens_so_far: int) -> float:
        """Expected time until the clause now being decoded is sound, ``tokens_so_far`` of it being decoded."""
        length = max(self.tokens_per_clause, tokens_so_far + 1.0)
        return (length - tokens_so_far) * self.seconds_per_token + self.synthesis_seconds(length)


def _letters(text: str) -> int:
    return sum(character.isalnum() for character in text)


def may_start(held_seconds: float, needed_seconds: float, held_for: float, patience: float = 1.0) -> bool:
    """True when ``held_seconds`` of sound bridge ``needed_seconds`` of work, with a tenth to spare.

    ``held_for`` seconds already waited: after ``patience`` the clause starts anyway, since waiting longer is worse than
    a pause at a clause border.
    """
    return held_for >= patience or held_seconds >= needed_seconds * 1.1


def start_delay(held_seconds: float, needed_seconds: float, most: float = 1.2) -> float:
    """Seconds the held sound must still wait so that ``needed_seconds`` of work end first; at most ``most``."""
    return min(most, max(0.0, needed_seconds * 1.1 - held_seconds))
