"""Fixtures of all tests: a screen, a sound card, model files, settings that touch nobody's home."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.rig import Screen, SoundCard, missing_programs

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
DATA = Path(__file__).parent / "data"


@pytest.fixture
def data() -> Path:
    """The test inputs."""
    return DATA


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and history go to the test's own folder."""
    monkeypatch.setenv("IDOL_SETTINGS", str(tmp_path / "settings.toml"))
    monkeypatch.setenv("IDOL_DATA", str(tmp_path / "data"))


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    """A test that leaves one of our threads behind fails."""
    yield
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("idol-") and thread.is_alive()]
    for thread in threading.enumerate():
        if thread.name.startswith("idol-"):
            thread.join(3)
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("idol-") and thread.is_alive()]
    assert not left, f"threads left behind: {left}"


@pytest.fixture(scope="session")
def screen() -> Iterator[Screen]:
    """An X screen. Child processes get ``screen.environment``."""
    lacking = missing_programs("Xvfb", "openbox")
    if lacking:
        pytest.fail(f"{', '.join(lacking)} not found. Install: apt-get install xvfb openbox")
    rig = Screen()
    yield rig
    rig.stop()


@pytest.fixture(scope="session")
def sound() -> Iterator[SoundCard]:
    """A PulseAudio server of our own. Child processes get ``sound.environment``."""
    lacking = missing_programs("pulseaudio", "parec")
    if lacking:
        pytest.fail(f"{', '.join(lacking)} not found. Install: apt-get install pulseaudio pulseaudio-utils")
    rig = SoundCard()
    yield rig
    rig.stop()


@pytest.fixture(scope="session")
def model_path() -> Callable[[str], Path]:
    """``model_path(id)``: the folder of a catalogue model, fetched on first use."""
    from engines.catalogue import load_catalogue
    from engines.fetch import fetch_set

    def fetch(model_id: str) -> Path:
        model = load_catalogue().models[model_id]
        if model.missing():
            fetch_set(model_id)
        return model.folder

    return fetch
