"""Alive between words: blinks, eyes, breath, sway and moods, over minutes of simulated time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from idol.face.behaviour import BehaviourMixer, blink_shape
from idol.face.metrics import CLOSED_GAP, lip_gap
from idol.seams import ARKIT_INDEX, EMOTIONS, FRAME_SECONDS, Emotion, FacePose, Weights
from tests.face.spoken import planned, spoken

BLINK = ARKIT_INDEX["eyeBlinkLeft"]


def lived(
    seconds: float, *, seed: int = 7, fps: float = 30.0, emotion: Emotion = "neutral", speaking: bool = False,
    speech: Callable[[float], Weights | None] = lambda now: None,
) -> list[FacePose]:  # fmt: skip
    mixer = BehaviourMixer(seed)
    return [mixer.mix(i / fps, speech(i / fps), emotion, speaking) for i in range(round(seconds * fps))]


def series(poses: list[FacePose], name: str) -> np.ndarray:
    return np.array([pose.weights[ARKIT_INDEX[name]] for pose in poses])


def blinks_per_minute(poses: list[FacePose], fps: float = 30.0) -> float:
    shut = series(poses, "eyeBlinkLeft") > 0.5
    return float(np.count_nonzero(np.diff(shut.astype(int)) == 1)) / (len(poses) / fps / 60)


@pytest.mark.parametrize("seed", [1, 2])
def test_blink_rate_at_rest_is_within_doughtys_range(seed: int) -> None:
    """8 to 21 blinks a minute in primary gaze (Doughty); 17 at rest (Bentivoglio 1997)."""
    assert 8 <= blinks_per_minute(lived(300, seed=seed)) <= 21


@pytest.mark.parametrize("seed", [1, 2])
def test_blink_rate_in_conversation(seed: int) -> None:
    """10.5 to 32.5 in conversation (Doughty); 26 (Bentivoglio 1997); more than at rest."""
    speaking = blinks_per_minute(lived(300, seed=seed, speaking=True))
    assert 10.5 <= speaking <= 32.5
    assert speaking > blinks_per_minute(lived(300, seed=seed))


def test_blinks_are_irregular_and_symmetric() -> None:
    poses = lived(300)
    starts = np.flatnonzero(np.diff((series(poses, "eyeBlinkLeft") > 0.5).astype(int)) == 1) / 30
    intervals = np.diff(starts)
    assert intervals.std() / intervals.mean() > 0.4, "near-Poisson, not a metronome"
    assert np.abs(series(poses, "eyeBlinkLeft") - series(poses, "eyeBlinkRight")).max() < 0.05


def test_a_blink_shuts_twice_as_fast_as_it_opens() -> None:
    """Trutoiu et al. 2011: fast down, slow up, 0.2 to 0.35 s in all."""
    times = np.arange(0, 0.5, 0.001)
    lid = np.array([blink_shape(t) for t in times])
    shut = times[lid > 0.99]
    closing, opening = shut[0], times[lid > 0.005][-1] - shut[-1]
    assert lid.max() == pytest.approx(1.0) and 1.5 < opening / closing < 3.0
    assert 0.2 < times[lid > 0.005][-1] < 0.35
    assert np.abs(np.diff(lid)).max() < 0.05
    assert blink_shape(-1) == 0 and blink_shape(9) == 0


def test_saccades_are_quick_and_fixations_still() -> None:
    """25 ms + 2.4 ms a degree, at least 150 ms apart, 90 % under 15 degrees (Lee, Badler & Badler 2002)."""
    poses = lived(120, fps=200)
    gaze = np.degrees(np.array([pose.gaze for pose in poses]))
    speed = np.hypot(*np.diff(gaze, axis=0).T) * 200
    moving = speed > 5
    edges = np.diff(np.concatenate(([0], moving.astype(int), [0])))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    sizes = np.hypot(*(gaze[np.minimum(ends, len(gaze) - 1)] - gaze[starts]).T)
    assert len(starts) / 2 > 15, "eyes that move at least every four seconds"
    assert np.diff(starts).min() / 200 > 0.15
    assert np.percentile(sizes, 90) < 15 and sizes.max() < 27.5
    large = sizes > 4
    lengths = (ends - starts)[large] / 200
    assert (lengths < 0.025 + 0.0024 * sizes[large] + 0.011).all()
    assert 100 < speed.max() < 900


@pytest.mark.parametrize("speaking", [False, True])
def test_she_looks_at_the_viewer_most_of_the_time_but_not_always(speaking: bool) -> None:
    gaze = np.degrees(np.array([pose.gaze for pose in lived(300, speaking=speaking)]))
    facing = float((np.hypot(*gaze.T) < 4).mean())
    assert 0.6 < facing < 0.97


def test_thinking_looks_up_and_shyness_down() -> None:
    assert np.mean([p.gaze[1] for p in lived(60, emotion="thinking")]) > math.radians(2)
    assert np.mean([p.gaze[1] for p in lived(60, emotion="shy")]) < -math.radians(1)


def test_breathing_rate_and_shape() -> None:
    """12 to 20 a minute at rest, in faster than out."""
    breath = np.array([pose.breath for pose in lived(120)])
    assert breath.min() >= 0 and breath.max() <= 1 and np.ptp(breath) > 0.5
    rising = np.diff(breath) > 0
    assert 12 <= np.count_nonzero(np.diff(rising.astype(int)) == 1) / 2 <= 20
    assert 0.3 < rising.mean() < 0.5


@pytest.mark.parametrize("emotion", EMOTIONS)
@pytest.mark.parametrize("speaking", [False, True])
def test_head_and_body_sway_within_bounds_and_never_freeze(emotion: Emotion, speaking: bool) -> None:
    speech = planned(spoken("maIpObafɑdɛ"), fps=30)
    poses = lived(
        40, emotion=emotion, speaking=speaking,
        speech=lambda now: speech[int(now * 30) % len(speech)].weights if speaking else None,
    )  # fmt: skip
    head = np.degrees(np.array([pose.head for pose in poses]))
    body = np.degrees(np.array([pose.body for pose in poses]))
    assert np.abs(head).max() < 20 and np.abs(body).max() < 6
    assert np.abs(np.diff(head, axis=0)).max() * 30 < 60, "degrees per second"
    for second in range(1, 40):  # in every second something of her moves that a viewer can see
        stretch = slice((second - 1) * 30, second * 30)
        assert np.ptp(head[stretch], axis=0).max() > 0.15
    weights = np.stack([pose.weights for pose in poses])
    assert (np.abs(np.diff(weights, axis=0)).max(axis=1) > 0).all()


def test_a_seed_fixes_everything() -> None:
    one, two, other = lived(30, seed=5), lived(30, seed=5), lived(30, seed=6)
    assert all(np.array_equal(a.weights, b.weights) and a.gaze == b.gaze for a, b in zip(one, two, strict=True))
    assert any(a.gaze != b.gaze for a, b in zip(one, other, strict=True))


def test_the_frame_rate_does_not_change_what_is_seen() -> None:
    slow, fast = lived(20, fps=30, emotion="happy"), lived(20, fps=60, emotion="happy")
    for name in ("mouthSmileLeft", "browInnerUp"):
        assert np.abs(series(slow, name) - series(fast, name)[::2]).max() < 0.02
    breath = np.array([p.breath for p in slow]) - np.array([p.breath for p in fast[::2]])
    assert np.abs(breath).max() < 0.1


@pytest.mark.parametrize("emotion", [emotion for emotion in EMOTIONS if emotion != "neutral"])
def test_moods_blend_in_and_out_without_a_pop(emotion: Emotion) -> None:
    mixer, now, poses = BehaviourMixer(), 0.0, []
    eyes = [ARKIT_INDEX[f"{name}{side}"] for name in ("eyeBlink", "eyeWide", "eyeSquint") for side in ("Left", "Right")]
    for mood, seconds in (("neutral", 2.0), (emotion, 2.0), ("neutral", 2.0)):
        for _ in range(round(seconds * 30)):
            poses.append(mixer.mix(now, None, mood, False).weights)  # type: ignore[arg-type]
            now += FRAME_SECONDS
    weights = np.delete(np.stack(poses), eyes, axis=1)
    assert np.abs(np.diff(weights, axis=0)).max() < 0.15
    before, during, after = weights[50:58].mean(0), weights[110:118].mean(0), weights[-8:].mean(0)
    assert np.abs(during - before).max() > 0.08, "nobody sees this mood"
    assert np.abs(after - before).max() < 0.06


def test_moods_are_told_apart() -> None:
    faces = {emotion: lived(3, emotion=emotion)[-1].weights for emotion in EMOTIONS}
    for one in EMOTIONS:
        for other in EMOTIONS:
            if one < other:
                assert np.abs(faces[one] - faces[other]).sum() > 0.3, f"{one} looks like {other}"


@pytest.mark.parametrize("emotion", EMOTIONS)
@pytest.mark.parametrize("symbol", ["p", "b", "m"])
def test_no_mood_opens_lips_that_meet(symbol: str, emotion: Emotion) -> None:
    speech = spoken([("a", 0.15), (symbol, 0.07), ("a", 0.15)])
    (closed,) = [f.weights for f in planned(speech, emotion=emotion) if f.at == 4200]
    assert lip_gap(closed) <= CLOSED_GAP
    mixer = BehaviourMixer()
    for index in range(90):
        pose = mixer.mix(index / 30, closed, emotion, True)
    assert lip_gap(pose.weights) <= CLOSED_GAP
    assert pose.weights[ARKIT_INDEX["mouthClose"]] <= pose.weights[ARKIT_INDEX["jawOpen"]] + 1e-6
    assert pose.weights[ARKIT_INDEX["mouthSmileLeft"]] < 0.45


def test_a_smile_leaves_room_for_rounding() -> None:
    speech = spoken([("t", 0.05), ("u", 0.2), ("t", 0.05)])
    rounded = planned(speech, emotion="happy")[18].weights
    mixer = BehaviourMixer()
    for index in range(60):
        pose = mixer.mix(index / 30, rounded, "happy", True)
    smile, pucker = pose.weights[ARKIT_INDEX["mouthSmileLeft"]], pose.weights[ARKIT_INDEX["mouthPucker"]]
    assert pucker > 0.5 and smile < 0.2


def test_without_speech_the_mouth_rests() -> None:
    for emotion in EMOTIONS:
        assert all(lip_gap(pose.weights) <= 0.12 for pose in lived(3, emotion=emotion))


def test_a_stopped_clock_a_leap_and_nonsense_times_do_no_harm() -> None:
    mixer = BehaviourMixer()
    for now in (0.0, 0.0, 0.03, 3600.0, 10.0, 3600.1, float("inf"), 3601.0, float("nan"), 3602.0, 3602.03):
        pose = mixer.mix(now, None, "happy", False)
        assert np.isfinite(pose.weights).all() and np.isfinite(pose.head).all() and np.isfinite(pose.gaze).all()
        assert pose.weights.min() >= 0 and pose.weights.max() <= 1


def test_the_pose_is_handed_over() -> None:
    mixer = BehaviourMixer()
    first = mixer.mix(0.0, None, "happy", False)
    kept = first.weights.copy()
    for index in range(1, 30):
        mixer.mix(index / 30, None, "happy", False)
    assert np.array_equal(first.weights, kept)
