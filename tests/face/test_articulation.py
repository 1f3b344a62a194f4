"""The mouth's table and the reading of symbols: every sound of three languages has a mouth, and the right kind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idol.face import articulation as art
from idol.face.phones import segments_of, viseme_of
from idol.seams import ARKIT_INDEX, ARKIT_NAMES, LANGUAGES, Language, PhonemeSpan
from tests.face.spoken import spoken

MISAKI = {
    "en": "bdfhjklmnpstvwzɡŋɹʃʒðθʤʧəiuɑɔɛɜɪʊʌAIWYᵊæOQaɒTᵻ",
    "zh": "pmftnlkxʨɕꭧʂɻsʦʰaoeiuyɤɛəɨʊŋɥwj",
    "ja": "kstnhmjrwɡzdbpɴaioeɯuʨʥɕçɸʦʣʔɲfɾvq",
}
"""Symbols of misaki's routes for Kokoro (its EN_PHONES, zh transcription and pyopenjtalk tables)."""


def test_the_52_names_are_apples_in_apples_order() -> None:
    assert len(ARKIT_NAMES) == 52 and len(set(ARKIT_NAMES)) == 52
    assert [ARKIT_INDEX[name] for name in ARKIT_NAMES] == list(range(52))
    # Places of Apple's order that tell the groupings apart (left eye, right eye, jaw, mouth, brows, cheeks, nose).
    places = {"eyeBlinkLeft": 0, "eyeWideLeft": 6, "eyeBlinkRight": 7, "jawForward": 14, "jawOpen": 17}
    places |= {"mouthClose": 18, "mouthUpperUpRight": 40, "browDownLeft": 41, "cheekPuff": 46, "tongueOut": 51}
    assert {name: ARKIT_INDEX[name] for name in places} == places


def test_targets_and_dominances_are_within_bounds() -> None:
    assert art.TARGETS.min() >= 0 and art.TARGETS.max() <= 1
    assert art.ALPHAS.min() >= 0 and art.ALPHAS.max() <= 1
    covered = sorted(channel for group in art.GROUPS for channel in group)
    assert covered == list(range(len(art.CHANNELS)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_symbol_of_the_voice_has_a_mouth(language: Language) -> None:
    modifiers = "ʰ"
    missing = [s for s in MISAKI[language] if s not in modifiers and viseme_of(s, language) is None]
    assert not missing


@pytest.mark.models
def test_every_sounding_symbol_of_the_vocabulary_has_a_mouth(model_path) -> None:  # type: ignore[no-untyped-def]
    vocabulary = json.loads((Path(model_path("kokoro")) / "vocab.json").read_text(encoding="utf-8"))
    symbols = vocabulary.get("vocab", vocabulary)
    silent = set(';:,.!?—…"()“” \u0303ʲʰˈˌːᵝ→↓↗↘') | {"ᵝ"}
    missing = [symbol for symbol in symbols if symbol not in silent and viseme_of(symbol, "en") is None]
    assert not missing, "symbols that would move no lip"


def test_the_same_symbol_is_another_mouth_in_another_language() -> None:
    assert viseme_of("f", "en") == "FF" and viseme_of("f", "ja") == "PHI"  # ふ has no teeth
    assert viseme_of("w", "en") == "W" and viseme_of("w", "ja") == "W_JA"
    assert viseme_of("u", "zh") == "oo" and viseme_of("u", "ja") == "u_ja"
    assert viseme_of("ɨ", "zh") == "buzz"


def test_marks_widen_their_sound_and_leave_no_holes() -> None:
    segments = segments_of(spoken([("ˈ", 0.05), ("ɑ", 0.1), ("ː", 0.05), ("t", 0.05), ("ʰ", 0.04)]).spans, "en")
    assert [(s.viseme, round(s.start, 2), round(s.end, 2)) for s in segments] == [("aa", 0, 0.2), ("DD", 0.2, 0.29)]
    assert segments[0].stress == 2


def test_a_diphthong_is_two_mouths() -> None:
    segments = segments_of(spoken([("I", 0.2)]).spans, "en")
    assert [s.viseme for s in segments] == ["aa", "ih_lax"]
    assert 0.5 < segments[0].seconds / 0.2 < 0.65


def test_japanese_moraic_nasal_closes_before_a_labial_only() -> None:
    assert {s.kind for s in segments_of(spoken("ɴp", "ja").spans, "ja")} == {"closure"}
    assert [s.viseme for s in segments_of(spoken("ɴk", "ja").spans, "ja")] == ["NN_MORA", "KK"]


def test_geminate_holds_the_closure_that_follows() -> None:
    (segment,) = segments_of(spoken("ʔp", "ja").spans, "ja")
    assert segment.kind == "closure" and segment.seconds == pytest.approx(0.16)


def test_devoiced_vowels_hardly_open() -> None:
    segments = segments_of(spoken("desu", "ja").spans, "ja")
    assert segments[-1].viseme == "u_ja_quiet"
    assert art.VISEMES["u_ja_quiet"].targets[art.JAW] <= 0.05


SPANS = st.lists(st.tuples(st.text(max_size=3), st.integers(0, 5000), st.integers(-100, 5000)), max_size=12)


@given(SPANS, st.sampled_from(LANGUAGES))
def test_any_spans_are_read_without_failing(spans: list[tuple[str, int, int]], language: Language) -> None:
    at, made = 0, []
    for symbol, gap, length in spans:
        made.append(PhonemeSpan(symbol, at + gap, at + gap + length))
        at += gap + max(0, length)
    for segment in segments_of(made, language):
        assert segment.end > segment.start and segment.viseme in art.VISEMES
        assert np.isfinite(segment.seconds)
