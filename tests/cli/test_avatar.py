"""``main.py avatar``: permitted uses and counts of a file, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from idol.cli import main


def test_a_file_is_described(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["avatar", str(data / "models" / "godette_vrm0.vrm")]) == 0
    said = capsys.readouterr().out
    assert "Low-Poly Godette" in said and "[yes] Commercial use: allowed." in said
    assert "3439 triangles, 8067 vertices in 4 parts" in said and "45 human bones" in said
    assert main(["avatar", str(data / "models" / "arkit52_head.glb")]) == 0
    said = capsys.readouterr().out
    assert "without VRM" in said and "52 of the 52" in said and "say_ah (1.0 s)" in said
    assert "[?]" in said


def test_json_holds_the_same(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["avatar", "--json", str(data / "models" / "godette_vrm1.vrm")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["vrm"], said["springs"], said["colliders"]) == ("1.0", [3] * 8, 4)
    assert said["counts"]["triangles"] == 3439 and said["terms"]["uses"][0]["verdict"] == "allowed"


def test_a_file_that_is_no_avatar_is_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["avatar", str(tmp_path / "none.vrm")]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert main(["avatar", str(data / "animations" / "idle_loop.vrma")]) == 1
    assert "animation" in capsys.readouterr().err
