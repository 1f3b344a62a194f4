"""A TensorRT engine behind ``Session``: buffers taken once, copies that do not wait, graphs for shapes that repeat.

All three flavours share one IO path (named tensors, ``execute_async_v3``). A session is used by one thread at a time
that has the ``Device``'s context; its work runs on a stream of its own.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import SessionError
from engines.session import Array, Session
from engines.trt.device import Device
from engines.trt.driver import CudaGraph, capture
from engines.trt.flavours import OutOfMemory, TensorRTError

_ALIGN = 256
_KEPT_GRAPHS = 48


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """A tensor that stays on the card. Valid until its session runs again or closes."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(slots=True)
class Place:
    """One input or output: its address on the card and its page-locked bytes on the host (none when the caller's)."""

    name: str
    dtype: np.dtype[Any]
    is_input: bool
    greatest: tuple[int, ...]
    device: int = 0
    host: NDArray[np.uint8] | None = None
    offset: int = 0

    @property
    def room(self) -> int:
        return math.prod(self.greatest) * self.dtype.itemsize


class TensorRTSession(Session):
    """An engine from a plan file.

    ``fixed`` names tensors whose addresses the caller binds itself (a KV cache); they get no buffers here. ``graphs``
    captures one CUDA graph per set of input shapes, up to a few dozen.
    """

    def __init__(
        self, name: str, plan: Path, device: Device, *, fixed: Mapping[str, int] | None = None, graphs: bool = True,
        stream: Any = None,
    ) -> None:  # fmt: skip
        self.name = name
        self._plan = plan
        self._device = device
        self._fixed = dict(fixed or {})
        self._graphs_wanted = graphs
        self._runtime: Any = None
        self._engine: Any = None
        self._context: Any = None
        self._given_stream = stream
        self._stream: Any = stream
        self._tensors: dict[str, Place] = {}
        self._blocks: list[Any] = []
        self._graphs: OrderedDict[tuple[Any, ...], CudaGraph | None] = OrderedDict()
        self._kept_graphs = _KEPT_GRAPHS
        self._seen: set[tuple[Any, ...]] = set()
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.graph_failure = ""

    @property
    def runtime(self) -> str:
        return self._device.label

    @property
    def loaded(self) -> bool:
        return self._context is not None

    @property
    def stream(self) -> Any:
        return self._stream

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self._tensors.values() if not tensor.is_input)

    def fix(self, addresses: Mapping[str, int]) -> None:
        """Before ``load``: tensors that lie in the caller's memory, for now at ``addresses``."""
        self._fixed |= addresses

    def bind(self, addresses: Mapping[str, int]) -> None:
        """Other addresses for tensors that were fixed; they hold for runs queued from now on."""
        for name, address in addresses.items():
            self._context.set_tensor_address(name, address)

    def load(self, stream: Any = None) -> None:
        """Read the plan and take memory; ``stream`` is the caller's to share, else the session has its own.

        Raises ``TensorRTError``, ``OutOfMemory`` where that is for lack of room; nothing is kept then.
        """
        if self.loaded:
            raise SessionError(f"{self.name} is loaded already.", "Close it first.")
        try:
            with self._device.within_memory(self.name):
                self._engine = self._deserialize()
                self._context = self._engine.create_execution_context()
                if self._context is None:
                    raise self._device.no_room(self.name, int(getattr(self._engine, "device_memory_size", 0)))
                self._stream = stream or self._given_stream or self._device.stream()
                self._allocate()
        except BaseException:
            self.close()
            raise

    def run(self, inputs: Mapping[str, Array | DeviceArray], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """Run and bring ``outputs`` (all by default) to the host. Inputs may lie on the device."""
        self.launch(inputs)
        names = tuple(outputs) if outputs is not None else tuple(n for n in self.output_names if n not in self._fixed)
        return self.fetch(names)

    def launch(self, inputs: Mapping[str, Array | DeviceArray]) -> None:
        """Queue a run. Outputs stay on the card until ``fetch``, or are read there (``on_device``)."""
        if self._context is None:
            raise SessionError(f"{self.name} is not loaded.", "Call load() first.")
        key = self._bind(inputs)
        if self._graphs_wanted and not self.graph_failure:
            graph = self._graphs.get(key)
            if graph is not None:
                self._graphs.move_to_end(key)
                graph.launch()
                return
            if key in self._seen and self._kept_graphs:
                self._capture(key)
                return
            if self._kept_graphs:
                self._seen.add(key)
        self._execute()

    def fetch(self, names: Sequence[str]) -> dict[str, Array]:
        """The outputs ``names`` of the last run, as copies. Waits for the run."""
        cuda = self._device.cuda
        views = {}
        for name in names:
            tensor = self._tensors[name]
            shape = self._output_shape(name)
            size = math.prod(shape) * tensor.dtype.itemsize
            host = tensor.host
            if host is None:
                raise SessionError(f"{self.name}: {name!r} is bound to the caller's memory; read it there.")
            cuda.memcpy_dtoh_async(host[:size], tensor.device, self._stream)
            views[name] = host[:size].view(tensor.dtype).reshape(shape)
        self.wait()
        return {name: view.copy() for name, view in views.items()}

    def on_device(self, name: str) -> DeviceArray:
        """Output ``name`` of the last run, where it lies."""
        tensor = self._tensors[name]
        return DeviceArray(tensor.device, self._output_shape(name), tensor.dtype)

    def keep_graphs(self, count: int | None = None) -> None:
        """Keep at most ``count`` CUDA graphs from now on, those used last; None: as many as at first."""
        self._kept_graphs = _KEPT_GRAPHS if count is None else count
        self._trim_graphs()

    def wait(self) -> None:
        """Until all queued work is done. Raises ``TensorRTError`` when it failed on the card (``OutOfMemory``: for lack
        of room)."""
        try:
            with self._device.within_memory(self.name):
                self._stream.synchronize()
        except self._device.cuda.Error as error:
            raise TensorRTError(f"{self.name} failed on the card: {error}.", "The spare engine takes over.") from error

    def place(self, name: str) -> Place:
        """Where input or output ``name`` lies, for callers that fill buffers themselves."""
        return self._tensors[name]

    def set_shape(self, name: str, shape: tuple[int, ...]) -> None:
        """The shape of an input that the caller fills itself. Raises ``SessionError`` outside what was built."""
        if self._shapes.get(name) != shape:
            if not self._context.set_input_shape(name, shape):
                raise SessionError(f"{self.name}: {name!r} of shape {shape} is outside what was built.")
            self._shapes[name] = shape

    def execute(self) -> None:
        """Queue a run on what the buffers hold now; no copies."""
        self._execute()

    def close(self) -> None:
        for graph in self._graphs.values():
            if graph is not None:
                graph.close()
        self._graphs.clear()
        self._seen.clear()
        self._context = None
        self._engine = None
        self._runtime = None  # after what it made
        self._shapes.clear()
        for tensor in self._tensors.values():
            tensor.host = None
        self._tensors.clear()
        for block in self._blocks:
            block.free()
        self._blocks.clear()
        self._stream = self._given_stream

    # -- inside --------------------------------------------------------------------------------------------------

    def _deserialize(self) -> Any:
        try:
            blob = self._plan.read_bytes()
        except OSError as error:
            raise TensorRTError(f"The plan {self._plan.name} cannot be read: {error.strerror}.", "Build it.") from error
        self._runtime = self._device.runtime
        engine = self._runtime.deserialize_cuda_engine(blob)
        if engine is None:
            free, _ = self._device.memory()
            if free < len(blob):  # TensorRT does not say why
                raise self._device.no_room(self.name, len(blob))
            raise TensorRTError(
                f"The plan {self._plan.name} does not fit this card, driver or {self._device.flavour.label}.",
                "Build it again: main.py engines forget, then start again.",
            )
        return engine

    def _allocate(self) -> None:
        api, engine, context = self._device.api, self._engine, self._context
        places: list[Place] = []
        for index in range(engine.num_io_tensors):
            name = engine.get_tensor_name(index)
            is_input = engine.get_tensor_mode(name) == api.TensorIOMode.INPUT
            shape = tuple(engine.get_tensor_shape(name))
            if is_input and any(size < 0 for size in shape):
                shape = tuple(engine.get_tensor_profile_shape(name, 0)[2])
            tensor = Place(name, np.dtype(api.nptype(engine.get_tensor_dtype(name))), is_input, shape)
            self._tensors[name] = tensor
            places.append(tensor)
        self._set_greatest_outputs(places)
        total = 0
        for tensor in places:
            if tensor.name in self._fixed:
                tensor.device = self._fixed[tensor.name]
            else:
                tensor.offset = total
                total += -(-tensor.room // _ALIGN) * _ALIGN
        block = self._device.allocate(total)
        self._blocks.append(block)
        pinned = self._device.pinned(total)
        for tensor in places:
            if tensor.name not in self._fixed:
                tensor.device = int(block) + tensor.offset
                tensor.host = pinned[tensor.offset : tensor.offset + tensor.room]
            if not context.set_tensor_address(tensor.name, tensor.device):
                raise TensorRTError(f"{self.name}: the tensor {tensor.name!r} takes no address.")

    def _set_greatest_outputs(self, places: list[Place]) -> None:
        context = self._context
        for tensor in places:
            if tensor.is_input and -1 in tuple(self._engine.get_tensor_shape(tensor.name)):
                context.set_input_shape(tensor.name, tensor.greatest)
                self._shapes[tensor.name] = tensor.greatest
        for tensor in places:
            if not tensor.is_input:
                shape = tuple(context.get_tensor_shape(tensor.name))
                if any(size < 0 for size in shape):
                    raise TensorRTError(f"{self.name}: the greatest shape of {tensor.name!r} is not known: {shape}.")
                tensor.greatest = shape

    def _bind(self, inputs: Mapping[str, Array | DeviceArray]) -> tuple[Any, ...]:
        """Copy or point inputs to the card; the key of this set of shapes and addresses."""
        cuda = self._device.cuda
        key: list[Any] = []
        for name, tensor in self._tensors.items():
            if not tensor.is_input or name in self._fixed:
                continue
            value = inputs.get(name)
            if value is None:
                raise SessionError(f"{self.name}: input {name!r} is missing.")
            if value.dtype != tensor.dtype and not isinstance(value, DeviceArray):
                value = self._converted(name, value, tensor)
            shape = tuple(value.shape)
            if value.nbytes > tensor.room:
                raise SessionError(f"{self.name}: {name!r} is {shape}; at most {tensor.greatest} was built.")
            self.set_shape(name, shape)
            if isinstance(value, DeviceArray):
                cuda.memcpy_dtod_async(tensor.device, value.address, value.nbytes, self._stream)
            elif value.nbytes:
                host = tensor.host
                assert host is not None  # only fixed tensors have none
                flat = host[: value.nbytes]
                flat.view(tensor.dtype)[:] = value.reshape(-1)
                cuda.memcpy_htod_async(tensor.device, flat, self._stream)
            key.append(shape)
        missing = inputs.keys() - self._tensors.keys()
        if missing:
            raise SessionError(f"{self.name}: unknown inputs {sorted(missing)}; it takes {sorted(self._tensors)}.")
        return tuple(key)

    def _converted(self, name: str, value: Array, tensor: Place) -> Array:
        """64-bit integers become what the flavour takes; other types are an error."""
        if value.dtype.kind == tensor.dtype.kind == "i" or (value.dtype.kind == tensor.dtype.kind == "f"):
            return value.astype(tensor.dtype)
        raise SessionError(f"{self.name}: input {name!r} is {value.dtype}, it must be {tensor.dtype}.")

    def _execute(self) -> None:
        if not self._context.execute_async_v3(self._stream.handle):
            raise self._device.refusal(self.name)

    def _capture(self, key: tuple[Any, ...]) -> None:
        """Run these shapes once as they are (TensorRT asks for it after a change of shape), then capture the run."""
        self._execute()
        graph = CudaGraph(self._stream.handle)
        try:
            capture(graph, self._execute)
        except OutOfMemory:
            pass  # the run itself is queued; there may be room the next time
        except TensorRTError as error:
            self.graph_failure = str(error)
        else:
            self._graphs[key] = graph
            self._trim_graphs()

    def _trim_graphs(self) -> None:
        if len(self._graphs) > self._kept_graphs:
            self.wait()
        while len(self._graphs) > self._kept_graphs:
            _, old = self._graphs.popitem(last=False)
            if old is not None:
                old.close()

    def _output_shape(self, name: str) -> tuple[int, ...]:
        return tuple(int(size) for size in self._context.get_tensor_shape(name))
