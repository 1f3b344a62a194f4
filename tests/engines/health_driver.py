"""An NVIDIA driver made of Python: stands for libnvidia-ml under the real ``pynvml``, which fills and reads its own
ctypes structures as it does on a machine with a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE, DRIVER_NOT_LOADED, LOST, UNKNOWN = 3, 6, 7, 9, 15, 999
NO_MEMORY_TOLD = (1 << 64) - 1


class FakeDriver:
    """Functions of the driver by name. ``codes`` makes a function (or ``*``: all about a card) return an error,
    ``absent`` names those an older driver lacks. Cards are told apart by how they were asked for."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.absent: set[str] = set()
        self.calls: list[str] = []
        self.open = 0
        self.card: tuple[str, Any] = ("", None)
        self.names: dict[tuple[str, Any], str] = {("index", 0): "NVIDIA GeForce RTX 4070"}
        self.compute: list[tuple[int, int]] = []
        self.graphics: list[tuple[int, int]] = []
        self.work: list[tuple[int, int, int]] = []  # pid, percent, µs
        self.asked_since = 0
        self.memory = (12_282 << 20, 9_000 << 20, 3_282 << 20)  # total, free, used
        self.load = 37
        self.celsius = 61
        self.milliwatts = (145_300, 200_000)
        self.megahertz = {1: 2475, 2: 10501}
        self.pstate = 2
        self.reasons = 0x4

    def __getattr__(self, name: str) -> Callable[..., Any]:
        do = getattr(type(self), f"_{name}", None)
        if do is None or name in self.absent:
            raise AttributeError(name)

        def function(*arguments: Any) -> Any:
            self.calls.append(name)
            code = self.codes.get(name) or (self.codes.get("*") if name.startswith("nvmlDevice") else None)
            return do(self, *arguments) if code is None else code

        return function

    def _nvmlErrorString(self, code: Any) -> bytes:
        return f"error {code}".encode()

    def _nvmlInitWithFlags(self, flags: int) -> int:
        self.open += 1
        return 0

    def _nvmlShutdown(self) -> int:
        self.open -= 1
        return 0

    def _pick(self, how: str, which: Any) -> int:
        if (how, which) not in self.names:
            return NOT_FOUND
        self.card = (how, which)
        return 0

    def _nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        return self._pick("index", index.value)

    def _nvmlDeviceGetHandleByUUID(self, uuid: Any, handle: Any) -> int:
        return self._pick("uuid", uuid.value.decode())

    def _nvmlDeviceGetHandleByPciBusId_v2(self, bus_id: Any, handle: Any) -> int:
        return self._pick("bus", bus_id.value.decode())

    def _nvmlDeviceGetName(self, handle: Any, text: Any, size: Any) -> int:
        text.value = self.names[self.card].encode()
        return 0

    def _nvmlDeviceGetUtilizationRates(self, handle: Any, out: Any) -> int:
        out._obj.gpu, out._obj.memory = self.load, 12
        return 0

    def _nvmlDeviceGetMemoryInfo(self, handle: Any, out: Any) -> int:
        out._obj.total, out._obj.free, out._obj.used = self.memory
        return 0

    def _nvmlDeviceGetTemperatureV(self, handle: Any, out: Any) -> int:
        assert out._obj.version and out._obj.sensorType == 0
        out._obj.temperature = self.celsius
        return 0

    def _nvmlDeviceGetTemperature(self, handle: Any, sensor: Any, out: Any) -> int:
        assert sensor.value == 0
        out._obj.value = self.celsius
        return 0

    def _nvmlDeviceGetPowerUsage(self, handle: Any, out: Any) -> int:
        out._obj.value = self.milliwatts[0]
        return 0

    def _nvmlDeviceGetEnforcedPowerLimit(self, handle: Any, out: Any) -> int:
        out._obj.value = self.milliwatts[1]
        return 0

    def _nvmlDeviceGetClockInfo(self, handle: Any, kind: Any, out: Any) -> int:
        out._obj.value = self.megahertz[kind.value]
        return 0

    def _nvmlDeviceGetPerformanceState(self, handle: Any, out: Any) -> int:
        out._obj.value = self.pstate
        return 0

    def _nvmlDeviceGetCurrentClocksEventReasons(self, handle: Any, out: Any) -> int:
        out._obj.value = self.reasons
        return 0

    _nvmlDeviceGetCurrentClocksThrottleReasons = _nvmlDeviceGetCurrentClocksEventReasons

    def _list(self, processes: list[tuple[int, int]], count: Any, out: Any) -> int:
        room = count._obj.value
        count._obj.value = len(processes)
        if not processes:
            return 0
        if out is None or room < len(processes):
            return INSUFFICIENT_SIZE
        for place, (pid, memory) in enumerate(processes):
            out[place].pid, out[place].usedGpuMemory = pid, memory
        return 0

    def _nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, count: Any, out: Any) -> int:
        return self._list(self.compute, count, out)

    def _nvmlDeviceGetGraphicsRunningProcesses_v3(self, handle: Any, count: Any, out: Any) -> int:
        return self._list(self.graphics, count, out)

    def _nvmlDeviceGetProcessUtilization(self, handle: Any, out: Any, count: Any, since: Any) -> int:
        self.asked_since = since.value
        fresh = [row for row in self.work if row[2] > since.value]
        room = count._obj.value
        count._obj.value = len(fresh)
        if not fresh:
            return 0
        if out is None or room < len(fresh):
            return INSUFFICIENT_SIZE
        for place, (pid, percent, at) in enumerate(fresh):
            out[place].pid, out[place].smUtil, out[place].timeStamp = pid, percent, at
        return 0


@contextmanager
def driver_under_pynvml() -> Iterator[tuple[FakeDriver, ModuleType]]:
    """The real ``pynvml`` with a fake driver as its library."""
    import pynvml

    driver = FakeDriver()
    with (
        patch.object(pynvml, "nvmlLib", driver),
        patch.dict(pynvml._nvmlGetFunctionPointer_cache, clear=True),
        patch.object(pynvml, "_nvmlLib_refcount", 0),
    ):
        yield driver, pynvml
