"""The measures themselves: they find a good mouth good and a broken one broken."""

from __future__ import annotations

import numpy as np
import pytest

from idol.face.metrics import closure_score, jaw_lag, jitter, labiodental_recall, largest_step, lip_gap, rounding_recall
from idol.seams import ARKIT_INDEX, SAMPLE_RATE, FaceFrame
from tests.face.spoken import planned, spoken

SPEECH = spoken([("t", 0.1), ("a", 0.2), ("p", 0.08), ("a", 0.2), ("f", 0.09), ("u", 0.2), ("b", 0.08), ("a", 0.2)])


def still(jaw: float, close: float = 0.0) -> list[FaceFrame]:
    weights = np.zeros(52, np.float32)
    weights[ARKIT_INDEX["jawOpen"]], weights[ARKIT_INDEX["mouthClose"]] = jaw, close
    return [FaceFrame(at, weights) for at in range(0, len(SPEECH.samples), 800)]


def test_lip_gap_of_known_faces() -> None:
    def gap(**values: float) -> float:
        weights = np.zeros(52, np.float32)
        for name, value in values.items():
            weights[ARKIT_INDEX[name]] = value
        return float(lip_gap(weights))

    assert gap() == 0
    assert gap(jawOpen=0.5) == pytest.approx(0.5)
    assert gap(jawOpen=0.5, mouthClose=0.5) == 0
    assert gap(jawOpen=0.3, mouthClose=0.3, mouthFunnel=0.5) == pytest.approx(0.1)
    assert gap(mouthUpperUpLeft=0.4, mouthUpperUpRight=0.4) == pytest.approx(0.1)
    assert gap(mouthRollLower=1.0, mouthRollUpper=1.0) == 0


def test_a_good_mouth_scores_full() -> None:
    score = closure_score(SPEECH, planned(SPEECH, fps=30))
    assert (score.phones, score.reached, score.recall) == (2, 2, 1.0)
    assert score.false_closures == 0
    assert len(score.timing) == 2 and score.timing_error_ms < 25


def test_a_mouth_that_never_shuts_scores_nothing() -> None:
    score = closure_score(SPEECH, still(0.4))
    assert score.phones == 2 and score.recall == 0.0


def test_a_mouth_that_never_opens_is_found_out() -> None:
    score = closure_score(SPEECH, still(0.4, 0.4))
    assert score.recall == 1.0 and score.false_closures > 0


def test_a_late_mouth_shows_in_timing() -> None:
    late = [FaceFrame(frame.at + round(0.03 * SAMPLE_RATE), frame.weights) for frame in planned(SPEECH)]
    moved, straight = closure_score(SPEECH, late), closure_score(SPEECH, planned(SPEECH))
    assert np.mean(moved.timing) - np.mean(straight.timing) == pytest.approx(0.03, abs=0.006)


def test_scores_add_up_and_an_empty_one_is_neutral() -> None:
    score = closure_score(SPEECH, planned(SPEECH))
    assert (score + score).phones == 4 and (score + score).recall == 1.0
    vowels = spoken("aiu")
    assert closure_score(vowels, planned(vowels)).recall == 1.0


def test_teeth_and_rounding() -> None:
    assert labiodental_recall(SPEECH, planned(SPEECH)) == (1, 1)
    assert rounding_recall(SPEECH, planned(SPEECH)) == (1, 1)
    assert labiodental_recall(SPEECH, still(0.3)) == (1, 0)
    assert rounding_recall(SPEECH, still(0.3)) == (1, 0)


def test_pops_and_jitter_are_found() -> None:
    frames = planned(SPEECH, fps=30)
    trembling = [
        FaceFrame(frame.at, np.clip(frame.weights + (0.3 if i % 2 else 0.0), 0, 1).astype(np.float32))
        for i, frame in enumerate(frames)
    ]
    assert jitter(trembling) > 2 * jitter(frames)
    popped = [*frames[:10], FaceFrame(frames[10].at, np.ones(52, np.float32)), *frames[11:]]
    assert largest_step(popped) > 0.8
    assert largest_step(frames[:1]) == 0 and jitter(frames[:15]) == 0


def test_too_little_sound_has_no_lag() -> None:
    assert jaw_lag(spoken("a"), planned(spoken("a"))) == (0.0, 0.0)
