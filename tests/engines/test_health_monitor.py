"""The monitor: what it publishes, announces and survives, on scripted cards and a clock turned by hand."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engines.health import Band, CardLost, HealthError, HealthLog, HealthMonitor, HealthSample, Pressure
from engines.health.monitor import resident_memory
from tests.engines.test_health_log import FullDisk, rows

HOT = (Band("temperature", lambda sample: sample.temperature, 87, 80, 5, 10),)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Script:
    """A card that gives the next of ``steps`` (temperatures, or errors to raise) at each read; the last one stays."""

    def __init__(self, steps: Sequence[int | Exception]) -> None:
        self.steps = list(steps)
        self.reads = 0
        self.reopened = 0
        self.closed = 0
        self.followed: list[str] = []
        self.refuse: CardLost | None = None
        self.threads: set[str] = set()

    def read(self, at: float, wall: float) -> HealthSample:
        self.threads.add(threading.current_thread().name)
        step = self.steps[min(self.reads, len(self.steps) - 1)]
        self.reads += 1
        if isinstance(step, Exception):
            raise step
        return HealthSample(at, wall, "Card", temperature=step)

    def follow(self, bus_id: str) -> None:
        self.followed.append(bus_id)
        if self.refuse is not None:
            raise self.refuse

    def reopen(self) -> None:
        self.reopened += 1

    def close(self) -> None:
        self.threads.add(threading.current_thread().name)
        self.closed += 1


class Rig:
    """A monitor that is polled by hand, once a second of its clock."""

    def __init__(self, steps: Sequence[int | Exception], **options: object) -> None:
        self.clock = Clock()
        self.card = Script(steps)
        self.events: list[Pressure] = []
        self.monitor = HealthMonitor(lambda: self.card, clock=self.clock, **options)  # type: ignore[arg-type]
        self.monitor.subscribe(self.events.append)

    def poll(self, count: int = 1) -> None:
        for _ in range(count):
            self.monitor.poll()
            self.clock.now += 1

    @property
    def levels(self) -> list[tuple[str, int]]:
        return [(event.kind, event.level) for event in self.events]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


def wait(condition: Callable[[], bool], seconds: float = 3.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.005)


def test_each_change_is_announced_once_and_what_lasts_can_be_read() -> None:
    rig = Rig([60] * 5 + [90] * 30 + [70] * 30, bands=HOT)
    rig.poll(5)
    assert rig.events == [] and rig.monitor.pressures == ()
    rig.poll(30)
    assert rig.levels == [("temperature", 1)]
    assert rig.monitor.pressures == tuple(rig.events)
    assert (rig.events[0].since, rig.events[0].sample.at) == (1005.0, 1010.0)
    rig.poll(30)
    assert rig.levels == [("temperature", 1), ("temperature", 0)]
    assert rig.monitor.pressures == ()
    latest = rig.monitor.latest
    assert latest is not None and (latest.temperature, latest.at) == (70, 1064.0)
    assert latest.processor is not None and latest.processor >= 0


@pytest.mark.parametrize("error", [CardLost("Card does not answer: GPU is lost."), ValueError("no such byte")])
def test_a_lost_card_is_said_once_and_so_is_its_return(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rig = Rig([60, 60, error, error, error, 61])
    rig.poll(5)
    latest = rig.monitor.latest
    assert latest is not None and latest.card == "Card" and latest.temperature is None
    assert str(error.args[0]) in latest.trouble
    assert rig.levels == [("lost", 1)]
    assert [kind.kind for kind in rig.monitor.pressures] == ["lost"]
    assert rig.card.reopened == 2  # not at the first failure, then before each further look
    rig.poll(3)
    assert rig.levels == [("lost", 1), ("lost", 0)]
    lost, back = (message for message in warnings(caplog) if "pressure" not in message)
    assert str(error.args[0]) in lost and back == "Card answers again"
    assert rig.card.reopened == 3
    rig.monitor.close()


def test_levels_hold_while_the_card_is_lost() -> None:
    rig = Rig([90] * 8 + [CardLost("gone")] * 20 + [90] * 20 + [60] * 20, bands=HOT)
    rig.poll(48)
    assert rig.levels == [("temperature", 1)]
    rig.poll(20)
    assert rig.levels == [("temperature", 1), ("temperature", 0)]


@pytest.mark.parametrize("error", [HealthError("NVML does not start.", "Install the driver."), OSError("bad library")])
def test_without_a_card_the_process_is_watched_and_the_reason_kept(error: Exception) -> None:
    def refuse() -> Script:
        raise error

    monitor = HealthMonitor(refuse)
    sample = monitor.poll()
    assert str(error.args[0]) in monitor.reason
    assert sample.card == "" and sample.trouble == "" and sample.resident == pytest.approx(resident_memory(), rel=0.1)
    assert sample.resident is not None and sample.resident > 1_000_000
    busy = time.process_time() + 0.05
    while time.process_time() < busy:
        pass
    processor = monitor.poll().processor
    assert processor is not None and 0.002 < processor < 100  # 50 ms of work, on however busy a machine
    assert monitor.pressures == ()


def test_a_listener_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig([90], bands=HOT)
    seen: list[Pressure] = []

    def fail(change: Pressure) -> None:
        raise RuntimeError("no ladder")

    rig.monitor.subscribe(fail)
    leave = rig.monitor.subscribe(seen.append)
    rig.poll(10)
    assert len(seen) == len(rig.events) == 1
    assert any("a listener failed" in message for message in warnings(caplog))
    leave()
    rig.card.steps = [60]
    rig.poll(20)
    assert len(seen) == 1 and len(rig.events) == 2


def test_the_card_of_the_engines_is_followed_from_the_next_sample() -> None:
    rig = Rig([60])
    rig.poll()
    rig.monitor.follow("0000:41:00.0")
    assert rig.card.followed == []
    rig.poll(3)
    assert rig.card.followed == ["0000:41:00.0"]


def test_an_address_that_nvml_does_not_know_leaves_the_first_card(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig([60])
    rig.card.refuse = CardLost("no card at x")
    rig.monitor.follow("x")
    rig.poll(3)
    latest = rig.monitor.latest
    assert latest is not None and latest.temperature == 60 and rig.events == []
    assert len(warnings(caplog)) == 1


def test_every_sample_is_logged_and_a_full_disk_does_not_stop_the_watch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig([60, 61, 62], health_log=HealthLog(tmp_path))
    rig.poll(3)
    rig.monitor.close()
    assert [row["temperature"] for row in rows(tmp_path / "health.csv")] == ["60", "61", "62"]
    assert rig.card.closed == 1
    full = Rig([60] * 3 + [90] * 9, bands=HOT, health_log=HealthLog(tmp_path, open_file=lambda p: FullDisk(100, False)))
    full.poll(12)
    assert full.levels == [("temperature", 1)]
    assert sum("health log ends" in message for message in warnings(caplog)) == 1
    full.monitor.close()


def test_the_thread_is_its_own_keeps_its_beat_and_gives_everything_back() -> None:
    card = Script([60])
    monitor = HealthMonitor(lambda: card, interval=0.05)
    began = time.monotonic()
    with monitor:
        wait(lambda: card.reads >= 8)
        spent = time.monotonic() - began
    assert spent >= 7 * 0.05 - 0.01
    assert card.threads == {"idol-health"} and card.closed == 1
    assert not any(thread.name == "idol-health" for thread in threading.enumerate())


@pytest.mark.parametrize("step", [60, CardLost("gone")])
def test_the_thread_ends_within_a_second_of_stop(step: int | Exception) -> None:
    card = Script([60, step])
    monitor = HealthMonitor(lambda: card, interval=0.02 if isinstance(step, Exception) else 20, slow_interval=30)
    monitor.start()
    wait(lambda: card.reads >= (2 if isinstance(step, Exception) else 1))
    began = time.monotonic()
    monitor.close()
    assert time.monotonic() - began < 1.0
    assert card.closed == 1
    monitor.close()


def test_a_lost_card_is_asked_slowly() -> None:
    card = Script([60, CardLost("gone")])
    with HealthMonitor(lambda: card, interval=0.01, slow_interval=30):
        wait(lambda: card.reads == 2)
        time.sleep(0.2)
        assert card.reads == 2


def test_a_driver_that_hangs_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    free = threading.Event()

    class Hanging(Script):
        def read(self, at: float, wall: float) -> HealthSample:
            self.reads += 1
            free.wait(10)
            return HealthSample(at, wall, "Card")

    card = Hanging([60])
    monitor = HealthMonitor(lambda: card)
    monitor.start()
    wait(lambda: card.reads == 1)
    began = time.monotonic()
    monitor.close(timeout=0.1)
    assert time.monotonic() - began < 0.6
    assert "did not end" in warnings(caplog)[0]
    free.set()
    wait(lambda: card.closed == 1)


@pytest.mark.parametrize(("interval", "slow"), [(0.0, 30.0), (-1.0, 30.0), (2.0, 1.0)])
def test_intervals_must_make_sense(interval: float, slow: float) -> None:
    with pytest.raises(ValueError, match="interval"):
        HealthMonitor(lambda: Script([1]), interval=interval, slow_interval=slow)
