"""``main.py engines``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from idol.cli import main


def test_plans_are_listed_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    plans = tmp_path / "built" / "plans"
    plans.mkdir(parents=True)
    (plans / "voice-1.plan").write_bytes(bytes(2_000_000))
    (plans / "voice-1.json").write_text(json.dumps({"name": "voice", "seconds": 12.5}))
    (plans / "llm-2.failed").write_text("node odd_one")
    (plans / "timing-8.cache").write_bytes(b"x")
    assert main(["engines", "list"]) == 0
    said = capsys.readouterr().out
    assert "engines run on: " in said and "voice: 2 MB, built in 12.5 s" in said and "node odd_one" in said
    assert main(["engines", "forget"]) == 0
    assert "1 plans forgotten" in capsys.readouterr().out
    assert [path.name for path in plans.iterdir()] == ["timing-8.cache"]
