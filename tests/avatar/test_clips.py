"""glTF animations as plain data: the files of the test data, and clips made here with every kind of key."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from idol.avatar import AvatarError
from idol.avatar.clips import Clip, read_clips
from idol.avatar.container import parse_container, read_container
from tests.avatar.conftest import DATA

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "f4": 5126}
KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


def clips_of(
    times: list[float],
    values: Any,
    path: str = "translation",
    width: int = 3,
    form: str = "f4",
    interpolation: str | None = None,
    change: dict[str, Any] | None = None,
) -> list[Clip]:
    """A document with one clip of one channel on node 0, as the loader reads it."""
    stored = np.asarray(values, "<" + form).reshape(-1, width)
    data = np.asarray(times, "<f4").tobytes() + stored.tobytes()
    sampler: dict[str, Any] = {"input": 0, "output": 1}
    if interpolation:
        sampler["interpolation"] = interpolation
    document: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "nodes": [{}],
        "buffers": [{"byteLength": len(data), "uri": "data:x;base64," + base64.b64encode(data).decode()}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 4 * len(times)},
            {"buffer": 0, "byteOffset": 4 * len(times), "byteLength": stored.nbytes},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(times), "type": "SCALAR"},
            {
                "bufferView": 1, "componentType": COMPONENTS[form], "count": len(stored), "type": KINDS[width],
                "normalized": form != "f4",
            },
        ],
        "animations": [
            {"name": "clip", "samplers": [sampler], "channels": [{"sampler": 0, "target": {"node": 0, "path": path}}]}
        ],
    }  # fmt: skip
    document["animations"][0].update(change or {})
    return read_clips(parse_container(json.dumps(document).encode()))


def test_an_idle_loop_reads_whole() -> None:
    (clip,) = read_clips(read_container(DATA / "animations" / "idle_loop.vrma"))
    assert (clip.name, len(clip.channels)) == ("animation", 28)
    assert clip.duration == pytest.approx(10.375082969665527)
    for channel in clip.channels:
        assert channel.interpolation == "LINEAR"
        assert channel.values.shape == (len(channel.times), {"rotation": 4, "translation": 3}[channel.path])
        assert channel.times.dtype == channel.values.dtype == np.float32
        if channel.path == "rotation":
            assert np.linalg.norm(channel.values, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_weights_are_split_by_morph() -> None:
    (clip,) = read_clips(read_container(DATA / "models" / "AnimatedMorphCube.glb"))
    (channel,) = clip.channels
    assert (channel.path, channel.values.shape) == ("weights", (127, 2))
    assert channel.values[0] == pytest.approx([0, 0]) and channel.values.max() == pytest.approx(1, abs=0.01)


def test_a_spline_keeps_its_tangents_and_integers_are_decoded() -> None:
    values = np.arange(2 * 3 * 3, dtype=np.float32).reshape(2, 3, 3)
    (clip,) = clips_of([0, 1], values, interpolation="CUBICSPLINE")
    assert clip.channels[0].values == pytest.approx(values)
    weights = np.arange(2 * 3 * 2, dtype=np.float32)
    (clip,) = clips_of([0, 1], weights, "weights", 1, interpolation="CUBICSPLINE")
    assert clip.channels[0].values == pytest.approx(weights.reshape(2, 3, 2))
    (clip,) = clips_of([0, 2], [[0, 0, 0, 32767], [0, -32768, 0, 0]], "rotation", 4, "i2", "STEP")
    assert clip.channels[0].interpolation == "STEP"
    assert clip.channels[0].values == pytest.approx(np.asarray([[0, 0, 0, 1], [0, -1, 0, 0]], np.float32))
    (clip,) = clips_of([0, 2], [0, 255], "weights", 1, "u1")
    assert clip.channels[0].values[:, 0] == pytest.approx([0, 1])


def test_times_strictly_rise_and_rotations_have_unit_length() -> None:
    (clip,) = clips_of([0, 1, 1, 2], [[0, 0, 0], [1, 0, 0], [5, 0, 0], [6, 0, 0]])
    assert clip.channels[0].times == pytest.approx([0, 1, 2])
    assert clip.channels[0].values[:, 0] == pytest.approx([0, 5, 6])
    (clip,) = clips_of([0, 1], [[0, 0, 0, 0], [0, 2, 0, 0]], "rotation", 4)
    assert clip.channels[0].values == pytest.approx(np.asarray([[0, 0, 0, 1], [0, 1, 0, 0]], np.float32))


def test_what_cannot_be_played_here_is_left_out() -> None:
    moved = {"channels": [{"sampler": 0, "target": {"path": "translation"}}]}
    assert clips_of([0], [[1, 2, 3]], change=moved)[0].channels == ()
    moved = {"channels": [{"sampler": 0, "target": {"node": 0, "path": "pointer"}}]}
    assert clips_of([0], [[1, 2, 3]], change=moved) == [Clip("clip", 0.0, ())]
    assert read_clips(parse_container(b'{"asset": {"version": "2.0"}}')) == []


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"times": [0, 1], "values": [[1, 2, 3]]}, r"animations\[0\]\.samplers\[0\].*2 key times, but 1 values"),
        ({"times": [1, 0], "values": [[1, 2, 3]] * 2}, "run backwards"),
        ({"times": [-1, 0], "values": [[1, 2, 3]] * 2}, "negative"),
        ({"times": [], "values": []}, "no keys"),
        ({"times": [0], "values": [[float("nan"), 2, 3]]}, "not finite"),
        ({"times": [0], "values": [[1, 2, 3]], "interpolation": "BEZIER"}, "BEZIER"),
        ({"times": [0], "values": [[1, 2, 3]], "path": "rotation"}, "VEC3"),
        ({"times": [0, 1, 2], "values": [1, 2], "path": "weights", "width": 1}, "3 key times, but 2 values"),
        ({"times": [0], "values": [[1, 2, 3]], "change": {"samplers": [{"input": 0}]}}, "lacks its input or its out"),
        ({"times": [0], "values": [[1, 2, 3]], "change": {"samplers": []}}, "points at sampler 0"),
    ],
)
def test_broken_clips_are_refused_with_the_place(case: dict[str, Any], reason: str) -> None:
    with pytest.raises(AvatarError, match=reason):
        clips_of(**case)
