"""The speech axis on a made-up device: where samples go, what is audible, cuts, holes, loss and return."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idol.audio import SpeechOutput, open_output
from idol.audio.backends import PacedSilence
from idol.seams import SAMPLE_RATE, Output
from idol.settings import AudioSettings
from tests.audio.fakes import Clock, FakeDevice, Socket, seconds_of


class Rig:
    def __init__(self, *, device: FakeDevice | None = None, plugged: bool = True, capacity: float = 60.0) -> None:
        self.clock = device.clock if device is not None else Clock()
        self.device = device or FakeDevice(self.clock)
        self.socket = Socket(self.device if plugged else None)
        self.heard: list[str] = []
        self.output = SpeechOutput(
            self.socket.open, capacity=capacity, clock=self.clock, retry_seconds=0.02, on_change=self.heard.append
        )


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    made.output.start()
    yield made
    made.output.close()


def wait_for(truth: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not truth():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.005)


def test_it_is_the_output_of_the_seams(rig: Rig) -> None:
    assert isinstance(rig.output, Output)


def test_samples_follow_one_another_on_the_axis_and_in_time(rig: Rig) -> None:
    first, second = rig.output.write(seconds_of(1.0)), rig.output.write(seconds_of(0.5))
    assert (first, second) == (0, SAMPLE_RATE)
    one, two = rig.device.played
    assert one.at == pytest.approx(1000.05)
    assert two.at == pytest.approx(one.at + 1.0, abs=1e-9), "no gap, no overlap"


def test_a_delay_holds_the_first_clause_back(rig: Rig) -> None:
    rig.output.write(seconds_of(1.0), delay=0.3)
    assert rig.device.played[0].at == pytest.approx(1000.35)
    rig.clock.now = 1000.30
    assert rig.output.position() == 0


def test_the_position_is_what_is_heard(rig: Rig) -> None:
    rig.output.write(seconds_of(1.0))
    rig.clock.now = 1000.04
    assert rig.output.position() == 0 and rig.output.time_of(0) is None
    rig.clock.now = 1000.55
    assert rig.output.position() == pytest.approx(0.5 * SAMPLE_RATE, abs=1)
    assert rig.output.time_of(6000) == pytest.approx(1000.05 + 0.25)
    assert rig.output.time_of(20000) is None
    assert rig.output.queued_seconds == pytest.approx(0.5, abs=1e-3)
    rig.clock.now = 1009.0
    assert rig.output.position() == SAMPLE_RATE and rig.output.queued_seconds == 0


def test_a_late_device_moves_the_position_and_never_back() -> None:
    clock = Clock()
    rig = Rig(device=FakeDevice(clock, late=0.03))
    rig.output.start()
    rig.output.write(seconds_of(1.0))
    seen = []
    for step in range(300):
        clock.now = 1000.0 + step * 0.004
        seen.append(rig.output.position())
    assert (np.diff(seen) >= 0).all()
    clock.now = 1000.58
    assert rig.output.position() == pytest.approx(0.5 * SAMPLE_RATE, abs=1)
    rig.output.close()


def test_a_cut_silences_within_100_ms_with_a_fade(rig: Rig) -> None:
    rig.output.write(seconds_of(2.0))
    rig.output.write(seconds_of(2.0))
    rig.clock.now = 1000.55
    end = rig.output.flush()
    assert 0.5 * SAMPLE_RATE <= end <= 0.56 * SAMPLE_RATE, "what the device holds already is heard"
    one, two = rig.device.played
    assert one.stopped_at is not None and one.stopped_at - rig.clock.now <= 0.1
    assert two.stopped_at is not None and two.stopped_at < two.at, "what waits is dropped before it starts"
    assert 0 < len(one.fade) <= 0.02 * SAMPLE_RATE and len(two.fade) == 0
    assert one.fade[0] == pytest.approx(0.5) and one.fade[-1] == 0 and (np.diff(one.fade) <= 0).all()
    assert rig.output.queued_seconds == 0 and rig.output.position() == 4 * SAMPLE_RATE


def test_after_a_cut_the_axis_goes_on_where_writing_had_got_to(rig: Rig) -> None:
    rig.output.write(seconds_of(2.0))
    rig.clock.now = 1000.5
    rig.output.flush()
    assert rig.output.write(seconds_of(1.0)) == 2 * SAMPLE_RATE
    assert rig.device.played[-1].at == pytest.approx(1000.55), "it does not wait for what was cut"
    rig.clock.now = 1000.8
    assert rig.output.position() == pytest.approx(2.25 * SAMPLE_RATE, abs=1)


def test_cuts_of_nothing_are_harmless(rig: Rig) -> None:
    assert rig.output.flush() == 0 and rig.output.flush() == 0
    rig.output.write(seconds_of(0.1))
    rig.clock.now = 1001.0
    assert rig.output.flush() == 2400
    assert rig.device.played[0].stopped_at is None, "it was over"


def test_a_hole_inside_a_reply_is_an_underrun_and_one_between_replies_is_not(rig: Rig) -> None:
    rig.output.write(seconds_of(0.5))
    rig.clock.now = 1000.7
    rig.output.write(seconds_of(0.5))
    assert rig.output.underruns == 0, "not heard yet"
    rig.clock.now = 1000.9
    assert rig.output.underruns == 1 and rig.output.underruns == 1
    rig.output.finish()
    rig.clock.now = 1005.0
    rig.output.write(seconds_of(0.5))
    rig.clock.now = 1005.2
    assert rig.output.underruns == 1


def test_no_hole_when_written_in_time(rig: Rig) -> None:
    for index in range(20):
        rig.output.write(seconds_of(0.5))
        rig.clock.now = 1000.0 + 0.45 * (index + 1)
    rig.clock.now = 1020.0
    assert rig.output.underruns == 0


def test_underruns_of_fifty_clauses_are_all_counted(rig: Rig) -> None:
    for _ in range(60):
        rig.output.write(seconds_of(0.1))
        rig.clock.now += 0.3
    assert rig.output.underruns == 59


def test_an_empty_clause_takes_no_place(rig: Rig) -> None:
    assert rig.output.write(np.zeros(0, np.float32)) == 0
    assert rig.output.write(seconds_of(0.1)) == 0 and len(rig.device.played) == 1


def test_a_full_ring_makes_the_writer_wait_and_a_cut_lets_it_go() -> None:
    rig = Rig(capacity=1.0)
    rig.output.start()
    rig.output.write(seconds_of(3.0))
    written: list[int] = []
    writer = threading.Thread(target=lambda: written.append(rig.output.write(seconds_of(1.0))), name="writer")
    writer.start()
    time.sleep(0.1)
    assert writer.is_alive() and len(rig.device.played) == 1
    rig.output.flush()
    writer.join(2)
    assert not writer.is_alive() and written == [3 * SAMPLE_RATE]
    assert len(rig.device.played) == 1, "what was waiting is cut too"
    rig.output.close()


def test_a_full_ring_empties_with_time() -> None:
    rig = Rig(capacity=1.0)
    rig.output.start()
    rig.output.write(seconds_of(3.0))
    writer = threading.Thread(target=lambda: rig.output.write(seconds_of(1.0)), name="writer")
    writer.start()
    rig.clock.now = 1002.2
    writer.join(2)
    assert not writer.is_alive() and len(rig.device.played) == 2
    rig.output.close()


def test_closing_lets_a_waiting_writer_go() -> None:
    rig = Rig(capacity=1.0)
    rig.output.start()
    rig.output.write(seconds_of(3.0))
    writer = threading.Thread(target=lambda: rig.output.write(seconds_of(1.0)), name="writer")
    writer.start()
    time.sleep(0.05)
    rig.output.close()
    writer.join(2)
    assert not writer.is_alive() and rig.device.closed


def test_without_a_device_it_runs_silently_and_says_why() -> None:
    rig = Rig(plugged=False)
    rig.output.start()
    assert "silent clock" in rig.output.description and "Connect one" in rig.output.description
    rig.output.write(seconds_of(1.0))
    rig.clock.now = 1000.5
    assert rig.output.position() == pytest.approx(0.5 * SAMPLE_RATE, abs=1)
    rig.output.close()


def test_a_device_that_comes_is_taken_after_the_running_reply() -> None:
    rig = Rig(plugged=False)
    rig.output.start()
    rig.output.write(seconds_of(1.0))
    rig.socket.device = rig.device
    time.sleep(0.15)
    assert "silent clock" in rig.output.description, "one reply, one clock"
    rig.clock.now = 1002.0
    wait_for(lambda: rig.output.description == "fake device")
    assert rig.heard == ["fake device"]
    assert rig.output.write(seconds_of(1.0)) == SAMPLE_RATE and len(rig.device.played) == 1
    rig.output.close()


def test_a_lost_device_does_not_stop_the_axis_and_is_regained(rig: Rig) -> None:
    rig.output.write(seconds_of(2.0))
    rig.output.write(seconds_of(1.0))
    rig.clock.now = 1000.55
    before = rig.output.position()
    rig.socket.device, rig.device.alive = None, False
    wait_for(lambda: "lost" in rig.output.description or "silent" in rig.output.description)
    assert rig.device.closed and rig.heard and "lost" in rig.heard[0]
    assert rig.output.position() == pytest.approx(before)
    rig.clock.now = 1001.55
    assert rig.output.position() == pytest.approx(1.5 * SAMPLE_RATE, abs=1)
    rig.clock.now = 1002.55
    assert rig.output.position() == pytest.approx(2.5 * SAMPLE_RATE, abs=1)
    rig.clock.now = 1010.0
    assert rig.output.position() == 3 * SAMPLE_RATE
    rig.socket.device = FakeDevice(rig.clock, description="another device")
    wait_for(lambda: rig.output.description == "another device")
    assert rig.output.write(seconds_of(0.5)) == 3 * SAMPLE_RATE and len(rig.socket.device.played) == 1


def test_a_device_that_fails_while_written_to_is_let_go(rig: Rig) -> None:
    rig.device.broken, rig.socket.device = True, None
    assert rig.output.write(seconds_of(1.0)) == 0
    assert "unplugged" in rig.heard[0]
    rig.clock.now = 1000.6
    assert rig.output.position() == pytest.approx(0.55 * SAMPLE_RATE, abs=1)


def test_a_cut_on_a_failing_device_does_not_raise(rig: Rig) -> None:
    rig.output.write(seconds_of(1.0))

    def fail(*_: object) -> None:
        raise RuntimeError("unplugged")

    rig.device.stop = fail  # type: ignore[method-assign]
    rig.clock.now = 1000.3
    rig.socket.device = None
    assert 0.25 * SAMPLE_RATE - 1 <= rig.output.flush() <= 0.31 * SAMPLE_RATE
    assert rig.output.queued_seconds == 0
    assert "silent" in rig.output.description


def test_silence_can_be_chosen() -> None:
    output = open_output(AudioSettings(output="none"))
    output.start()
    assert "chosen in the settings" in output.description
    output.close()


def test_chosen_silence_is_no_sound_that_is_back(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    output = SpeechOutput(lambda: PacedSilence("chosen"), retry_seconds=0.01, on_change=told.append)
    with caplog.at_level("INFO"):
        output.start()
        time.sleep(0.2)
        output.close()
    assert told == [] and "back" not in caplog.text


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "flush", "finish", "wait"]), st.floats(0.0, 1.5)), min_size=1, max_size=25
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.floats(0.0, 0.05))
def test_the_position_never_goes_back_nor_beyond_what_was_written(steps: list[tuple[str, float]], late: float) -> None:
    clock = Clock()
    device = FakeDevice(clock, late=late)
    output = SpeechOutput(lambda: device, clock=clock)
    output._backend = device  # no watch thread is needed here
    written, last = 0, 0.0
    for what, amount in steps:
        if what == "write":
            assert output.write(seconds_of(amount)) == written
            written += round(amount * SAMPLE_RATE)
        elif what == "flush":
            assert last - 1 <= output.flush() <= written
        elif what == "finish":
            output.finish()
        clock.now += amount / 2
        position = output.position()
        assert last - 1e-6 <= position <= written
        last = position
