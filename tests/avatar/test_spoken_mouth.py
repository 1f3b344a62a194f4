"""The mapping from the 52 to visemes, measured on her own speech.

``spoken_mouths.json`` holds the mouth of four recorded sentences at 30 frames a second (``say TEXT --face F``) and the
frames in which both lips meet; their number and order are those of the p, b and m of the text.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.avatar.arkit import OCULUS, VISEMES, oculus, visemes
from idol.seams import ARKIT_INDEX

HELD = json.loads((Path(__file__).parent / "spoken_mouths.json").read_text(encoding="utf-8"))
TRACKS = HELD["tracks"]
CLOSED_GAP, OPEN_GAP = 0.6, 2.0
"""Millimetres between the lips of Godette, whose "aa" is 23 mm: closed to the eye, and plainly open."""
every_track = pytest.mark.parametrize("track", TRACKS, ids=lambda track: track["text"])


def faces(track: dict[str, Any]) -> NDArray[np.float32]:
    """(frames, 52)."""
    out = np.zeros((len(track["frames"]), 52), np.float32)
    out[:, [ARKIT_INDEX[name] for name in HELD["names"]]] = track["frames"]
    return out


def between(track: dict[str, Any]) -> list[slice]:
    """The frames of what is spoken between two closures, without those next to them."""
    runs = track["closures"]
    return [slice(a[1] + 1, b[0]) for a, b in pairwise(runs)]


@every_track
def test_lips_meet_at_each_closure_and_part_between(track: dict[str, Any]) -> None:
    opened = np.asarray([visemes(face).sum() for face in faces(track)])
    for first, last in track["closures"]:
        assert opened[first : last + 1].min() < 0.005, (first, last)
        assert opened[first : last + 1].max() < 0.06, (first, last)
    for span in between(track):
        assert opened[span].max() > 0.25, span


def test_labiodentals_leave_a_slit_only() -> None:
    # "Five": the lower lip is rolled in at both ends of the word.
    track = next(track for track in TRACKS if track["text"].startswith("Five"))
    held = faces(track)
    for frame in np.flatnonzero(held[:, ARKIT_INDEX["mouthRollLower"]] > 0.55):
        assert 0.0 < visemes(held[frame]).sum() < 0.15


@pytest.mark.parametrize(
    ("text", "frame", "most"),
    [
        ("Bob may", 4, "aa"), ("Bob may", 18, "aa"), ("Bob may", 37, "ih"), ("Five", 6, "aa"), ("Five", 23, "ou"),
        ("Five", 54, "ou"), ("Five", 62, "ih"), ("Five", 72, "aa"), ("爸", 35, "aa"), ("ママ", 10, "aa"),
    ],
)  # fmt: skip
def test_vowels_find_their_viseme(text: str, frame: int, most: str) -> None:
    track = next(track for track in TRACKS if track["text"].startswith(text))
    found = visemes(faces(track)[frame])
    assert VISEMES[int(found.argmax())] == most, found.round(2)
    assert found.sum() > 0.3


def gaps(godette: Avatar) -> NDArray[np.float64]:
    """Millimetres between the lips' middles that each viseme adds, measured on the morphs of the mesh."""
    primitive = godette.data.primitives[0]
    moved = np.zeros((len(VISEMES), len(primitive.positions)))
    for row, name in enumerate(VISEMES):
        for bind in godette.data.expressions[name].morphs:
            target = primitive.targets[bind.index]
            moved[row, target.vertices] += bind.weight * target.positions[:, 1]
    middle = np.abs(primitive.positions[:, 0]) < 0.004
    upper = middle & (moved[0] > 0.5 * moved[0].max())
    lower = middle & (moved[0] < 0.5 * moved[0].min())
    assert upper.sum() >= 3
    assert lower.sum() >= 3
    found: NDArray[np.float64] = (moved[:, upper].mean(axis=1) - moved[:, lower].mean(axis=1)) * 1000
    return found


@every_track
def test_the_lips_of_a_mesh_close_within_a_frame_and_open_on_vowels(godette: Avatar, track: dict[str, Any]) -> None:
    by_viseme = gaps(godette)
    assert 15.0 < by_viseme[0] < 30.0
    gap = np.asarray([visemes(face) @ by_viseme for face in faces(track)])
    for first, last in track["closures"]:
        assert gap[max(first - 1, 0) : last + 2].min() < 0.05
        assert gap[first : last + 1].max() < CLOSED_GAP
    for span in between(track):
        assert gap[span].max() > OPEN_GAP


@every_track
def test_oculus_visemes_close_the_lips_as_well(track: dict[str, Any]) -> None:
    found = np.asarray([oculus(face) for face in faces(track)])
    assert found.min() >= 0.0
    assert found.sum(axis=1).max() <= 1.0 + 1e-6
    closed, open_ = found[:, OCULUS.index("viseme_PP")], found[:, OCULUS.index("viseme_aa") :].sum(axis=1)
    for first, last in track["closures"]:
        assert closed[first : last + 1].max() > 0.9
        assert open_[first : last + 1].min() < 0.005
    for span in between(track):
        assert closed[span].min() < 0.4
        assert open_[span].max() > 0.25


def test_oculus_visemes_tell_consonants_apart() -> None:
    def found(**weights: float) -> str:
        face = np.zeros(52, np.float32)
        for name, weight in weights.items():
            for side in ("",) if name in ARKIT_INDEX else ("Left", "Right"):
                face[ARKIT_INDEX[name + side]] = weight
        return OCULUS[int(oculus(face).argmax())]

    assert found(jawOpen=0.09, mouthRollLower=0.59, mouthUpperUp=0.22) == "viseme_FF"
    assert found(jawOpen=0.05, mouthStretch=0.16, mouthLowerDown=0.23, mouthUpperUp=0.1) == "viseme_SS"
    assert found(jawOpen=0.08, mouthFunnel=0.5, mouthPucker=0.25, mouthUpperUp=0.1) == "viseme_CH"
    assert found(jawOpen=0.15, mouthLowerDown=0.15, tongueOut=0.3) == "viseme_TH"
    assert found(jawOpen=0.12, mouthClose=0.12, mouthPress=0.35) == "viseme_PP"
    assert found(jawOpen=0.12, mouthPucker=0.7, mouthFunnel=0.3) == "viseme_U"
    assert found(jawOpen=0.45, mouthFunnel=0.7, mouthPucker=0.2) == "viseme_O"
    assert oculus(np.zeros(52, np.float32)).max() < 1e-3
