"""Fixtures of all tests: a screen, a sound card, model files, settings that touch nobody's home."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.rig import Screen, SoundCard, missing_programs

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# The same examples everywhere: a red run says what broke. No deadline: busy machines are slow, not wrong.
settings.register_profile("idol", derandomize=True, deadline=None)
settings.load_profile("idol")
# A shell that starts the tests in its background has Ctrl-C ignored, here and in every child; some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
DATA = Path(__file__).parent / "data"
SCREEN_PROGRAMS = ("Xvfb", "openbox")
SOUND_PROGRAMS = ("pulseaudio", "parec", "paplay")
OUR_THREADS = ("idol-", "fetch-")


def pytest_report_header() -> list[str]:
    """What of the rig is not here: tests that need it fail, and say what to install."""
    from engines.catalogue import load_catalogue
    from engines.store import files_dir
    from tests.peers.three_vrm import browser

    lacking = missing_programs(*SCREEN_PROGRAMS, *SOUND_PROGRAMS) + ([] if browser() else ["chromium"])
    absent = [model.id for model in load_catalogue().select(("test",)) if model.missing()]
    try:
        import tensorrt
    except ImportError:
        gpu = "no TensorRT, so tests marked gpu are skipped"
    else:
        gpu = f"TensorRT {tensorrt.__version__}"
    return [
        f"rig: {'complete' if not lacking else 'missing ' + ', '.join(lacking)}; {gpu}",
        f"models: {files_dir()}" + (f", still to be fetched: {', '.join(absent)}" if absent else ""),
    ]


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
    before = set(threading.enumerate())
    yield
    left = []
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith(OUR_THREADS):
            thread.join(3)
            if thread.is_alive():
                left.append(thread.name)
    assert not left, f"threads left behind: {left}"


@pytest.fixture(autouse=True)
def _no_timer_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test with Qt that leaves a repeating QTimer running fails: it would call into what is gone."""
    yield
    if "PySide6.QtCore" not in sys.modules or not {"qapp", "qtbot"} & set(request.fixturenames):
        return
    import shiboken6
    from PySide6.QtCore import QTimer

    gc.collect()
    left = [
        timer.objectName() or f"{timer.interval()} ms"
        for timer in gc.get_objects()
        if isinstance(timer, QTimer) and shiboken6.isValid(timer) and timer.isActive() and not timer.isSingleShot()
    ]
    assert not left, f"timers left running: {left}"


@pytest.fixture(scope="session")
def screen() -> Iterator[Screen]:
    """An X screen. Child processes get ``screen.environment``."""
    lacking = missing_programs(*SCREEN_PROGRAMS)
    if lacking:
        pytest.fail(f"{', '.join(lacking)} not found. Install: apt-get install xvfb openbox")
    rig = Screen()
    yield rig
    rig.stop()


@pytest.fixture(scope="session")
def sound() -> Iterator[SoundCard]:
    """A PulseAudio server of our own. Child processes get ``sound.environment``."""
    lacking = missing_programs(*SOUND_PROGRAMS)
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
