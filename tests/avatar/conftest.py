"""The avatars of ``tests/data`` and what the manifest expects of them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from idol.avatar import Avatar, load_avatar

DATA = Path(__file__).resolve().parents[1] / "data"


def manifest(folder: str = "models") -> dict[str, dict[str, Any]]:
    """Entries of the manifest by file name, of the files in ``folder``."""
    entries = tomllib.loads((DATA / "manifest.toml").read_text(encoding="utf-8"))["asset"]
    start = f"{folder}/"
    return {entry["file"].removeprefix(start): entry for entry in entries if entry["file"].startswith(start)}


@pytest.fixture
def godette() -> Avatar:
    return load_avatar(DATA / "models" / "godette_vrm1.vrm")


@pytest.fixture
def head52() -> Avatar:
    return load_avatar(DATA / "models" / "arkit52_head.glb")
