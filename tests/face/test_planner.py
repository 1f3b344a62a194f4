"""What a viewer sees of made-up speech: lips that meet, teeth, rounding, flow, and a mouth that shuts in silence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from idol.face.metrics import CLOSED_GAP, between, largest_step, lip_gap
from idol.face.planner import RulePlanner
from idol.seams import ARKIT_INDEX, EMOTIONS, FRAME_SECONDS, SAMPLE_RATE, Emotion, Language, Speech
from tests.face.spoken import planned, spoken


def weights_at(speech: Speech, seconds: float, emotion: Emotion = "neutral") -> NDArray[np.float32]:
    return between(planned(speech, emotion=emotion), np.array([seconds]), SAMPLE_RATE)[0]


def value(weights: NDArray[np.float32], *names: str) -> float:
    return float(sum(weights[ARKIT_INDEX[name]] for name in names))


def gap_at(speech: Speech, seconds: float, emotion: Emotion = "neutral") -> float:
    return float(lip_gap(weights_at(speech, seconds, emotion)))


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
@pytest.mark.parametrize("symbol", ["p", "b", "m"])
@pytest.mark.parametrize("vowel", ["a", "o", "i"])
def test_lips_meet_between_open_vowels_and_part_again(symbol: str, vowel: str, language: Language) -> None:
    speech = spoken([(vowel, 0.15), (symbol, 0.07), (vowel, 0.2), ("d", 0.05)], language)
    middle = weights_at(speech, 0.15 + 0.35 * 0.07)
    assert lip_gap(middle) <= CLOSED_GAP
    assert value(middle, "mouthClose") <= value(middle, "jawOpen") + 1e-6, "mouthClose means nothing beyond the jaw"
    assert gap_at(speech, 0.07) > 0.1 and gap_at(speech, 0.32) > 0.1


@pytest.mark.parametrize("emotion", EMOTIONS)
def test_no_mood_keeps_lips_apart(emotion: Emotion) -> None:
    speech = spoken([("a", 0.12), ("p", 0.06), ("a", 0.12)])
    assert gap_at(speech, 0.14, emotion) <= CLOSED_GAP


def test_fast_labials_close_at_thirty_frames_a_second() -> None:
    """Kokoro's phonemes last two of its frames, 1.5 of ours: no closure may fall between two pictures."""
    for shift in np.arange(0.0, FRAME_SECONDS, 0.004):
        speech = spoken([("a", 0.1 + shift), ("b", 0.05), ("a", 0.1)])
        frames = RulePlanner().plan(speech, 0, "neutral")
        gaps = lip_gap(np.stack([frame.weights for frame in frames]))
        at = np.array([frame.at for frame in frames]) / SAMPLE_RATE
        near = (at > 0.1 + shift - 0.02) & (at < 0.15 + shift + 0.02)
        assert gaps[near].min() <= CLOSED_GAP, f"missed with the closure at {0.1 + shift:.3f} s"


def test_a_last_labial_does_not_eat_the_vowel_before_it() -> None:
    """The last sound's span runs on through the silence behind it; contact ends with the sound and begins in time."""
    speech = spoken([("t", 0.05), ("i", 0.2), ("m", 0.09), (".", 0.4)])
    spans = (*speech.spans[:2], type(speech.spans[2])("m", speech.spans[2].start, speech.spans[3].end))
    long = Speech(1, 0, speech.samples, spans, "en", "", 0.1)
    assert gap_at(long, 0.15) > 0.1
    assert gap_at(long, 0.29) <= CLOSED_GAP


@pytest.mark.parametrize("symbol", ["f", "v"])
def test_lower_lip_meets_the_teeth(symbol: str) -> None:
    speech = spoken([("a", 0.15), (symbol, 0.08), ("a", 0.15)])
    middle = weights_at(speech, 0.18)
    assert value(middle, "mouthRollLower") > 0.45 and value(middle, "mouthUpperUpLeft") > 0.15
    assert value(middle, "mouthClose") < 0.02 and value(middle, "jawOpen") < 0.12


def test_rounding_of_u_o_w_and_none_elsewhere() -> None:
    def rounding(symbol: str, language: Language = "en") -> float:
        speech = spoken([("t", 0.06), (symbol, 0.16), ("t", 0.06)], language)
        return value(weights_at(speech, 0.12), "mouthPucker", "mouthFunnel")

    assert min(rounding("u"), rounding("w"), rounding("o"), rounding("y", "zh")) > 0.5
    assert max(rounding("i"), rounding("a"), rounding("ɛ")) < 0.1
    assert 0.1 < rounding("u", "ja") < 0.45, "compressed, not protruded"


def test_rounding_starts_before_the_vowel_and_passes_through_consonants() -> None:
    """Lip rounding is anticipated (Cohen & Massaro 1993): the t of "tu" is already round, the t of "ti" is not."""

    def rounding(vowel: str) -> float:
        return value(weights_at(spoken([("i", 0.12), ("t", 0.06), (vowel, 0.15)]), 0.16), "mouthPucker")

    assert rounding("u") > rounding("i") + 0.15


def test_vowels_differ() -> None:
    names = ("jawOpen", "mouthPucker", "mouthFunnel", "mouthStretchLeft")
    shapes = {}
    for vowel in "aiuɛo":
        weights = weights_at(spoken([("t", 0.05), (vowel, 0.18), ("t", 0.05)]), 0.13)
        shapes[vowel] = np.array([value(weights, name) for name in names])
    for one in shapes:
        for other in shapes:
            if one < other:
                assert np.abs(shapes[one] - shapes[other]).max() > 0.12, f"{one} looks like {other}"
    jaw = {vowel: shape[0] for vowel, shape in shapes.items()}
    assert jaw["a"] > jaw["ɛ"] > jaw["i"] and jaw["a"] > jaw["o"] > jaw["u"]
    assert shapes["i"][3] > 0.2 > shapes["u"][3]


