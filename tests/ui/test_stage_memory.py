"""What the stage remembers, on the disk: kept, bounded, and never a reason not to start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from idol.render.viewpoint import Viewpoint
from idol.ui.stage_memory import MOST, RECENT, StageMemory, content_key

VIEW = Viewpoint("face", 0.5, -0.2, 1.5, 0.1, -0.05)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "stage.json"


def test_camera_and_light_come_back(path: Path, tmp_path: Path) -> None:
    memory = StageMemory(path)
    memory.use("k1", tmp_path / "a.vrm", "A")
    memory.keep_view("k1", VIEW, "evening")
    memory.keep_view("unknown", VIEW, "neon")
    again = StageMemory(path)
    assert again.trouble == ""
    assert again.viewpoint("k1", tmp_path / "moved.vrm") == VIEW, "the file is known wherever it lies"
    assert again.viewpoint("k2", tmp_path / "a.vrm") == VIEW, "it was exported again to the same place"
    assert again.lighting("k1", tmp_path / "a.vrm") == "evening"
    assert again.viewpoint("k2", tmp_path / "b.vrm") is None and again.lighting("k2", tmp_path / "b.vrm") == ""


def test_terms_hold_for_the_file_and_for_a_new_export_with_the_same_terms(path: Path, tmp_path: Path) -> None:
    memory = StageMemory(path)
    memory.use("k1", tmp_path / "a.vrm", "A")
    assert not memory.accepted("k1", tmp_path / "a.vrm", "terms")
    memory.use("k1", tmp_path / "a.vrm", "A", "terms")
    memory.use("k1", tmp_path / "a.vrm", "A")
    memory = StageMemory(path)
    assert memory.accepted("k1", tmp_path / "elsewhere.vrm", "terms")
    assert memory.accepted("k2", tmp_path / "a.vrm", "terms")
    assert not memory.accepted("k2", tmp_path / "a.vrm", "stricter terms")
    assert not memory.accepted("k2", tmp_path / "b.vrm", "terms")


def test_the_last_ones_are_listed_and_the_oldest_forgotten(path: Path, tmp_path: Path) -> None:
    memory = StageMemory(path)
    for number in range(MOST + 5):
        memory.use(f"k{number}", tmp_path / f"{number}.vrm", f"T{number}")
    memory.use("k10", tmp_path / "10.vrm", "T10")
    memory.use("own", Path("/ours/default.vrm"), "Mira")
    recent = [entry.title for entry in StageMemory(path).recent(Path("/ours"))]
    assert recent == ["T10", *(f"T{number}" for number in range(MOST + 4, MOST + 5 - RECENT, -1))]
    assert len(json.loads(path.read_text())["avatars"]) == MOST
    assert memory.find("k0", tmp_path / "0.vrm") is None


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"avatars": 3}', "\udcff", '{"avatars": {"a": 1}}', "[" * 100_000]
)
def test_a_damaged_file_is_told_and_replaced(path: Path, tmp_path: Path, content: str) -> None:
    path.parent.mkdir()
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    memory = StageMemory(path)
    assert "cannot be read" in memory.trouble and str(path) in memory.trouble
    memory.use("k", tmp_path / "a.vrm", "A")
    assert StageMemory(path).find("k", tmp_path / "a.vrm") is not None and StageMemory(path).trouble == ""


def test_one_wrong_entry_costs_only_itself(path: Path, tmp_path: Path) -> None:
    memory = StageMemory(path)
    for name in ("a", "b", "c"):
        memory.use(name, tmp_path / f"{name}.vrm", name)
        memory.keep_view(name, VIEW, "soft")
    held = json.loads(path.read_text())
    held["avatars"][0]["camera"]["zoom"] = -1
    held["avatars"][1]["camera"]["yaw"] = float("nan")
    path.write_text(json.dumps(held))
    memory = StageMemory(path)
    assert "2 wrong entries" in memory.trouble
    assert memory.viewpoint("a", tmp_path / "a.vrm") == VIEW and memory.find("c", tmp_path / "c.vrm") is None


def test_where_nothing_can_be_written_it_holds_for_this_run(path: Path, tmp_path: Path) -> None:
    path.parent.write_text("a file in the folder's place")
    memory = StageMemory(path)
    with pytest.raises(OSError):
        memory.use("k", tmp_path / "a.vrm", "A", "terms")
    assert memory.accepted("k", tmp_path / "a.vrm", "terms")


def test_a_key_is_the_contents() -> None:
    assert content_key(b"1") == content_key(b"1") != content_key(b"2")
