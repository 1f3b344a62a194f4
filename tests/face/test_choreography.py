"""What the body does and when, over minutes of simulated idling and talking; and on a body that carries it out."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from idol.avatar import load_avatar
from idol.avatar.rig import ROW
from idol.face.behaviour import BehaviourMixer
from idol.face.choreography import ACKNOWLEDGE, BETWEEN_GESTURES, GESTURES, IDLE, POINT_OUT, Choreographer
from idol.seams import ARKIT_INDEX, EMOTIONS, GESTURE_LEAD, SAMPLE_RATE, BodyMotion, Emotion, FaceFrame, Weights
from tests.avatar.conftest import DATA
from tests.face.spoken import planned, spoken

FPS = 30
SPEECH = planned(spoken("maIpObafɑdɛmaIpObafɑdɛ"), fps=FPS)


def weights_at(frames: list[FaceFrame], seconds: float) -> Weights:
    return frames[int(seconds * FPS) % len(frames)].weights


def lived(
    seconds: float, *, seed: int = 7, fps: int = FPS, emotion: Emotion = "neutral",
    talk: tuple[float, float] = (0.0, 0.0), clause_seconds: float = 2.5,
) -> list[BodyMotion]:  # fmt: skip
    """Cues of a life in which she talks from ``talk[0]`` to ``talk[1]`` seconds."""
    body, out = Choreographer(seed), []
    for i in range(round(seconds * fps)):
        now = i / fps
        speaking = talk[0] <= now < talk[1]
        clause = int(now / clause_seconds) if speaking else -1
        ahead = weights_at(SPEECH, now + GESTURE_LEAD) if speaking else None
        out.append(body.step(1 / fps, emotion, speaking, clause, ahead))
    return out


def begun(cues: list[BodyMotion], fps: int = FPS) -> list[tuple[float, str]]:
    """When which gesture was asked for."""
    return [
        (i / fps, b.gesture) for i, (a, b) in enumerate(pairwise(cues), 1) if b.gesture_id != a.gesture_id and b.gesture
    ]


def test_nothing_is_asked_at_first() -> None:
    first = Choreographer().step(1 / 30, "neutral", False)
    assert first.gesture == "" and first.gesture_id == 1


@pytest.mark.parametrize("emotion", EMOTIONS)
def test_a_clause_s_emotion_shows_at_its_start(emotion: Emotion) -> None:
    found = begun(lived(6.0, emotion=emotion, talk=(1.0, 3.4)))
    assert len(found) == 1
    at, name = found[0]
    assert name in (GESTURES[emotion] or (ACKNOWLEDGE,)) and at == pytest.approx(1.0, abs=1.5 / FPS)


def test_gestures_of_speech_keep_their_distance() -> None:
    found = begun(lived(60.0, emotion="happy", talk=(1.0, 60.0), clause_seconds=1.1))
    gaps = np.diff([at for at, _ in found])
    assert len(found) > 8 and gaps.min() >= BETWEEN_GESTURES - 1e-6 and gaps.max() < 6.0
    assert {name for _, name in found} == set(GESTURES["happy"]), "not always the same one"


def test_a_long_neutral_reply_is_pointed_out_now_and_then() -> None:
    found = begun(lived(60.0, talk=(1.0, 60.0)))
    assert found[0][1] == ACKNOWLEDGE and {name for _, name in found[1:]} == {POINT_OUT}
    assert np.diff([at for at, _ in found]).min() > 7.9


def test_both_hands_take_part() -> None:
    beats = np.asarray([cue.beats for cue in lived(60.0, talk=(0.0, 60.0))]).max(axis=0)
    assert beats.min() > 0.4


def test_idle_moments_come_every_quarter_to_two_thirds_of_a_minute() -> None:
    found = begun(lived(600.0))
    gaps = np.diff([at for at, _ in found])
    assert gaps.min() > 14.9 and gaps.max() < 40.2
    assert {name for _, name in found} == set(IDLE)
    assert all(a != b for (_, a), (_, b) in pairwise(found))


def test_an_idle_moment_gives_way_to_words() -> None:
    cues = lived(40.0)
    at, name = begun(cues)[0]
    talking = lived(at + 3.0, talk=(at + 0.8, at + 3.0))
    assert begun(talking) == [(at, name)], "one gesture at a time: the nod would come too soon"
    after = talking[round((at + 0.9) * FPS)]
    assert after.gesture == "" and after.gesture_id == talking[round((at + 0.5) * FPS)].gesture_id + 1


def test_talking_hands_move_only_while_audio_sounds() -> None:
    cues = lived(30.0, talk=(5.0, 15.0))
    hands = np.asarray([cue.hands for cue in cues])
    assert not hands[: 5 * FPS].any()
    assert hands[5 * FPS : 15 * FPS].max() > 0.9
    assert not hands[16 * FPS :].any(), "down within a second of the last word"
    quiet = Choreographer()
    for _ in range(90):  # the mouth is shut: no stress, no beat
        still = quiet.step(1 / 30, "neutral", True, 1, np.zeros(52, np.float32))
    assert still.hands == (0.0, 0.0) and still.beats == (0.0, 0.0)


def test_a_beat_is_at_its_height_when_the_stressed_vowel_sounds() -> None:
    body, top = Choreographer(), 2.0

    def mouth(now: float) -> Weights:
        weights = np.zeros(52, np.float32)
        weights[ARKIT_INDEX["jawOpen"]] = 0.1 + 0.5 * math.exp(-(((now - top) / 0.08) ** 2))
        return weights

    beats = []
    for i in range(120):
        cue = body.step(1 / 30, "neutral", True, 1, mouth(i / 30 + GESTURE_LEAD))
        beats.append(max(cue.beats))
    assert max(beats) > 0.5
    assert int(np.argmax(beats)) / 30 == pytest.approx(top, abs=0.07)


def test_beats_are_neither_rare_nor_restless() -> None:
    cues = lived(60.0, talk=(0.0, 60.0))
    high = np.asarray([max(cue.beats) > 0.25 for cue in cues])
    strokes = int(np.count_nonzero(np.diff(high.astype(int)) == 1))
    assert 15 <= strokes <= 75
    beats = np.asarray([cue.beats for cue in cues])
    assert np.abs(np.diff(beats, axis=0)).max() * FPS < 8.0


def test_a_cut_lets_go_at_once() -> None:
    body = Choreographer()
    for i in range(30):
        cue = body.step(1 / 30, "happy", i > 3, 1 if i > 3 else -1)
    assert cue.gesture
    body.cut()
    after = body.step(1 / 30, "happy", False)
    assert after.gesture == "" and after.gesture_id == cue.gesture_id + 1
    later = [body.step(1 / 30, "happy", False) for _ in range(60)]
    assert all(c.gesture_id == after.gesture_id for c in later)


def test_long_thought_is_seen() -> None:
    body = Choreographer()
    cues = [body.step(1 / 30, "thinking", False) for _ in range(90)]
    (found,) = begun(cues)
    assert found[1] == "thinking" and found[0] > 1.0


def test_a_seed_fixes_everything_and_another_differs() -> None:
    one, two, other = (lived(90.0, seed=s, talk=(20.0, 40.0)) for s in (3, 3, 4))
    assert one == two
    assert one != other


def test_the_frame_rate_does_not_change_what_is_done() -> None:
    slow, fast = begun(lived(100.0)), begun(lived(100.0, fps=60), 60)
    assert [name for _, name in slow] == [name for _, name in fast]
    assert np.abs(np.asarray([a for a, _ in slow]) - [a for a, _ in fast]).max() < 0.1


def test_weight_changes_legs_softly_for_ever() -> None:
    weight = np.asarray([cue.weight for cue in lived(300.0)])
    assert np.abs(weight).max() <= 1.05 and weight.max() > 0.4 and weight.min() < -0.4
    assert np.abs(np.diff(weight)).max() * FPS < 2.0
    assert 15 <= np.count_nonzero(np.diff(np.sign(weight))) <= 90


@pytest.mark.parametrize("model", ["godette_vrm1.vrm"])
def test_five_minutes_of_idling_and_talking_without_a_snap(model: str) -> None:
    """The whole way from the mixer to the bones, with barge-in: no joint turns fast, no foot slides."""
    avatar = load_avatar(DATA / "models" / model)
    motion, rig = avatar.motion, avatar.motion.rig
    mixer, random = BehaviourMixer(5), np.random.default_rng(9)
    turns, hips, until, speaking, emotion, clause = [], [], 4.0, False, "neutral", 0
    for i in range(300 * FPS):
        now = i / FPS
        if now >= until:
            speaking = not speaking
            clause += 1
            emotion = EMOTIONS[int(random.integers(len(EMOTIONS)))]
            until = now + float(
                random.uniform(1.0, 6.0) if speaking else random.uniform(0.5, 45.0 if clause % 4 == 0 else 4.0)
            )
            if random.random() < 0.2:
                mixer.cut()
        mouth = weights_at(SPEECH, now) if speaking else None
        ahead = weights_at(SPEECH, now + GESTURE_LEAD) if speaking else None
        pose = mixer.mix(now, mouth, emotion, speaking, clause if speaking else -1, ahead)  # type: ignore[arg-type]
        body = motion.update(pose.motion, 1 / FPS)
        avatar._poser.apply(pose, body)
        turns.append(body.turns)
        hips.append(body.hips)
    whole = np.asarray(turns)
    angle = 2.0 * np.arccos(np.clip(np.abs((whole[1:] * whole[:-1]).sum(-1)), 0.0, 1.0)) * FPS
    assert angle.max() < 14.0, "radians per second"
    assert np.percentile(angle.max(axis=1), 50) < 1.0, "calm most of the time"
    quiet = angle.max(axis=1) > 1e-5
    assert quiet[FPS:].all(), "never frozen"
    _, places = rig.solve(whole, np.asarray(hips))
    for side in ("left", "right"):
        foot = places[:, ROW[f"{side}Foot"]] - rig.rest[ROW[f"{side}Foot"]]
        assert np.linalg.norm(foot, axis=1).max() < 0.005


def test_the_lead_is_what_the_show_looks_ahead() -> None:
    assert 0.1 < GESTURE_LEAD < 0.4 and round(GESTURE_LEAD * SAMPLE_RATE) == 5280
