"""The avatars of ``tests/data`` and what the manifest expects of them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from idol.avatar import Avatar, load_avatar

DATA = Path(__file__).resolve().parents[1] / "data"


def manifest() -> dict[str, dict[str, Any]]:
    entries = tomllib.loads((DATA / "manifest.toml").read_text(encoding="utf-8"))["asset"]
    return {entry["file"].removeprefix("models/"): entry for entry in entries if entry["file"].startswith("models/")}


@pytest.fixture
def godette() -> Avatar:
    return load_avatar(DATA / "models" / "godette_vrm1.vrm")


@pytest.fixture
def head52() -> Avatar:
    return load_avatar(DATA / "models" / "arkit52_head.glb")
