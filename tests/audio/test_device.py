"""The real output on a sound server: what comes out is recorded and looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.audio.recording import Ear, Recording
from tests.rig import SoundCard

pytestmark = pytest.mark.sound
ROOT = Path(__file__).resolve().parents[2]


class Player:
    """The playing process; ``events`` are what it said."""

    def __init__(self, environment: dict[str, str], *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.audio.player", *words], cwd=ROOT, env={**os.environ, **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.events: list[dict[str, Any]] = []

    def until(self, what: str) -> dict[str, Any]:
        """Reads on to the next event of this name."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["what"] == what:
                return self.events[-1]
        self.process.wait(5)
        assert self.process.stderr is not None
        raise AssertionError(f"the player ended before {what!r}: {self.process.stderr.read()[-2000:]}")

    def end(self) -> None:
        """Close its input and see it end in order."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        for line in self.process.stdout:
            self.events.append(json.loads(line))
        assert self.process.wait(20) == 0
        assert self.events[-1]["what"] == "closed"

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def players() -> Iterator[list[Player]]:
    made: list[Player] = []
    yield made
    for player in made:
        player.kill()


def played(sound: SoundCard, players: list[Player], *words: str) -> tuple[Recording, dict[str, Any], Player]:
    ear = Ear(sound)
    player = Player(sound.environment, *words)
    players.append(player)
    event = player.until("played")
    player.end()
    return ear.stop(), event, player


def test_a_tone_of_four_clauses_comes_out_without_a_hole(sound: SoundCard, players: list[Player]) -> None:
    recording, event, player = played(sound, players, "play", "--seconds", "3")
    assert "Hz" in player.events[0]["description"]
    assert event["underruns"] == 0 and event["backward"] == 0 and event["end"] == 3 * 24_000
    stretches = recording.stretches()
    assert len(stretches) == 1, f"holes: {stretches}"
    assert stretches[0][1] - stretches[0][0] == pytest.approx(3.0, abs=0.02)
    assert len(recording.clicks()) <= 3, "a clause border may be heard, nothing else"
    assert event["began"] == pytest.approx(stretches[0][0], abs=0.04), "the axis says when the sound is heard"


def test_a_busy_interpreter_leaves_no_hole(sound: SoundCard, players: list[Player]) -> None:
    recording, event, _ = played(sound, players, "burn", "--seconds", "5", "--parts", "5")
    stretches = recording.stretches()
    assert len(stretches) == 1, f"holes: {stretches}"
    assert stretches[0][1] - stretches[0][0] == pytest.approx(5.0, abs=0.02)
    assert len(recording.clicks()) <= 4, "a clause border may be heard, nothing else"
    assert event["underruns"] == 0 and event["backward"] == 0


@pytest.mark.parametrize("rate", [44_100, 48_000])
def test_one_clause_is_an_unbroken_sine_of_the_right_pitch(rate: int, sound: SoundCard, players: list[Player]) -> None:
    recording, _, player = played(sound, players, "play", "--seconds", "1", "--parts", "1", "--rate", str(rate))
    assert f"{rate} Hz" in player.events[0]["description"]
    assert recording.frequency() == pytest.approx(440.0, abs=0.5)
    assert len(recording.stretches()) == 1
    assert recording.clicks() == []


def test_a_cut_is_silence_within_100_ms_and_she_can_speak_again(sound: SoundCard, players: list[Player]) -> None:
    ear = Ear(sound)
    player = Player(sound.environment, "cut")
    players.append(player)
    event = player.until("cut")
    player.until("done")
    player.end()
    recording = ear.stop()
    first, again = recording.stretches()
    assert first[1] - event["cut_at"] <= 0.1
    assert event["before"] <= event["end"] <= event["before"] + 0.1 * 24_000
    assert first[1] - first[0] == pytest.approx(event["end"] / 24_000, abs=0.03), "what was heard is what is kept"
    assert again[1] - again[0] == pytest.approx(0.5, abs=0.02)
    assert len(recording.clicks()) <= 3, "the fade and the new start, no crack"


def test_a_lost_sound_server_is_survived_and_found_again(players: list[Player]) -> None:
    sound = SoundCard()
    try:
        player = Player(sound.environment, "survive")
        players.append(player)
        assert "silent" not in player.until("started")["description"]
        player.until("alive")
        sound.stop_server()
        lost = player.until("changed")
        assert "silent clock" in lost["description"]
        gone = player.until("alive")
        later = player.until("alive")
        assert later["position"] > gone["position"], "the axis goes on"
        sound.start()
        ear = Ear(sound)
        back = player.until("changed")
        assert "silent" not in back["description"]
        player.until("alive")
        player.until("alive")
        player.end()
        assert ear.stop().stretches(), "she is heard again"
        assert player.events[-2]["backward"] == 0
    finally:
        sound.stop()


def test_without_a_sound_server_it_runs_silently_and_says_so(tmp_path: Path, players: list[Player]) -> None:
    nowhere = {"XDG_RUNTIME_DIR": str(tmp_path), "PULSE_SERVER": f"unix:{tmp_path}/none", "HOME": str(tmp_path)}
    player = Player(nowhere, "play", "--seconds", "1")
    players.append(player)
    began = time.monotonic()
    started = player.until("started")
    assert "silent clock" in started["description"] and len(started["description"]) > 30
    event = player.until("played")
    player.end()
    assert event["end"] == 24_000 and event["underruns"] == 0 and event["backward"] == 0
    assert time.monotonic() - began < 15
