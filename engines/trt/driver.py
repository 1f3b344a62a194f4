"""CUDA graphs through the driver library: PyCUDA has no API for them.

Eight functions of the CUDA driver API (Stream Management, Graph Management). Capture mode is thread-local, so that
another thread may allocate meanwhile.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from engines.trt.flavours import OutOfMemory, TensorRTError

_THREAD_LOCAL = 1
_OUT_OF_MEMORY = 2


@cache
def _library() -> Any:
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise TensorRTError(f"The CUDA driver library {name} cannot be loaded ({error}).", "Install it.") from error
    pointer = ctypes.c_void_p
    library.cuStreamBeginCapture_v2.argtypes = [pointer, ctypes.c_int]
    library.cuStreamEndCapture.argtypes = [pointer, ctypes.POINTER(pointer)]
    library.cuGraphInstantiateWithFlags.argtypes = [ctypes.POINTER(pointer), pointer, ctypes.c_ulonglong]
    library.cuGraphLaunch.argtypes = [pointer, pointer]
    library.cuGraphExecDestroy.argtypes = [pointer]
    library.cuGraphDestroy.argtypes = [pointer]
    library.cuGraphGetNodes.argtypes = [pointer, pointer, ctypes.POINTER(ctypes.c_size_t)]
    return library


def _check(code: int, what: str) -> None:
    if code == _OUT_OF_MEMORY:
        raise OutOfMemory(f"{what} finds no room on the card.", "Close other programs on the card.")
    if code:
        raise TensorRTError(f"{what} failed with CUDA error {code}.")


class CudaGraph:
    """Work on one stream, captured once and launched any number of times. Addresses and shapes stay as captured."""

    def __init__(self, stream: int) -> None:
        self._stream = ctypes.c_void_p(stream)
        self._executable = ctypes.c_void_p()
        self.nodes = 0
        """Kernels and copies that a launch runs."""

    def begin(self) -> None:
        _check(_library().cuStreamBeginCapture_v2(self._stream, _THREAD_LOCAL), "beginning a capture")

    def end(self) -> None:
        """End the capture and make the graph ready. Raises ``TensorRTError``, ``OutOfMemory`` where that is for lack of
        room; the stream is usable either way."""
        graph = ctypes.c_void_p()
        _check(_library().cuStreamEndCapture(self._stream, ctypes.byref(graph)), "ending a capture")
        try:
            code = _library().cuGraphInstantiateWithFlags(ctypes.byref(self._executable), graph, 0)
            _check(code, "making a CUDA graph")
            count = ctypes.c_size_t()
            if _library().cuGraphGetNodes(graph, None, ctypes.byref(count)) == 0:
                self.nodes = count.value
        finally:
            _library().cuGraphDestroy(graph)

    def abandon(self) -> None:
        """End a capture that failed."""
        graph = ctypes.c_void_p()
        _library().cuStreamEndCapture(self._stream, ctypes.byref(graph))
        if graph:
            _library().cuGraphDestroy(graph)

    def launch(self) -> None:
        _check(_library().cuGraphLaunch(self._executable, self._stream), "launching a CUDA graph")

    def close(self) -> None:
        if self._executable:
            _library().cuGraphExecDestroy(self._executable)
            self._executable = ctypes.c_void_p()


def capture(graph: CudaGraph, queue: Callable[[], None]) -> None:
    """Make ``graph`` of what ``queue`` queues on its stream. Raises what that raises, or what ``CudaGraph.end`` does;
    the graph is closed then."""
    try:
        graph.begin()
        try:
            queue()
        except BaseException:
            graph.abandon()
            raise
        graph.end()
    except BaseException:
        graph.close()
        raise
