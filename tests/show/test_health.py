"""The show's health: the monitor from the settings, the overlay's words, the snapshot, the engines' own card."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engines.health import HealthMonitor, HealthSample, memory_budget
from idol.settings import HealthSettings, Settings, data_dir, load_settings, save_settings
from idol.show import assembly
from idol.show import health as show_health
from idol.show.cast import Engines
from idol.show.health import card_budget, health_lines, make_monitor, watch_card_of
from idol.show.show import Show
from idol.show.speech_line import SpeechLine
from tests.engines.health_driver import driver_under_pynvml
from tests.show.fakes import FakeMind, FakeMixer, FakeOutput, FakePlanner, FakeTrack, FakeVoice

FULL = HealthSample(
    1.0, 2.0, "NVIDIA GeForce RTX 4070", utilisation=37, memory_total=12_282 << 20, memory_used=3_282 << 20,
    memory_free=9_000 << 20, memory_ours=2_000 << 20, temperature=61, power=145.3, power_limit=200.0, sm_clock=2475,
    memory_clock=10501, performance_state=2, throttles=("thermal hardware", "power cap", "idle"), resident=1 << 30,
    processor=1.25,
)  # fmt: skip


def test_two_lines_for_a_card() -> None:
    assert health_lines(FULL) == [
        "RTX 4070  37 %  61 °C  145/200 W",
        "3.4/12.9 GB  2475 MHz  thermal hardware +1",
    ]
    assert health_lines(replace(FULL, throttles=("idle",)))[1] == "3.4/12.9 GB  2475 MHz"


def test_what_is_not_told_is_left_out() -> None:
    laptop = replace(FULL, power=None, power_limit=None, temperature=None, memory_total=None, throttles=None)
    assert health_lines(laptop) == ["RTX 4070  37 %", "3.4 GB  2475 MHz"]
    assert health_lines(HealthSample(1, 2, "Quadro")) == ["Quadro"]
    assert health_lines(replace(FULL, power_limit=None))[0].endswith("145 W")


def test_no_sample_no_line_and_without_a_card_the_process() -> None:
    assert health_lines(None) == []
    assert health_lines(HealthSample(1, 2)) == []
    assert health_lines(HealthSample(1, 2, resident=1_930_000_000, processor=1.44)) == [
        "process 1.93 GB, 1.4 cores busy"
    ]
    assert health_lines(HealthSample(1, 2, resident=1_930_000_000)) == ["process 1.93 GB"]


def test_a_lost_card_is_said() -> None:
    assert health_lines(HealthSample(1, 2, "NVIDIA H200", trouble="GPU is lost")) == ["H200 does not answer"]


@given(
    st.builds(
        HealthSample, at=st.just(1.0), wall=st.just(2.0), card=st.just("Card"),
        utilisation=st.none() | st.integers(0, 100), temperature=st.none() | st.integers(0, 120),
        power=st.none() | st.floats(0, 1500), power_limit=st.none() | st.floats(0, 1500),
        memory_used=st.none() | st.integers(0, 1 << 38), memory_total=st.none() | st.integers(0, 1 << 38),
        sm_clock=st.none() | st.integers(0, 4000), throttles=st.none() | st.just(("power cap",)),
    )
)  # fmt: skip
def test_one_or_two_lines_whatever_is_known(sample: HealthSample) -> None:
    lines = health_lines(sample)
    assert 1 <= len(lines) <= 2 and lines[0].startswith("Card")
    assert not any("None" in line or line != line.strip() for line in lines)


def test_the_budget_of_a_sample() -> None:
    total, free, ours = 12_282 << 20, 9_000 << 20, 2_000 << 20
    assert card_budget(FULL, HealthSettings()) == memory_budget(total, free, ours)
    assert card_budget(FULL, HealthSettings(reserve_mb=4000)) == free + ours - 4_000_000_000
    assert card_budget(replace(FULL, memory_free=None), HealthSettings()) is None
    assert card_budget(None, HealthSettings()) is None


def test_settings_are_kept_and_checked() -> None:
    settings = Settings()
    settings.health.hot = 80.5
    settings.health.log = "jsonl"
    save_settings(settings)
    assert load_settings() == (settings, "")
    with pytest.raises(ValidationError, match="hot"):
        HealthSettings(hot=200)


@pytest.mark.parametrize(("log", "name"), [("csv", "health.csv"), ("jsonl", "health.jsonl"), ("off", "")])
def test_the_log_lies_with_the_other_logs(log: Any, name: str) -> None:
    monitor = make_monitor(HealthSettings(log=log))
    monitor.poll()
    monitor.close()
    folder = data_dir() / "logs"
    assert [path.name for path in folder.glob("*")] == ([name] if name else [])


def test_the_thresholds_are_those_of_the_settings(tmp_path: Path) -> None:
    with driver_under_pynvml() as (driver, _):
        monitor = make_monitor(HealthSettings(hot=60), tmp_path)
        monitor._clock = iter(range(1000)).__next__  # type: ignore[assignment]
        for _ in range(8):
            monitor.poll()
        assert [(p.kind, p.level) for p in monitor.pressures] == [("temperature", 1)]
        driver.celsius = 54
        for _ in range(12):
            monitor.poll()
        assert len(monitor.pressures) == 1
        driver.celsius = 53
        for _ in range(12):
            monitor.poll()
        assert monitor.pressures == ()
        monitor.close()
        assert driver.open == 0


def show_with(monitor: HealthMonitor | None) -> Show:
    line = SpeechLine(FakeOutput(), FakePlanner(), FakeTrack())
    return Show(lambda notify, cancelled: Engines(FakeMind([]), FakeVoice(), line, lambda _: "tone"), FakeMixer(),
                health=monitor)  # fmt: skip


def test_the_show_starts_reads_and_ends_the_watch(tmp_path: Path) -> None:
    with driver_under_pynvml() as (driver, _):
        show = show_with(make_monitor(HealthSettings(), tmp_path))
        assert show.overlay().health is None
        show.start()
        deadline = time.monotonic() + 5
        while show.overlay().health is None and time.monotonic() < deadline:
            time.sleep(0.01)
        sample = show.overlay().health
        assert sample is not None and sample.card == "NVIDIA GeForce RTX 4070" and sample.temperature == 61
        began = time.monotonic()
        show.close()
        assert time.monotonic() - began < 2
        assert driver.open == 0
        assert not any(thread.name == "idol-health" for thread in threading.enumerate())


def test_a_show_closed_before_it_began_leaves_nothing(tmp_path: Path) -> None:
    show = show_with(make_monitor(HealthSettings(), tmp_path))
    show.close()
    without = show_with(None)
    assert without.overlay().health is None
    without.close()


class _CudaError(Exception): ...


def device(answer: Callable[[], str]) -> Any:
    return SimpleNamespace(
        cuda=SimpleNamespace(Device=lambda place: SimpleNamespace(pci_bus_id=answer), Error=_CudaError)
    )


def test_the_card_of_the_engines_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[str] = []
    monkeypatch.setattr(HealthMonitor, "follow", lambda self, bus_id: followed.append(bus_id))
    engines = object()
    monkeypatch.setattr(assembly, "open_device", lambda wanted, notify: device(lambda: "0000:41:00.0"))
    monkeypatch.setattr(assembly, "_load_on", lambda *arguments: engines)
    show = assembly.make_show(Settings())
    assert show.health is not None
    assert show._load(lambda what, fraction: None, lambda: False) is engines
    assert followed == ["0000:41:00.0"]


def test_an_address_that_cuda_does_not_tell_leaves_the_first_card(caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> str:
        raise _CudaError("not initialised")

    monitor = make_monitor(HealthSettings(log="off"))
    watch_card_of(device(refuse), monitor)
    assert monitor._wanted == ""
    assert "not initialised" in caplog.text


def test_names_are_short() -> None:
    assert [
        show_health.short_name(name) for name in ("NVIDIA GeForce RTX 4070 Laptop GPU", "NVIDIA H200", "Tesla T4")
    ] == [
        "RTX 4070 Laptop",
        "H200",
        "Tesla T4",
    ]


def test_the_lines_fit_the_overlay() -> None:
    laptop = replace(FULL, card="NVIDIA GeForce RTX 4070 Laptop GPU", utilisation=100, temperature=100)
    server = replace(FULL, card="NVIDIA H200", power=699.0, power_limit=700.0, memory_total=150_754_820_096,
                     memory_used=140_000_000_000)  # fmt: skip
    assert all(len(line) <= 42 for sample in (FULL, laptop, server) for line in health_lines(sample))