def test_sibilants_narrow_the_jaw() -> None:
    assert value(weights_at(spoken([("a", 0.12), ("s", 0.09), ("a", 0.12)]), 0.16), "jawOpen") <= 0.11


def test_stress_and_loudness_open_the_jaw() -> None:
    plain, stressed = spoken([("t", 0.06), ("a", 0.12), ("t", 0.06)]), spoken([("t", 0.06), ("ˈa", 0.12), ("t", 0.06)])
    assert value(weights_at(stressed, 0.11), "jawOpen") > value(weights_at(plain, 0.11), "jawOpen") + 0.02


def test_silence_closes_the_mouth_within_120_ms() -> None:
    speech = spoken([("t", 0.06), ("a", 0.2), (".", 0.5), ("a", 0.2), (".", 0.4)])
    for silent_from in (0.26, 0.96):
        mouth = weights_at(speech, silent_from + 0.12)[14:41]
        assert mouth.max() < 0.02
    assert gap_at(speech, 0.5) < 0.02


def test_a_span_that_swallows_silence_does_not_hold_the_mouth_open() -> None:
    sound = spoken([("a", 0.2), (".", 0.5)])
    spans = (type(sound.spans[0])("a", 0, len(sound.samples)),)
    assert gap_at(Speech(1, 0, sound.samples, spans, "ja", "", 0.1), 0.2 + 0.12) < 0.02


def test_a_word_gap_keeps_the_mouth_as_it_is() -> None:
    speech = spoken([("a", 0.15), (" ", 0.045), ("a", 0.15)])
    assert gap_at(speech, 0.17) > 0.25


def test_nothing_pops_in_a_clause_nor_at_its_borders() -> None:
    planner = RulePlanner()
    frames, first = [], 0
    for text in ("ðɪsɪzəbɪɡmæp.", "papapamamama", "fuvufuvuwiwiwa.", "aaa", "maIpOba."):
        speech = spoken(text, step=0.06)
        frames += planner.plan(speech, first, "neutral")
        first += len(speech.samples)
    times = np.array([frame.at for frame in frames])
    assert (np.diff(times) > 0).all()
    assert np.diff(times).max() <= 1.5 * FRAME_SECONDS * SAMPLE_RATE
    # Lips shut and open within 60 to 80 ms, so a weight may go half its way in a frame, not more.
    assert largest_step(frames) < 0.5


def test_finer_frames_show_smooth_curves() -> None:
    """At 120 frames a second no weight changes by more than 0.16: 60 ms for the quickest full movement."""
    assert largest_step(planned(spoken("ðɪsɪzəbɪɡmæpfuvuwiwapaba", step=0.06))) < 0.16


def test_a_new_turn_forgets_the_last() -> None:
    planner, speech = RulePlanner(), spoken("aaaa")
    planner.plan(speech, 0, "neutral")
    planner.reset()
    again = planner.plan(speech, len(speech.samples), "neutral")
    assert lip_gap(again[0].weights) < lip_gap(again[3].weights)


def test_the_frame_times_are_on_the_speech_axis() -> None:
    speech = spoken("patata")
    frames = RulePlanner().plan(speech, 100_000, "neutral")
    assert frames[0].at == 100_000
    assert frames[-1].at < 100_000 + len(speech.samples) <= frames[-1].at + FRAME_SECONDS * SAMPLE_RATE + 1
    assert len(frames) == int(np.ceil(speech.seconds * 30 - 1e-9))


def test_the_same_seed_gives_the_same_frames() -> None:
    speech = spoken("maIpOba.")
    one, two = planned(speech), planned(speech)
    assert all(np.array_equal(a.weights, b.weights) for a, b in zip(one, two, strict=True))


@settings(max_examples=40, deadline=None)
@given(
    st.text(alphabet="pbmfvszʃtdnlkɡɹwjaiueoɛəAIOWYˈˌː ,.→ʰ?❓", max_size=25),
    st.floats(0.0, 0.3),
    st.sampled_from(EMOTIONS),
    st.sampled_from(["en", "zh", "ja"]),
)
def test_weights_are_always_within_bounds(text: str, step: float, emotion: Emotion, language: Language) -> None:
    for frame in RulePlanner().plan(spoken(text, language, step=step), 0, emotion):
        assert frame.weights.shape == (52,) and frame.weights.dtype == np.float32
        assert np.isfinite(frame.weights).all() and frame.weights.min() >= 0 and frame.weights.max() <= 1


def test_sound_without_symbols_and_symbols_without_sound() -> None:
    silent = Speech(1, 0, np.zeros(24000, np.float32), spoken("papa").spans, "en", "", 0.1)
    assert max(float(lip_gap(frame.weights)) for frame in planned(silent)) < 0.01
    wordless = Speech(1, 0, spoken("aaaa").samples, (), "en", "", 0.1)
    assert len(planned(wordless)) > 30
    assert planned(Speech(1, 0, np.zeros(0, np.float32), (), "en", "", 0.1)) == []


def test_broken_samples_do_not_reach_the_face() -> None:
    speech = spoken("papa")
    samples = speech.samples.copy()
    samples[1000:1100] = np.nan
    for frame in planned(Speech(1, 0, samples, speech.spans, "en", "", 0.1)):
        assert np.isfinite(frame.weights).all()
