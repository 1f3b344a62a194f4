"""A card made of host memory: PyCUDA's and TensorRT's verbs on NumPy and ONNX Runtime, so that the code around them is
tested without a GPU. A plan is a small JSON file that names an ONNX graph and its profiles.

Between ``begin`` and ``end`` of a CUDA graph nothing runs; what was asked for is kept and done at each launch. As with
PyCUDA, a thread must have pushed the context to take or give back memory and streams; ``FakeCuda.strays`` lists what
was let go of by a thread that had not.
"""

from __future__ import annotations

import ctypes
import json
import threading
import weakref
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import onnxruntime
import pytest

from engines.models import decoder_trt
from engines.trt import session as session_module
from engines.trt.device import Device
from engines.trt.flavours import Card, Choice, Flavour, OutOfMemory, TensorRTError

CARD = Card("Fake card", 89, 8 << 30, 13000)


class Block:
    """Device memory. Freed blocks are poisoned, so that a late reader is noticed."""

    def __init__(self, card: FakeCuda, size: int) -> None:
        self._card = card
        self._bytes = np.full(size + 256, 0xAB, np.uint8)
        card.blocks[self._bytes.ctypes.data] = self

    @property
    def size(self) -> int:
        return len(self._bytes)

    def __int__(self) -> int:
        return int(self._bytes.ctypes.data)

    __index__ = __int__

    def free(self) -> None:
        self._card.need_context("freeing a block")
        self._bytes[:] = 0xFF
        del self._card.blocks[self._bytes.ctypes.data]


class Stream:
    handle = 7

    def __init__(self, card: FakeCuda, flags: int = 0) -> None:
        card.need_context("making a stream")
        assert flags == 1, "a stream that waits for the default one"
        weakref.finalize(self, card.let_go, "a stream").atexit = False

    def synchronize(self) -> None: ...


class PrimaryContext:
    """As PyCUDA's: a stack for each thread, ``pop`` of the calling thread's."""

    def __init__(self, card: FakeCuda) -> None:
        self._card = card

    def push(self) -> None:
        self._card.depth += 1

    def pop(self) -> None:
        assert self._card.depth > 0, "cannot pop non-current context"
        self._card.depth -= 1


