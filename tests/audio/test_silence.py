"""Silence at the right pace: the master clock where there is no device."""

from __future__ import annotations

import time

import pytest

from idol.audio import SpeechOutput
from idol.audio.backends import PacedSilence
from idol.seams import SAMPLE_RATE
from tests.audio.fakes import Clock, seconds_of


def test_it_starts_what_is_asked_when_it_is_asked() -> None:
    clock = Clock()
    silence = PacedSilence("a test", clock)
    early, now = silence.play(seconds_of(1), 1000.5), silence.play(seconds_of(1), 990.0)
    assert early.at == 1000.5 and early.started_at is None
    assert now.started_at == 1000.0, "nothing starts in the past"
    clock.now = 1000.5
    assert early.started_at == 1000.5
    assert silence.description == "silent clock (a test)" and silence.alive and silence.latency == 0


def test_its_drift_is_under_a_millisecond_a_second() -> None:
    output = SpeechOutput(lambda: PacedSilence("a test"))
    output.start()
    for _ in range(5):
        output.write(seconds_of(0.5))
    began = output.time_of(0)
    assert began is not None
    off = []
    while (now := time.monotonic()) < began + 2.0:
        off.append(output.position(now) / SAMPLE_RATE - (now - began))
        time.sleep(0.02)
    assert len(off) > 50
    assert max(map(abs, off)) < 0.001
    assert off[-1] - off[0] == pytest.approx(0, abs=0.001)
    assert output.underruns == 0
    output.close()
