"""Reads a card through NVML, NVIDIA's management library (package ``nvidia-ml-py``, module ``pynvml``).

Function names, units and error codes are those of the NVML API reference. Cards differ in what they tell: a field that
is not supported is None.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from typing import Any

from engines.health.sample import CardLost, HealthError, HealthSample

_SUCCESS, _NOT_FOUND = 0, 6
_FAILING = frozenset({10, 17, 999})
"""NVML_ERROR_TIMEOUT, OPERATING_SYSTEM, UNKNOWN: some laptops say so of one field for ever; of all fields it means that
the card is lost."""

_LOST = frozenset({1, 9, 15, 16, 18, 28})
"""NVML_ERROR_UNINITIALIZED, DRIVER_NOT_LOADED, GPU_IS_LOST, RESET_REQUIRED, LIB_RM_VERSION_MISMATCH, GPU_NOT_FOUND."""

_THROTTLES: tuple[tuple[int, str], ...] = (
    (0x040, "thermal hardware"), (0x020, "thermal software"), (0x080, "power brake"), (0x008, "hardware slowdown"),
    (0x004, "power cap"), (0x200, "board limit"), (0x400, "reliability limit"), (0x010, "sync boost"),
    (0x100, "display clocks"), (0x002, "application clocks"), (0x001, "idle"),
)  # fmt: skip
"""Bits of nvmlClocksEventReasons in words, worst first."""

_FASTEST_TO_SLOWEST = range(16)


def throttle_words(reasons: int) -> tuple[str, ...]:
    """The bits of nvmlDeviceGetCurrentClocksEventReasons in plain words, worst first; an unknown bit keeps its number.

    0x008 is set beside whichever of heat or power brake slows the card, and says nothing more then.
    """
    words = [word for bit, word in _THROTTLES if reasons & bit and not (bit == 0x008 and reasons & 0x0C0)]
    rest = reasons & ~sum(bit for bit, _ in _THROTTLES)
    return (*words, f"reason {rest:#x}") if rest else tuple(words)


def open_card() -> NvmlReader:
    """The card that CUDA takes first. Raises ``HealthError`` when there is none to watch."""
    try:
        api = importlib.import_module("pynvml")
    except ImportError as error:
        raise HealthError(
            f"the package nvidia-ml-py cannot be imported ({error}).", "pip install nvidia-ml-py"
        ) from error
    return NvmlReader(api)


class NvmlReader:
    """A ``CardReader``. ``api`` is the module ``pynvml`` or what stands for it. Used from one thread.

    Raises ``HealthError`` at once when NVML or a card is not there.
    """

    def __init__(self, api: Any, pid: int | None = None, visible: str | None = None) -> None:
        self._api = api
        self._pid = os.getpid() if pid is None else pid
        self._visible = os.environ.get("CUDA_VISIBLE_DEVICES", "") if visible is None else visible
        self._mismatch: type[Exception] = getattr(api, "NVMLLibraryMismatchError", api.NVMLError)
        self._bus_id = ""
        self._open = False
        self._failure = ""
        self._answers = 0
        try:
            self._connect()
        except CardLost as error:
            self.close()
            raise HealthError(error.message, error.remedy) from error

    def read(self, at: float, wall: float) -> HealthSample:
        """The card now, a few ms of work. Raises ``CardLost``."""
        api = self._api
        self._failure, self._answers = "", 0
        load = self._ask("nvmlDeviceGetUtilizationRates")
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        power = self._ask("nvmlDeviceGetPowerUsage")
        limit = self._ask("nvmlDeviceGetEnforcedPowerLimit")
        state = self._ask("nvmlDeviceGetPerformanceState")
        reasons = self._first("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        temperature = self._first(
            "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", arguments=(api.NVML_TEMPERATURE_GPU,)
        )
        clocks = [self._ask("nvmlDeviceGetClockInfo", kind) for kind in (api.NVML_CLOCK_SM, api.NVML_CLOCK_MEM)]
        listed, ours = self._ours()
        others = self._others() if listed else None
        if self._failure and not self._answers:
            raise self._lost(self._failure)
        return HealthSample(
            at=at,
            wall=wall,
            card=self.name,
            utilisation=None if load is None else int(load.gpu),
            others_utilisation=others,
            memory_total=None if memory is None else int(memory.total),
            memory_used=None if memory is None else int(memory.used),
            memory_free=None if memory is None else int(memory.free),
            memory_ours=ours,
            temperature=None if temperature is None else int(temperature),
            power=None if power is None else power / 1000,
            power_limit=None if limit is None else limit / 1000,
            sm_clock=clocks[0],
            memory_clock=clocks[1],
            performance_state=state if state in _FASTEST_TO_SLOWEST else None,
            throttles=None if reasons is None else throttle_words(int(reasons)),
        )

    def follow(self, bus_id: str) -> None:
        """Read the card at this PCI address from now on. Raises ``CardLost`` when NVML knows none there, and goes on
        with the one before."""
        before, self._bus_id = self._bus_id, bus_id
        try:
            self._choose()
        except CardLost:
            self._bus_id = before
            raise

    def reopen(self) -> None:
        """Close NVML and open it anew. Raises ``CardLost``."""
        self.close()
        self._connect()

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(self._api.NVMLError):  # a driver that is gone takes nothing back
            self._api.nvmlShutdown()

    # -- the card ------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        try:
            self._api.nvmlInit()
        except self._api.NVMLError as error:
            raise CardLost(f"NVML does not start: {error}.", "Install the card's driver and restart.") from error
        self._open = True
        self._choose()

    def _choose(self) -> None:
        api = self._api
        try:
            card = self._find()
            name = api.nvmlDeviceGetName(card)
        except api.NVMLError as error:
            place = f" at {self._bus_id}" if self._bus_id else ""
            raise CardLost(
                f"NVML finds no card{place}: {error}.", "Restart the machine if there should be one."
            ) from error
        self._card = card
        self.name = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        self._seen = round((time.time() - 1) * 1e6)

    def _find(self) -> Any:
        """The card told by its address, else the first of CUDA_VISIBLE_DEVICES, else the first."""
        api = self._api
        if self._bus_id:
            return api.nvmlDeviceGetHandleByPciBusId(self._bus_id)
        first = self._visible.split(",")[0].strip()
        if first.startswith(("GPU-", "MIG-")):
            with contextlib.suppress(api.NVMLError):  # CUDA takes shortened ids too, NVML does not
                return api.nvmlDeviceGetHandleByUUID(first)
        return api.nvmlDeviceGetHandleByIndex(int(first) if first.isdecimal() else 0)

    # -- questions -----------------------------------------------------------------------------------------------

    def _ask(self, name: str, *arguments: Any) -> Any:
        """NVML's answer about the card; None when this card, driver or package does not tell."""
        function = getattr(self._api, name, None)
        if function is None:
            return None
        try:
            answer = function(self._card, *arguments)
        except self._api.NVMLError as error:
            if error.value in _LOST:
                raise self._lost(str(error)) from error
            if error.value in _FAILING:
                self._failure = str(error)
            return None
        except self._mismatch:
            return None
        self._answers += 1
        return answer

    def _first(self, *names: str, arguments: tuple[Any, ...] = ()) -> Any:
        """The answer under the first of a function's names, new and old, that has one."""
        for name in names:
            answer = self._ask(name, *arguments)
            if answer is not None:
                return answer
        return None

    def _lost(self, said: str) -> CardLost:
        return CardLost(f"{self.name} does not answer: {said}.", "The show goes on without it; restart to get it back.")

    def _ours(self) -> tuple[bool, int | None]:
        """Whether NVML lists this process, and its memory. In a container it may not; Windows tells no memory."""
        mine = [
            process.usedGpuMemory
            for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")
            for process in self._ask(name) or ()
            if process.pid == self._pid
        ]
        told = [int(size) for size in mine if size is not None]
        return bool(mine), max(told, default=None)  # a process of both kinds is listed twice with one memory

    def _others(self) -> int | None:
        """Percent of the multiprocessors that other processes kept busy since the last question."""
        api = self._api
        try:
            samples = api.nvmlDeviceGetProcessUtilization(self._card, self._seen)
        except api.NVMLError as error:
            if error.value in _LOST:
                raise self._lost(str(error)) from error
            return 0 if error.value in (_SUCCESS, _NOT_FOUND) else None  # nobody worked; or it is not told
        self._seen = max((int(sample.timeStamp) for sample in samples), default=self._seen)
        return min(100, sum(int(sample.smUtil) for sample in samples if sample.pid != self._pid))
