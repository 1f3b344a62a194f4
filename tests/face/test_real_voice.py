"""The mouth beside the real voice, measured: closures, teeth, rounding, smoothness and agreement with the sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from idol.face.metrics import (
    ClosureScore,
    closure_score,
    jaw_lag,
    jitter,
    labiodental_recall,
    largest_step,
    rounding_recall,
)  # fmt: skip
from idol.face.planner import RulePlanner
from idol.seams import LANGUAGES, Clause, FaceFrame, Language, Speech

pytestmark = pytest.mark.models

LINES: dict[Language, tuple[str, ...]] = {
    "en": (
        "Maybe my baby puppy jumped up and bumped the big lamp.",
        "Very few of the old leaves have fallen off the roof.",
        "I practiced my favorite song, but the stream was over before I began.",
    ),
    "zh": ("爸爸妈妈买了八个苹果和面包。", "祝你生日快乐，不要忘了吃饭！"),
    "ja": (
        "パンとバナナをいっぱい食べました。",
        "窓のそばで猫が遊んでいます。",
        "明日もまた見に来てくださいね。",
        "私は歌うことが大好きです。",
    ),
}
VOICES: dict[Language, str] = {"en": "af_heart", "zh": "zf_xiaobei", "ja": "jf_alpha"}


@pytest.fixture(scope="module")
def spoken_lines(model_path: Callable[[str], Path]) -> Iterator[dict[Language, list[tuple[Speech, list[FaceFrame]]]]]:
    from engines.models.kokoro import KokoroEngine
    from idol.voice import KokoroVoice

    engine = KokoroEngine(model_path("kokoro"), threads=2)
    engine.load()
    voice = KokoroVoice(engine)
    made: dict[Language, list[tuple[Speech, list[FaceFrame]]]] = {}
    for language in LANGUAGES:
        made[language] = []
        for index, line in enumerate(LINES[language]):
            speech = voice.speak(Clause(1, index, line, "neutral", language), VOICES[language])
            assert speech is not None
            made[language].append((speech, RulePlanner().plan(speech, 0, "neutral")))
    engine.close()
    yield made


Lines = dict[Language, list[tuple[Speech, list[FaceFrame]]]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_lips_meet_on_p_b_m(language: Language, spoken_lines: Lines) -> None:
    total = ClosureScore(0, 0, (), 0)
    for speech, frames in spoken_lines[language]:
        total = total + closure_score(speech, frames)
    assert total.phones >= 5
    assert total.recall >= 0.95
    assert total.false_closures == 0
    assert total.timing_error_ms <= 20


def test_teeth_on_f_and_v(spoken_lines: Lines) -> None:
    counts = np.sum([labiodental_recall(speech, frames) for speech, frames in spoken_lines["en"]], axis=0)
    assert counts[0] >= 8 and counts[1] / counts[0] >= 0.95


@pytest.mark.parametrize("language", LANGUAGES)
def test_lips_round(language: Language, spoken_lines: Lines) -> None:
    counts = np.sum([rounding_recall(speech, frames) for speech, frames in spoken_lines[language]], axis=0)
    assert counts[0] >= 3 and counts[1] / counts[0] >= 0.9


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_jaw_agrees_with_the_sound(language: Language, spoken_lines: Lines) -> None:
    """A mouth 0 to 60 ms early, never later than 20: lags of the jaw behind the sound's first formant."""
    lags, agreements = zip(*[jaw_lag(speech, frames) for speech, frames in spoken_lines[language]], strict=True)
    assert -0.06 <= np.median(lags) <= 0.02
    assert np.median(agreements) > 0.4


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_mouth_flows(language: Language, spoken_lines: Lines) -> None:
    for speech, frames in spoken_lines[language]:
        assert largest_step(frames) < 0.5, speech.spoken
        assert jitter(frames) < 0.15, speech.spoken
        weights = np.stack([frame.weights for frame in frames])
        assert weights.min() >= 0 and weights.max() <= 1
