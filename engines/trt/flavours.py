"""Which TensorRT flavour this machine has, what it can do, and why another is not used.

Three packages speak one API: ``tensorrt_rtx`` (RTX cards; builds without a GPU), ``tensorrt`` 10 and later (strongly
typed networks), ``tensorrt`` 8.6 (weakly typed, the FP16 flag; the last for Pascal). Never two of them in one process.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from engines.errors import EngineError

FlavourName = Literal["tensorrt_rtx", "tensorrt", "tensorrt_8"]
FLAVOUR_NAMES: tuple[FlavourName, ...] = ("tensorrt_rtx", "tensorrt", "tensorrt_8")
_RTX_BINDINGS = ("tensorrt_rtx_bindings", "tensorrt_rtx")
RTX_TARGETS = (75, 80, 86, 89, 120, 121)
"""Compute capabilities (major · 10 + minor) that TensorRT-RTX compiles for."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """One installed flavour. ``typed``: the graph's types rule (else casts are hints and the FP16 flag rules)."""

    name: FlavourName
    version: str

    @property
    def typed(self) -> bool:
        return self.name != "tensorrt_8"

    @property
    def builds_without_gpu(self) -> bool:
        return self.name == "tensorrt_rtx"

    @property
    def has_progress(self) -> bool:
        """Builds report their steps; otherwise only that they go on."""
        return self.name != "tensorrt_8"

    @property
    def has_timing_cache(self) -> bool:
        return self.name != "tensorrt_rtx"

    @property
    def int64_inputs(self) -> bool:
        return self.name != "tensorrt_8"

    @property
    def label(self) -> str:
        names = {"tensorrt_rtx": "TensorRT-RTX", "tensorrt": "TensorRT", "tensorrt_8": "TensorRT"}
        return f"{names[self.name]} {self.version}"


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU as the driver describes it. ``capability`` is major · 10 + minor; ``memory`` in bytes."""

    name: str
    capability: int
    memory: int
    driver: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs here: a flavour on a card, or neither with the reason."""

    flavour: Flavour | None
    card: Card | None
    reason: str


class TensorRTError(EngineError):
    """TensorRT, CUDA or a plan failed."""


class OutOfMemory(TensorRTError):
    """The card, or the host's page-locked memory, has no room. ``wanted``: the bytes asked for, 0 where TensorRT does
    not tell. ``free``: bytes free on the card then, None where they are not known."""

    def __init__(self, message: str, remedy: str = "", *, wanted: int = 0, free: int | None = None) -> None:
        super().__init__(message, remedy)
        self.wanted = wanted
        self.free = free


def installed() -> list[Flavour]:
    """Flavours whose packages are here, by package metadata alone: nothing is imported."""
    found: list[Flavour] = []
    for package in ("tensorrt_rtx_cu13_bindings", "tensorrt_rtx_cu12_bindings"):
        version = _version(package)
        if version:
            found.append(Flavour("tensorrt_rtx", version))
            break
    for package in ("tensorrt_cu13", "tensorrt_cu12", "tensorrt", "tensorrt_bindings"):
        version = _version(package)
        if version:
            found.append(Flavour("tensorrt_8" if version.startswith("8.") else "tensorrt", version))
            break
    return found


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def load_api(flavour: Flavour) -> Any:
    """The flavour's Python module. Raises ``TensorRTError`` when its libraries do not load."""
    try:
        if flavour.name == "tensorrt_rtx":
            importlib.import_module("tensorrt_rtx_libs")
            return importlib.import_module("tensorrt_rtx_bindings")
        for package in ("tensorrt_libs",):  # wheels of 8.6 keep their libraries in a package of their own
            if importlib.util.find_spec(package) is not None:
                importlib.import_module(package)
        return importlib.import_module("tensorrt")
    except (ImportError, OSError, RuntimeError) as error:
        raise TensorRTError(
            f"{flavour.label} is installed but cannot be loaded: {error}.", "Install it again, or use the CPU."
        ) from error


def usable_on(flavour: Flavour, capability: int) -> str:
    """Why ``flavour`` cannot run on a card of ``capability``; empty when it can."""
    if flavour.name == "tensorrt_rtx" and capability not in RTX_TARGETS:
        return f"TensorRT-RTX runs on GeForce and RTX cards from Turing on, not on compute capability {capability / 10}"
    if flavour.name == "tensorrt" and capability < 75:
        return f"TensorRT 10 and later need compute capability 7.5, this card has {capability / 10}"
    if flavour.name == "tensorrt_8" and not 60 <= capability <= 90:
        return f"TensorRT 8.6 serves compute capability 6.0 to 9.0, this card has {capability / 10}"
    return ""


@cache
def find_card() -> Card | str:
    """The first CUDA card, else why there is none. A child process looks: a broken driver may take it down."""
    program = (
        "import json, pycuda.driver as c; c.init(); d = c.Device(0); a, b = d.compute_capability(); "
        "print(json.dumps([d.name(), a * 10 + b, d.total_memory(), c.get_driver_version()]))"
    )
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the CUDA driver does not answer ({error})"
    if done.returncode == 0:
        name, capability, memory, driver = json.loads(done.stdout.strip().splitlines()[-1])
        return Card(str(name), int(capability), int(memory), int(driver))
    last = done.stderr.strip().splitlines()[-1:] or ["no message"]
    if "No module named" in last[0]:
        return "PyCUDA is not installed"
    return f"no usable CUDA card ({last[0][:160]})"


def choose(wanted: str = "auto") -> Choice:
    """The flavour to run: ``wanted`` is ``auto``, ``cpu`` or a flavour's name. Never raises."""
    if wanted == "cpu":
        return Choice(None, None, "the settings say CPU")
    flavours = installed()
    if not flavours:
        return Choice(None, None, "TensorRT is not installed")
    card = find_card()
    if isinstance(card, str):
        return Choice(None, None, card)
    reasons = []
    for flavour in flavours:
        if wanted not in ("auto", flavour.name):
            continue
        problem = usable_on(flavour, card.capability)
        if not problem:
            return Choice(flavour, card, f"{flavour.label} on {card.name}")
        reasons.append(problem)
    return Choice(None, card, "; ".join(reasons) or f"{wanted} is not installed")


def describe(flavour: Flavour) -> dict[str, object]:
    """The flavour and what it can do, for reports."""
    return {**asdict(flavour), "typed": flavour.typed, "progress": flavour.has_progress}
