"""``face.json``: layout, names, order, and what is no face file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from idol.face.export import face_document, read_face
from idol.seams import ARKIT_NAMES, SAMPLE_RATE
from tests.face.spoken import planned, spoken


def document() -> dict[str, object]:
    frames = planned(spoken("maIpOba."), fps=30)
    return face_document(30.0, [(frame.at / SAMPLE_RATE, frame.weights) for frame in frames])


def test_layout() -> None:
    made = json.loads(json.dumps(document()))
    assert set(made) == {"fps", "names", "frames"}
    assert made["fps"] == 30.0 and made["names"] == list(ARKIT_NAMES)
    assert len(made["frames"]) == 20
    for index, frame in enumerate(made["frames"]):
        assert set(frame) == {"at", "weights"}
        assert frame["at"] == pytest.approx(index / 30, abs=2e-4)
        assert len(frame["weights"]) == 52 and all(0 <= weight <= 1 for weight in frame["weights"])


def test_it_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "face.json"
    path.write_text(json.dumps(document()), encoding="utf-8")
    fps, frames = read_face(path)
    expected = planned(spoken("maIpOba."), fps=30)
    assert fps == 30.0 and len(frames) == len(expected)
    for (_, weights), frame in zip(frames, expected, strict=True):
        assert np.abs(weights - frame.weights).max() <= 5.1e-5


def test_another_order_of_names_is_read_by_name(tmp_path: Path) -> None:
    made = document()
    order = sorted(range(52), key=lambda index: ARKIT_NAMES[index])
    frames = [{"at": f["at"], "weights": [f["weights"][i] for i in order]} for f in made["frames"]]  # type: ignore
    path = tmp_path / "sorted.json"
    path.write_text(json.dumps({"fps": 30, "names": sorted(ARKIT_NAMES), "frames": frames}), encoding="utf-8")
    straight = tmp_path / "straight.json"
    straight.write_text(json.dumps(made), encoding="utf-8")
    for (_, one), (_, two) in zip(read_face(path)[1], read_face(straight)[1], strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"fps": 30, "names": ["jawOpen"], "frames": []}', "\x00\x01", "null",
     json.dumps({"fps": 30, "names": list(ARKIT_NAMES), "frames": [{"at": 0, "weights": [0.0] * 10}]}),
     json.dumps({"fps": "x", "names": list(ARKIT_NAMES), "frames": []})],
)  # fmt: skip
def test_what_is_no_face_file_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.json is no face file"):
        read_face(path)
