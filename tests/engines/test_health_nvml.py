"""The NVML reader, through the real ``pynvml``, on a driver made of Python."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.health import CardLost, HealthError, HealthSample
from engines.health.nvml import NvmlReader, open_card, throttle_words
from tests.engines.health_driver import (
    DRIVER_NOT_LOADED,
    LOST,
    NO_MEMORY_TOLD,
    NOT_FOUND,
    NOT_SUPPORTED,
    UNKNOWN,
    FakeDriver,
    driver_under_pynvml,
)  # fmt: skip

ME = 4242


@pytest.fixture
def nvml() -> Iterator[tuple[FakeDriver, ModuleType]]:
    with driver_under_pynvml() as pair:
        yield pair


@pytest.fixture
def driver(nvml: tuple[FakeDriver, ModuleType]) -> FakeDriver:
    return nvml[0]


@pytest.fixture
def reader(nvml: tuple[FakeDriver, ModuleType]) -> NvmlReader:
    return NvmlReader(nvml[1], pid=ME, visible="")


def read(reader: NvmlReader) -> HealthSample:
    return reader.read(10.0, 1e9)


def test_every_figure_is_read_in_its_unit(driver: FakeDriver, reader: NvmlReader) -> None:
    now = round(time.time() * 1e6)
    driver.compute = [(7, 1 << 30), (ME, 2 << 30)]
    driver.work = [(ME, 30, now), (7, 21, now + 1), (8, 4, now + 2)]
    assert read(reader) == HealthSample(
        at=10.0, wall=1e9, card="NVIDIA GeForce RTX 4070", utilisation=37, others_utilisation=25,
        memory_total=12_282 << 20, memory_used=3_282 << 20, memory_free=9_000 << 20, memory_ours=2 << 30,
        temperature=61, power=145.3, power_limit=200.0, sm_clock=2475, memory_clock=10501, performance_state=2,
        throttles=("power cap",),
    )  # fmt: skip


FIELDS = {
    "nvmlDeviceGetUtilizationRates": {"utilisation"},
    "nvmlDeviceGetMemoryInfo": {"memory_total", "memory_used", "memory_free"},
    "nvmlDeviceGetTemperatureV nvmlDeviceGetTemperature": {"temperature"},
    "nvmlDeviceGetPowerUsage": {"power"},
    "nvmlDeviceGetEnforcedPowerLimit": {"power_limit"},
    "nvmlDeviceGetClockInfo": {"sm_clock", "memory_clock"},
    "nvmlDeviceGetPerformanceState": {"performance_state"},
    "nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons": {"throttles"},
    "nvmlDeviceGetComputeRunningProcesses_v3": {"memory_ours", "others_utilisation"},
    "nvmlDeviceGetProcessUtilization": {"others_utilisation"},
}


@pytest.mark.parametrize("code", [NOT_SUPPORTED, 4, 13, 2, 25, UNKNOWN, 10])
@pytest.mark.parametrize("names", FIELDS)
def test_what_a_card_does_not_tell_is_none_and_the_rest_is_read(
    names: str, code: int, driver: FakeDriver, reader: NvmlReader
) -> None:
    driver.compute = [(ME, 2 << 30)]
    driver.codes = dict.fromkeys(names.split(), code)
    sample = read(reader)
    empty = {name for name in HealthSample.__dataclass_fields__ if getattr(sample, name) is None}
    assert empty == FIELDS[names] | {"resident", "processor"}


def test_older_drivers_are_asked_under_the_older_names(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.absent = {
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetProcessUtilization",
    }
    sample = read(reader)
    assert (sample.temperature, sample.throttles) == (61, ("power cap",))
    assert sample.memory_ours is None and sample.others_utilisation is None


def test_an_older_package_lacks_the_newer_names(
    driver: FakeDriver, reader: NvmlReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pynvml

    for name in ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetCurrentClocksEventReasons"):
        monkeypatch.delattr(pynvml, name)
    sample = read(reader)
    assert (sample.temperature, sample.throttles) == (61, ("power cap",))


def test_a_process_of_both_kinds_counts_once(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.compute = [(ME, 2 << 30)]
    driver.graphics = [(1, 1 << 20), (ME, 2 << 30)]
    assert read(reader).memory_ours == 2 << 30


def test_windows_lists_us_without_memory(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.graphics = [(ME, NO_MEMORY_TOLD)]
    sample = read(reader)
    assert sample.memory_ours is None
    assert sample.others_utilisation == 0


def test_where_processes_are_hidden_nobody_is_taken_for_another(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.work = [(99, 80, round(time.time() * 1e6))]  # in a container this may well be ourselves
    assert read(reader).others_utilisation is None


def test_work_of_others_is_counted_from_the_last_question(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.compute = [(ME, 1 << 20)]
    now = round(time.time() * 1e6)
    driver.work = [(5, 90, now), (6, 90, now + 7), (5, 70, now - 3_000_000)]
    assert read(reader).others_utilisation == 100
    assert read(reader).others_utilisation == 0  # success with nothing to tell, which pynvml raises as an error
    assert driver.asked_since == now + 7
    driver.codes["nvmlDeviceGetProcessUtilization"] = NOT_FOUND
    assert read(reader).others_utilisation == 0


@pytest.mark.parametrize("code", [LOST, 1, 9, 16, 18, 28])
@pytest.mark.parametrize("name", ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetProcessUtilization", "*"])
def test_a_lost_card_is_said(name: str, code: int, driver: FakeDriver, reader: NvmlReader) -> None:
    driver.compute = [(ME, 1)]
    driver.codes = {name: code}
    with pytest.raises(CardLost, match="RTX 4070 does not answer"):
        read(reader)


def test_an_unknown_error_everywhere_means_lost_and_reopening_helps(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.codes = {"*": UNKNOWN}
    with pytest.raises(CardLost, match="Unknown Error"):
        read(reader)
    with pytest.raises(CardLost):
        reader.reopen()
    driver.codes = {}
    reader.reopen()
    assert read(reader).temperature == 61
    assert driver.open == 1
    reader.close()
    reader.close()
    assert driver.open == 0


def test_a_card_that_tells_nothing_at_all_is_not_lost(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.codes = {"*": NOT_SUPPORTED}
    assert read(reader) == HealthSample(10.0, 1e9, "NVIDIA GeForce RTX 4070")


@pytest.mark.parametrize(("state", "shown"), [(0, 0), (15, 15), (32, None)])
def test_an_unknown_performance_state_is_none(
    state: int, shown: int | None, driver: FakeDriver, reader: NvmlReader
) -> None:
    driver.pstate = state
    assert read(reader).performance_state == shown


@pytest.mark.parametrize(
    ("visible", "card"),
    [("", ("index", 0)), ("1,0", ("index", 1)), ("GPU-abc, 0", ("uuid", "GPU-abc")), ("GPU-a", ("index", 0)),
     ("-1", ("index", 0))],
)  # fmt: skip
def test_the_card_that_cuda_takes_first_is_watched(
    visible: str, card: tuple[str, object], nvml: tuple[FakeDriver, ModuleType]
) -> None:
    driver, api = nvml
    driver.names = {("index", 0): "A", ("index", 1): "B", ("uuid", "GPU-abc"): "C"}
    reader = NvmlReader(api, visible=visible)
    assert driver.card == card
    assert reader.name == driver.names[card]


def test_the_card_at_an_address_is_followed_also_after_a_loss(driver: FakeDriver, reader: NvmlReader) -> None:
    driver.names["bus", "0000:41:00.0"] = "NVIDIA H200"
    reader.follow("0000:41:00.0")
    assert read(reader).card == "NVIDIA H200"
    with pytest.raises(CardLost, match="no card at 0000:99:00.0"):
        reader.follow("0000:99:00.0")
    assert read(reader).card == "NVIDIA H200"
    reader.reopen()
    assert driver.card == ("bus", "0000:41:00.0")


def test_no_driver_or_no_card_is_a_reason(nvml: tuple[FakeDriver, ModuleType]) -> None:
    driver, api = nvml
    driver.codes = {"nvmlInitWithFlags": DRIVER_NOT_LOADED}
    with pytest.raises(HealthError, match="NVML does not start: Driver Not Loaded. Install"):
        NvmlReader(api)
    driver.codes, driver.names = {}, {}
    with pytest.raises(HealthError, match="finds no card") as raised:
        NvmlReader(api)
    assert not isinstance(raised.value, CardLost)
    assert driver.open == 0


def test_no_package_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(HealthError, match="pip install nvidia-ml-py"):
        open_card()


def test_importing_the_watch_asks_for_no_driver() -> None:
    program = "import sys, engines.health, engines.health.nvml; sys.exit('pynvml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_the_bits_are_those_of_nvml() -> None:
    import pynvml

    names = {
        "GpuIdle": "idle", "ApplicationsClocksSetting": "application clocks", "SwPowerCap": "power cap",
        "HwSlowdown": "hardware slowdown", "SyncBoost": "sync boost", "SwThermalSlowdown": "thermal software",
        "HwThermalSlowdown": "thermal hardware", "HwPowerBrakeSlowdown": "power brake",
        "DisplayClockSetting": "display clocks",
    }  # fmt: skip
    for name, word in names.items():
        assert throttle_words(getattr(pynvml, f"nvmlClocksEventReason{name}")) == (word,)
    assert throttle_words(pynvml.nvmlClocksEventReasonNone) == ()


def test_error_codes_are_those_of_nvml() -> None:
    import pynvml

    from engines.health import nvml

    lost = ("UNINITIALIZED", "DRIVER_NOT_LOADED", "GPU_IS_LOST", "RESET_REQUIRED", "LIB_RM_VERSION_MISMATCH",
            "GPU_NOT_FOUND")  # fmt: skip
    assert {getattr(pynvml, f"NVML_ERROR_{name}") for name in lost} == nvml._LOST
    failing = ("TIMEOUT", "OPERATING_SYSTEM", "UNKNOWN")
    assert {getattr(pynvml, f"NVML_ERROR_{name}") for name in failing} == nvml._FAILING
    assert (pynvml.NVML_SUCCESS, pynvml.NVML_ERROR_NOT_FOUND) == (nvml._SUCCESS, nvml._NOT_FOUND)


def test_words_come_worst_first() -> None:
    assert throttle_words(0x40 | 0x08 | 0x04) == ("thermal hardware", "power cap")
    assert throttle_words(0x08 | 0x01) == ("hardware slowdown", "idle")
    assert throttle_words(0x1000 | 0x01) == ("idle", "reason 0x1000")


@given(st.integers(0, (1 << 64) - 1))
def test_no_reason_is_swallowed(reasons: int) -> None:
    words = throttle_words(reasons)
    assert bool(words) == bool(reasons)
    assert len(set(words)) == len(words)