class FakeCuda:
    """Stands for ``pycuda.driver``. ``room`` bytes can be allocated; ``capturing`` collects the calling thread's work.

    ``refuse`` is asked with the kind of memory ("block", "page-locked" or "context") and its bytes before each is
    taken, and makes it fail.
    """

    class Error(Exception):
        """As ``pycuda.driver.Error``."""

    class MemoryError(Error):
        """As ``pycuda.driver.MemoryError``."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.room = room
        self.blocks: dict[int, Block] = {}
        self.launches = 0
        self.refuse: Callable[[str, int], bool] = lambda kind, size: False
        self.strays: list[str] = []
        self.log = SimpleNamespace(last_error="")
        self.contexts: weakref.WeakSet[FakeContext] = weakref.WeakSet()
        self._own = threading.local()

    def init(self) -> None: ...

    def Device(self, number: int) -> Any:
        card = self

        class Found:
            def retain_primary_context(self) -> PrimaryContext:
                return PrimaryContext(card)

            def pci_bus_id(self) -> str:
                return "0000:01:00.0"

        return Found()

    def Stream(self, flags: int = 0) -> Stream:
        return Stream(self, flags)

    @property
    def depth(self) -> int:
        """How often the calling thread has pushed the context."""
        return int(getattr(self._own, "depth", 0))

    @depth.setter
    def depth(self, value: int) -> None:
        self._own.depth = value

    @property
    def capturing(self) -> list[Callable[[], None]] | None:
        return getattr(self._own, "capturing", None)

    @capturing.setter
    def capturing(self, work: list[Callable[[], None]] | None) -> None:
        self._own.capturing = work

    def need_context(self, what: str) -> None:
        if not self.depth:
            raise self.Error(f"{what}: no currently active context?")

    def let_go(self, what: str) -> None:
        if not self.depth:
            self.strays.append(f"{what} on {threading.current_thread().name}")

    def take(self, kind: str, size: int) -> None:
        self.need_context(kind)
        if self.refuse(kind, size):
            raise self.MemoryError(f"{kind} of {size} bytes failed: out of memory")

    @property
    def used(self) -> int:
        return sum(block.size for block in list(self.blocks.values()))

    def do(self, work: Callable[[], None]) -> None:
        if self.capturing is not None:
            self.capturing.append(work)
        else:
            work()

    def mem_alloc(self, size: int) -> Block:
        self.take("block", size)
        if self.used + size > self.room:
            raise self.MemoryError("cuMemAlloc failed: out of memory")
        return Block(self, size)

    def mem_get_info(self) -> tuple[int, int]:
        return self.room - self.used, self.room

    def pagelocked_empty(self, size: int, dtype: Any) -> np.ndarray:
        self.take("page-locked", size)
        made = np.zeros(size, dtype)
        weakref.finalize(made, self.let_go, "page-locked memory").atexit = False
        return made

    def memset_d8_async(self, target: int, value: int, count: int, stream: Any) -> None:
        self.need_context("memset")
        self.do(lambda: ctypes.memset(int(target), value, count) and None)

    def memcpy_htod_async(self, target: int, source: np.ndarray, stream: Any = None) -> None:
        assert source.flags.c_contiguous
        self.do(lambda: ctypes.memmove(int(target), source.ctypes.data, source.nbytes) and None)

    def memcpy_dtoh_async(self, target: np.ndarray, source: int, stream: Any = None) -> None:
        assert target.flags.c_contiguous
        self.do(lambda: ctypes.memmove(target.ctypes.data, int(source), target.nbytes) and None)

    memcpy_dtoh = memcpy_dtoh_async

    def memcpy_dtod_async(self, target: int, source: int, size: int, stream: Any = None) -> None:
        self.do(lambda: ctypes.memmove(int(target), int(source), size) and None)

    def Memcpy3D(self) -> Any:
        card = self

        class Copy:
            src_pitch = dst_pitch = src_height = dst_height = 0
            width_in_bytes = height = depth = src_x_in_bytes = dst_x_in_bytes = 0

            def set_src_device(self, place: Any) -> None:
                self.source = int(place)

            def set_dst_device(self, place: Any) -> None:
                self.target = int(place)

            def __call__(self, stream: Any) -> None:
                card.do(self._copy)

            def _copy(self) -> None:
                assert self.src_x_in_bytes + self.width_in_bytes <= self.src_pitch and self.height <= self.src_height
                assert self.dst_x_in_bytes + self.width_in_bytes <= self.dst_pitch and self.height <= self.dst_height
                for layer in range(self.depth):
                    for row in range(self.height):
                        ctypes.memmove(
                            self.target + (layer * self.dst_height + row) * self.dst_pitch + self.dst_x_in_bytes,
                            self.source + (layer * self.src_height + row) * self.src_pitch + self.src_x_in_bytes,
                            self.width_in_bytes,
                        )

        return Copy()


class TensorIOMode(Enum):
    INPUT = 0
    OUTPUT = 1


class FakeEngine:
    def __init__(self, cuda: FakeCuda, plan: dict[str, Any]) -> None:
        self.cuda = cuda
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(plan["graph"], options)
        self.profiles = plan["profiles"]
        types = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int32)": np.int32}
        self.values = [*self.session.get_inputs(), *self.session.get_outputs()]
        self.inputs = {value.name for value in self.session.get_inputs()}
        self.types = {value.name: np.dtype(types.get(value.type, np.int64)) for value in self.values}
        self.num_io_tensors = len(self.values)
        self.num_optimization_profiles = len(self.profiles)

    def get_tensor_name(self, index: int) -> str:
        return str(self.values[index].name)

    def get_tensor_mode(self, name: str) -> TensorIOMode:
        return TensorIOMode.INPUT if name in self.inputs else TensorIOMode.OUTPUT

    def get_tensor_dtype(self, name: str) -> Any:
        return self.types[name]

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        value = next(value for value in self.values if value.name == name)
        return tuple(size if isinstance(size, int) else -1 for size in value.shape)

    def get_tensor_profile_shape(self, name: str, profile: int) -> list[list[int]]:
        return self.profiles[profile][name]  # type: ignore[no-any-return]

    def create_execution_context(self) -> FakeContext | None:
        if self.cuda.refuse("context", 0):
            return None
        return FakeContext(self)


class FakeContext:
    """Runs at once; output shapes come from a run on zeros, as TensorRT infers them."""

    fail: ClassVar[str] = ""
    refuse: ClassVar[str] = ""
    """Refuse to run, and say this in the log."""

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        self.profile = 0
        self.addresses: dict[str, int] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._known: dict[Any, dict[str, tuple[int, ...]]] = {}
        engine.cuda.contexts.add(self)

    def set_optimization_profile_async(self, profile: int, stream: int) -> bool:
        self.profile = profile
        return profile < len(self.engine.profiles)

    def set_tensor_address(self, name: str, address: int) -> bool:
        self.addresses[name] = address
        return True

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        ranges = self.engine.profiles[self.profile].get(name)
        if ranges is None:
            return tuple(shape) == self.engine.get_tensor_shape(name)
        if not all(low <= size <= high for low, size, high in zip(ranges[0], shape, ranges[2], strict=True)):
            return False
        self.shapes[name] = tuple(shape)
        return True

    def _shape(self, name: str) -> tuple[int, ...]:
        return self.shapes.get(name) or self.engine.get_tensor_shape(name)

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        if name in self.engine.inputs:
            return self._shape(name)
        key = tuple(sorted(self.shapes.items()))
        if key not in self._known:
            zeros = {n: np.zeros(self._shape(n), self.engine.types[n]) for n in self.engine.inputs}
            found = self.engine.session.run(None, zeros)
            outputs = self.engine.session.get_outputs()
            self._known[key] = {o.name: v.shape for o, v in zip(outputs, found, strict=True)}
        return self._known[key][name]

    def execute_async_v3(self, stream: int) -> bool:
        if FakeContext.refuse:
            self.engine.cuda.log.last_error = FakeContext.refuse
            return False
        shapes, addresses = dict(self.shapes), dict(self.addresses)

        def run() -> None:
            if FakeContext.fail:
                raise FakeCuda.Error(FakeContext.fail)
            inputs = {}
            for name in self.engine.inputs:
                shape = shapes.get(name) or self.engine.get_tensor_shape(name)
                inputs[name] = _at(addresses[name], shape, self.engine.types[name]).copy()
            for value, made in zip(
                self.engine.session.get_outputs(), self.engine.session.run(None, inputs), strict=True
            ):
                _at(addresses[value.name], made.shape, made.dtype)[...] = made

        self.engine.cuda.do(run)
        return True


def _at(address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype).reshape(shape)


class FakeApi:
    TensorIOMode = TensorIOMode

    @staticmethod
    def nptype(kind: Any) -> Any:
        return kind


class FakeRuntime:
    def __init__(self, cuda: FakeCuda) -> None:
        self._cuda = cuda
        self._thread = threading.get_ident()

    def deserialize_cuda_engine(self, blob: bytes) -> FakeEngine | None:
        assert threading.get_ident() == self._thread, "one runtime for each thread"
        try:
            return FakeEngine(self._cuda, json.loads(blob))
        except ValueError:
            return None


class FakeDevice(Device):
    """A device on such a card; all else is the real one's."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.choice = Choice(Flavour("tensorrt", "10.0"), CARD, "fake")
        self.cuda: FakeCuda
        cuda = FakeCuda(room)
        api = FakeApi()
        api.Runtime = lambda log: FakeRuntime(cuda)  # type: ignore[attr-defined]
        self._begin(self.choice, cuda, api, lambda api: cuda.log)


