"""Measured speeds are kept, but not for ever: the machine may have been busy."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from idol.show import assembly


@pytest.mark.parametrize(("speed", "hours"), [(20.0, 72), (7.25, 1)])
def test_a_speed_is_kept_for_days_a_slow_one_for_an_hour(
    speed: float, hours: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDOL_DATA", str(tmp_path / "data"))
    model = tmp_path / "model.gguf"
    model.write_bytes(b"x")
    speeds = assembly._Speeds()
    assert speeds.get(model) is None
    speeds.put(model, speed)
    now = time.time()
    monkeypatch.setattr(assembly.time, "time", lambda: now + hours * 3600 - 60)
    assert assembly._Speeds().get(model) == pytest.approx(speed, abs=0.1)
    monkeypatch.setattr(assembly.time, "time", lambda: now + hours * 3600 + 60)
    assert assembly._Speeds().get(model) is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 3}', '{"x": {"speed": "fast"}}'])
def test_a_file_of_another_kind_is_measured_anew(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_DATA", str(tmp_path))
    model = tmp_path / "model.gguf"
    model.write_bytes(b"x")
    (tmp_path / "speeds.json").write_text(content)
    speeds = assembly._Speeds()
    speeds._known = {speeds._key(model): value for value in getattr(speeds, "_known", {}).values()}
    assert speeds.get(model) is None
    speeds.put(model, 20.0)
    assert json.loads((tmp_path / "speeds.json").read_text())
    assert assembly._Speeds().get(model) == 20.0
