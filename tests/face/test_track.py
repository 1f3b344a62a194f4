"""Face frames by sample index: interpolation, gaps, cuts, bounds."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from idol.face.metrics import lip_gap
from idol.face.track import FaceTrack
from idol.seams import ARKIT_INDEX, SAMPLE_RATE, FaceFrame
from tests.face.spoken import planned, spoken

JAW = ARKIT_INDEX["jawOpen"]


def frame(at: int, jaw: float) -> FaceFrame:
    weights = np.zeros(52, np.float32)
    weights[JAW] = jaw
    return FaceFrame(at, weights)


def jaw(track: FaceTrack, position: float) -> float | None:
    weights = track.sample(position)
    return None if weights is None else float(weights[JAW])


def test_sampling_is_by_sample_and_linear_between_frames() -> None:
    track = FaceTrack()
    track.add([frame(1000, 0.2), frame(1800, 0.6)])
    assert jaw(track, 1000) == pytest.approx(0.2) and jaw(track, 1800) == pytest.approx(0.6)
    assert jaw(track, 1400) == pytest.approx(0.4) and jaw(track, 1600.5) == pytest.approx(0.50025)


def test_nothing_before_after_and_in_gaps() -> None:
    track = FaceTrack()
    assert jaw(track, 0) is None
    track.add([frame(1000, 0.5), frame(1000 + 2 * SAMPLE_RATE, 0.5)])
    assert jaw(track, 999) is None
    assert jaw(track, 1000 + 0.11 * SAMPLE_RATE) == pytest.approx(0.5)
    assert jaw(track, 1000 + 0.13 * SAMPLE_RATE) is None
    assert jaw(track, 1000 + 2.2 * SAMPLE_RATE) is None


def test_a_cut_ends_the_mouth_within_120_ms_of_speech() -> None:
    track = FaceTrack()
    track.add(planned(spoken("aaaaaaaaaaaa"), fps=30))
    cut = round(0.5 * SAMPLE_RATE)
    track.cut(cut)
    assert track.sample(cut) is not None
    assert track.sample(cut + 0.125 * SAMPLE_RATE) is None
    track.add(planned(spoken("aaaa"), fps=30, first=SAMPLE_RATE))
    weights = track.sample(1.2 * SAMPLE_RATE)
    assert weights is not None and lip_gap(weights) > 0.1


def test_a_cut_before_everything_empties_it() -> None:
    track = FaceTrack()
    track.add([frame(1000, 0.5)])
    track.cut(10)
    assert len(track) == 0 and track.sample(1000) is None


def test_stale_frames_are_ignored() -> None:
    track = FaceTrack()
    track.add([frame(1000, 0.2), frame(900, 0.9), frame(1000, 0.9), frame(1800, 0.2)])
    assert len(track) == 2 and jaw(track, 1000) == pytest.approx(0.2)


def test_it_is_bounded() -> None:
    track = FaceTrack()
    for start in range(0, 6000, 100):
        track.add([frame((start + index) * 800, 0.5) for index in range(100)])
    assert len(track) == 2700  # 90 s
    assert track.sample(0) is None and track.sample(5999 * 800) is not None


def test_one_writes_while_another_reads() -> None:
    track, failures = FaceTrack(), []

    def read() -> None:
        for position in range(0, 2000 * 800, 400):
            weights = track.sample(position)
            if weights is not None and abs(float(weights[JAW]) - 0.5) > 1e-6:
                failures.append(position)

    reader = threading.Thread(target=read)
    reader.start()
    for index in range(2000):
        track.add([frame(index * 800, 0.5)])
        if index % 97 == 0:
            track.cut(index * 800 - 400)
    reader.join(20)
    assert not reader.is_alive() and not failures
