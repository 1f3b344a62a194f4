"""The recorded sound holds each clause where it was heard, and nothing that was cut."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from idol.seams import SAMPLE_RATE, FacePose, PhonemeSpan, Speech
from idol.show.recorder import Recorder
from idol.show.speech_line import PlacedSpeech
from tests.show.fakes import FakeOutput


class _Known(FakeOutput):
    """An output that says each clause became audible at the time given."""

    times: dict[int, float]

    def time_of(self, sample: int) -> float | None:
        return self.times.get(sample)


def _speech(first: int, seconds: float, level: float) -> PlacedSpeech:
    samples = np.full(int(seconds * SAMPLE_RATE), level, np.float32)
    return PlacedSpeech(1, 0, first, Speech(1, 0, samples, (PhonemeSpan("a", 0, 10),), "en", "a", 0.1))


def test_sound_lies_where_it_was_heard(tmp_path: Path) -> None:
    output = _Known()
    output.times = {0: 100.5, 24000: 102.0}
    recorder = Recorder(output)
    recorder.begin(100.0)
    recorder.placed(_speech(0, 1.0, 0.25))
    recorder.placed(_speech(24000, 1.0, 0.5))
    recorder.cut(24000 + 6000)
    pose = FacePose(np.zeros(52, np.float32))
    for now in (100.0, 101.0, 103.0):
        recorder.frame(now, pose)
    sound = recorder.sound()
    assert len(sound) == 3 * SAMPLE_RATE
    assert not sound[: SAMPLE_RATE // 2].any()
    assert (sound[SAMPLE_RATE // 2 : 3 * SAMPLE_RATE // 2] == 0.25).all()
    assert not sound[3 * SAMPLE_RATE // 2 : 2 * SAMPLE_RATE].any()
    assert (sound[2 * SAMPLE_RATE : 2 * SAMPLE_RATE + 6000] == 0.5).all()
    assert not sound[2 * SAMPLE_RATE + 6000 :].any()
    recorder.write_wav(tmp_path / "new" / "a.wav")
    with wave.open(str(tmp_path / "new" / "a.wav")) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (24000, 1, len(sound))
