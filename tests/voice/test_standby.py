"""Faults put into a voice: the clause is said by the spare."""

from __future__ import annotations

import numpy as np
import pytest

from engines.errors import EngineFailure, ModelFileError, SessionFailure
from engines.trt.flavours import TensorRTError
from idol.seams import Clause, Language, RuntimeInfo, Speech, Synthesiser
from idol.voice.standby import StandbySynthesiser

CLAUSE = Clause(1, 0, "Hello there.", "neutral", "en")


class ToneVoice:
    """Says a constant; breaks with ``error`` on clause ``at``, or takes ``seconds`` of the clock for it."""

    def __init__(
        self, level: float, at: int = -1, error: Exception | None = None, seconds: float = 0.0, bad: float | None = None
    ) -> None:
        self.level, self.at, self.error, self.seconds, self.bad = level, at, error, seconds, bad
        self.clauses = 0
        self.now = 0.0
        self.closed = False

    @property
    def info(self) -> RuntimeInfo:
        return RuntimeInfo("voice", f"runtime {self.level}", "tone")

    def voices(self, language: Language | None = None) -> tuple[str, ...]:
        return ("tone",)

    def speak(self, clause: Clause, voice: str, speed: float = 1.0) -> Speech | None:
        number, self.clauses = self.clauses, self.clauses + 1
        level = self.level
        if number == self.at:
            self.now += self.seconds
            if self.error is not None:
                raise self.error
            level = level if self.bad is None else self.bad
        return Speech(1, clause.index, np.full(2400, level, np.float32), (), "en", clause.text, 0.0)

    def close(self) -> None:
        self.closed = True


def levels(voice: Synthesiser, clauses: int = 4) -> list[float]:
    found = []
    for _ in range(clauses):
        speech = voice.speak(CLAUSE, "tone")
        assert speech is not None and speech.spoken == CLAUSE.text
        found.append(round(float(speech.samples[0]), 3))
    return found


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("error", [SessionFailure("the kernel broke"), TensorRTError("lost")])
def test_the_failed_clause_is_said_by_the_spare(at: int, error: Exception) -> None:
    first, spare = ToneVoice(0.1, at, error), ToneVoice(0.2)
    voice = StandbySynthesiser(first, lambda: spare)
    switches: list[tuple[str, str]] = []
    voice.on_failure(lambda old, new, why: switches.append((old.runtime, new.runtime)))
    assert levels(voice) == [0.1] * at + [0.2] * (4 - at)
    assert first.closed and switches == [("runtime 0.1", "runtime 0.2")] and voice.info == spare.info
    voice.close()
    assert spare.closed


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_sound_that_is_not_a_number_is_not_played(bad: float) -> None:
    assert levels(StandbySynthesiser(ToneVoice(0.1, 1, bad=bad), lambda: ToneVoice(0.2))) == [0.1, 0.2, 0.2, 0.2]


def test_a_refusal_is_no_failure() -> None:
    first = ToneVoice(0.1, 0, ModelFileError("There is no voice 'x'."))
    voice = StandbySynthesiser(first, lambda: ToneVoice(0.2))
    with pytest.raises(ModelFileError):
        levels(voice)
    assert levels(voice) == [0.1] * 4


def test_a_spare_that_cannot_be_loaded() -> None:
    def load() -> ToneVoice:
        raise OSError("the file is gone")

    first = ToneVoice(0.1, 1, EngineFailure("broke"))
    voice = StandbySynthesiser(first, load)
    with pytest.raises(EngineFailure, match=r"tone failed \(broke\).*the file is gone"):
        levels(voice)
    assert levels(voice, 2) == [0.1, 0.1] and not first.closed  # the next clause finds it alive


def test_the_spare_fails_too() -> None:
    voice = StandbySynthesiser(
        ToneVoice(0.1, 0, EngineFailure("one")), ToneVoice(0.2, 0, EngineFailure("two")), ToneVoice(0.3)
    )
    assert levels(voice) == [0.3] * 4
    with pytest.raises(EngineFailure, match="it has no spare"):
        levels(StandbySynthesiser(ToneVoice(0.1, 0, EngineFailure("one"))))


@pytest.mark.parametrize(("seconds", "after"), [(9.9, 0.1), (10.1, 0.2)])
def test_a_slow_clause_is_used_and_the_next_one_is_the_spares(seconds: float, after: float) -> None:
    slow = ToneVoice(0.1, 1, seconds=seconds)
    voice = StandbySynthesiser(slow, lambda: ToneVoice(0.2), clock=lambda: slow.now)
    assert levels(voice) == [0.1, 0.1, after, after]


def test_a_slow_voice_stays_where_there_is_nothing_better() -> None:
    slow = ToneVoice(0.1, 1, seconds=60)
    assert levels(StandbySynthesiser(slow, clock=lambda: slow.now)) == [0.1] * 4


def test_another_voice_takes_over_between_two_clauses() -> None:
    first, second = ToneVoice(0.1), ToneVoice(0.2)
    voice = StandbySynthesiser(first)
    assert levels(voice, 1) == [0.1]
    voice.replace(second)
    assert levels(voice, 1) == [0.2] and first.closed
    assert isinstance(voice, Synthesiser)
