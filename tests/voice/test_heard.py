"""Whisper base writes down what she says. The full count is ``python -m tests.voice.hear``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from idol.seams import LANGUAGES, Clause, Language
from idol.settings import VoiceSettings
from idol.voice import KokoroVoice
from tests.voice.hear import TARGETS, Listener, distance, hear_language, lines
from tests.voice.lines import PERSON_HEARD, PERSON_LINE


@pytest.fixture(scope="module")
def listener(model_path: Callable[[str], Path]) -> Listener:
    return Listener(model_path("whisper-base"))


def test_distance() -> None:
    assert distance("kitten", "sitting") == 3
    assert distance("", "abc") == 3
    assert distance(["a", "b"], ["a", "b"]) == 0


@pytest.mark.models
@pytest.mark.parametrize("language", LANGUAGES)
def test_lines_are_understood(voice: KokoroVoice, listener: Listener, language: Language) -> None:
    chosen = lines(language)[5:9]
    score, _, _ = hear_language(voice, listener, language, VoiceSettings().name_for(language), chosen)
    assert score.units > 30
    assert score.rate <= TARGETS[language], f"{score.edits} of {score.units}"


@pytest.mark.models
def test_signs_are_said_as_a_person_would(voice: KokoroVoice, listener: Listener) -> None:
    speech = voice.speak(Clause(0, 0, PERSON_LINE, "happy", "en"), "af_heart")
    assert speech is not None
    heard = listener.hear(speech.samples, "en").lower()
    for pattern in PERSON_HEARD:
        assert re.search(pattern, heard), heard
    for forbidden in ("asterisk", "slash", "http", "emoji", "question", "wave", "point 50"):
        assert forbidden not in heard
    assert len(heard.split()) < 18, heard
