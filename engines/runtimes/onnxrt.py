"""The ONNX Runtime session: the CPU path of every engine, and the reference for the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engines.errors import ModelFileError, SessionError, SessionFailure
from engines.session import Array, Session

_DTYPES: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


def default_threads() -> int:
    """Cores this process may use, at most 8: decoders are bound by memory beyond that."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, available))


class OnnxRuntimeSession(Session):
    """A graph on ONNX Runtime's CPU provider.

    ``model`` is a path or the serialised bytes. ``threads`` 0 takes all usable cores. ``arena`` False gives memory back
    after each run, which keeps engines with ever-changing shapes flat at a small cost.
    """

    def __init__(
        self,
        name: str,
        model: Path | bytes,
        *,
        threads: int = 0,
        arena: bool = True,
        optimise: bool = True,
        spin: bool = False,
    ) -> None:
        self.name = name
        self._model = model
        self._threads = threads or default_threads()
        self._arena = arena
        self._optimise = optimise
        self._spin = spin
        self._session: Any = None
        self._inputs: dict[str, tuple[type[np.generic], int]] = {}
        self._outputs: tuple[str, ...] = ()

    @property
    def runtime(self) -> str:
        import onnxruntime

        return f"onnxruntime {onnxruntime.__version__} CPU, {self._threads} threads"

    @property
    def loaded(self) -> bool:
        return self._session is not None

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._outputs

    def load(self) -> None:
        if self.loaded:
            raise SessionError(f"{self.name} is loaded already.", "Close it first.")
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = self._arena
        options.enable_mem_pattern = False
        # Threads that spin between operators steal the core from the renderer and the audio on small machines.
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if self._spin else "0")
        if not self._optimise:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        source = str(self._model) if isinstance(self._model, Path) else self._model
        if isinstance(self._model, Path) and not self._model.exists():
            raise ModelFileError(f"{self.name}: {self._model} does not exist.", "Fetch or build the model again.")
        try:
            self._session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises its own classes, all derived from Exception
            raise ModelFileError(
                f"{self.name}: ONNX Runtime refuses the graph: {error}", "Build or fetch it again."
            ) from error
        self._inputs = {i.name: (_DTYPES[i.type], len(i.shape)) for i in self._session.get_inputs()}
        self._outputs = tuple(o.name for o in self._session.get_outputs())

    def run(self, inputs: Mapping[str, Array], outputs: tuple[str, ...] | None = None) -> dict[str, Array]:
        session = self._session
        if session is None:
            raise SessionError(f"{self.name} is not loaded.", "Call load() first.")
        for name, (dtype, rank) in self._inputs.items():
            value = inputs.get(name)
            if value is None:
                raise SessionError(f"{self.name}: input {name!r} is missing; it takes {sorted(self._inputs)}.")
            if value.dtype != dtype or value.ndim != rank:
                raise SessionError(
                    f"{self.name}: input {name!r} is {value.dtype} of rank {value.ndim}, "
                    f"it must be {np.dtype(dtype)} of rank {rank}."
                )
        unknown = inputs.keys() - self._inputs.keys()
        if unknown:
            raise SessionError(f"{self.name}: unknown inputs {sorted(unknown)}; it takes {sorted(self._inputs)}.")
        names = outputs or self._outputs
        try:
            values = session.run(list(names), dict(inputs))
        except Exception as error:
            raise SessionFailure(f"{self.name}: the run failed: {error}") from error
        return dict(zip(names, values, strict=True))

    @property
    def native(self) -> Any:
        """The ``onnxruntime.InferenceSession``, for IO binding. Raises ``SessionError`` when not loaded."""
        if self._session is None:
            raise SessionError(f"{self.name} is not loaded.", "Call load() first.")
        return self._session

    def close(self) -> None:
        self._session = None
        self._inputs = {}
        self._outputs = ()