def put_graphs(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> None:
    """Have sessions and decoders capture on ``cuda``."""
    graph = fake_graph(cuda)
    monkeypatch.setattr(session_module, "CudaGraph", graph)
    monkeypatch.setattr(decoder_trt, "CudaGraph", graph)


def put_plans(monkeypatch: pytest.MonkeyPatch, folder: Path, kept: Callable[[Path], Path] = lambda plan: plan) -> None:
    """Have decoders built at once into ``folder``; ``kept`` gets each plan and gives the one to use."""
    monkeypatch.setattr(
        decoder_trt, "ensure_plan",
        lambda request, *_: kept(write_plan(folder / f"{request.name}.plan", request.graph, request.profiles)),
    )  # fmt: skip


def fake_graph(cuda: FakeCuda) -> type:
    """A stand-in for ``engines.trt.driver.CudaGraph`` on ``cuda``."""

    class FakeGraph:
        refuse = False
        no_room = False

        def __init__(self, stream: int) -> None:
            self.work: list[Callable[[], None]] = []

        def begin(self) -> None:
            assert cuda.capturing is None
            if FakeGraph.refuse:
                raise TensorRTError("beginning a capture failed with CUDA error 900.")
            cuda.capturing = []

        def end(self) -> None:
            assert cuda.capturing is not None
            self.work, cuda.capturing = cuda.capturing, None
            if FakeGraph.no_room:
                raise OutOfMemory("making a CUDA graph finds no room on the card.")

        def abandon(self) -> None:
            cuda.capturing = None

        def launch(self) -> None:
            cuda.launches += 1
            for work in self.work:
                work()

        def close(self) -> None:
            self.work.clear()

    return FakeGraph


def write_plan(path: Path, graph: Path, profiles: Any) -> Path:
    path.write_text(json.dumps({"graph": str(graph), "profiles": profiles}), encoding="utf-8")
    return path
