"""The rig itself: a screen that shows windows, a sound card that can be heard, nothing left running."""

from __future__ import annotations

import os
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest

from tests.rig import Screen, SoundCard


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout


@pytest.mark.screen
def test_the_screen_has_a_window_manager(screen: Screen) -> None:
    assert "window id" in _run(["xprop", "-root", "_NET_SUPPORTING_WM_CHECK"], screen.environment)
    assert "1280x900" in _run(["xdpyinfo"], screen.environment)


@pytest.mark.sound
def test_what_is_played_is_heard(sound: SoundCard, tmp_path: Path) -> None:
    tone = (np.sin(2 * np.pi * 440 * np.arange(48_000) / 48_000) * 8000).astype("<i2")
    path = tmp_path / "tone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(tone.tobytes())
    environment = {**os.environ, **sound.environment}
    command = ["parec", "-d", "rig_out.monitor", "--raw", "--format=s16le", "--rate=48000", "--channels=1"]
    with subprocess.Popen([*command, "--latency-msec=20"], env=environment, stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.read(960)
        player = subprocess.Popen(["paplay", "-d", "rig_out", str(path)], env=environment)
        heard = np.frombuffer(recorder.stdout.read(2 * 96_000), "<i2")
        recorder.terminate()
        player.wait(10)
    spectrum = np.abs(np.fft.rfft(heard.astype(float)))
    assert np.abs(heard).max() > 7000
    assert abs(np.argmax(spectrum) * 48_000 / len(heard) - 440) < 1


def test_nothing_is_left_running() -> None:
    rig = Screen(320, 240)
    processes = list(rig._processes.running)
    rig.stop()
    assert all(process.poll() is not None for process in processes)
    card = SoundCard()
    processes = list(card._processes.running)
    card.stop()
    assert all(process.poll() is not None for process in processes)
    assert not Path(card.environment["XDG_RUNTIME_DIR"]).exists()
