"""The one CUDA context of the process and what lives in it.

The thread that opens it has it current until ``close``; any other thread takes part inside ``shared()``. Facts of
PyCUDA that this rests on: every thread has a stack of contexts of its own, which must be empty when the thread ends
(else the process is aborted), ``pop`` is of the calling thread's stack, and a block, a stream or page-locked memory can
only be given back by a thread on whose stack its context lies.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.trt.flavours import Choice, Flavour, OutOfMemory, TensorRTError, load_api

_NON_BLOCKING = 1
_SHORTAGE = re.compile(r"out ?of ?memory|cudaErrorMemoryAllocation", re.IGNORECASE)
_REMEDY = "Close other programs on the card, or choose a smaller model."


class Device:
    """Opens the context on the calling thread; ``close`` on the same thread, after all sessions are closed."""

    def __init__(self, choice: Choice) -> None:
        if choice.flavour is None or choice.card is None:
            raise TensorRTError(f"TensorRT cannot be used here: {choice.reason}.", "Use the CPU.")
        import pycuda.driver as cuda

        self._begin(choice, cuda, load_api(choice.flavour), _logger)

    def _begin(self, choice: Choice, cuda: Any, api: Any, logger: Any) -> None:
        """The rest of opening, on whatever gives PyCUDA's and TensorRT's verbs."""
        assert choice.flavour is not None and choice.card is not None  # asked at the door
        self.flavour: Flavour = choice.flavour
        self.card = choice.card
        self.cuda: Any = cuda
        self.api: Any = api
        self._owner = threading.get_ident()
        try:
            cuda.init()
            self._context = cuda.Device(0).retain_primary_context()
            self._context.push()
        except cuda.Error as error:
            raise TensorRTError(f"No CUDA context on {choice.card.name}: {error}.", "Close other programs.") from error
        self.log = logger(api)
        self._lock = threading.Lock()
        self._inside: Counter[int] = Counter()
        self._own = threading.local()
        self._open = True

    @property
    def label(self) -> str:
        return f"{self.flavour.label}, {self.card.name}"

    @property
    def runtime(self) -> Any:
        """The calling thread's TensorRT runtime: two threads may not deserialise with one."""
        found = getattr(self._own, "runtime", None)
        if found is None:
            found = self._own.runtime = self.api.Runtime(self.log)
        return found

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Let the calling thread use the card while the block lasts; may be nested, and entered by the owner too.

        What is loaded inside may afterwards be used by any one thread at a time that has the context. When the block
        raises, the frames of the error forget their variables: they would keep streams until a thread lets go of
        them that cannot give them back. Raises ``TensorRTError`` when the device is closed already.
        """
        thread = threading.get_ident()
        with self._lock:
            if not self._open:
                raise TensorRTError(f"{self.card.name} is not in use any more.", "Start Idol again.")
            self._inside[thread] += 1
        pushed = False
        try:
            self._context.push()
            pushed = True
            yield
        except BaseException as error:
            _forget_variables(error)
            raise
        finally:
            if self._inside[thread] == 1 and thread != self._owner:
                self._own.runtime = None
            if pushed:
                self._context.pop()
            with self._lock:
                self._inside[thread] -= 1

    def stream(self) -> Any:
        """A stream of its own that does not wait for the default one."""
        return self.cuda.Stream(_NON_BLOCKING)

    def allocate(self, size: int) -> Any:
        """Device memory of ``size`` bytes. Raises ``OutOfMemory`` when the card has no room."""
        try:
            return self.cuda.mem_alloc(max(size, 256))
        except self.cuda.MemoryError as error:
            free, total = self._memory_or_none()
            seen = "" if free is None else f": {free / 1e6:.0f} of {total / 1e6:.0f} are free"
            raise OutOfMemory(
                f"{size / 1e6:.0f} MB do not fit on {self.card.name}{seen}.", _REMEDY, wanted=size, free=free
            ) from error

    def pinned(self, size: int) -> NDArray[np.uint8]:
        """Page-locked host memory: copies from and to it do not wait. Raises ``OutOfMemory``."""
        try:
            block: NDArray[np.uint8] = self.cuda.pagelocked_empty(max(size, 256), np.uint8)
        except self.cuda.MemoryError as error:
            raise OutOfMemory(
                f"{size / 1e6:.0f} MB of the computer's memory cannot be locked for {self.card.name}.",
                "Close other programs.", wanted=size,
            ) from error  # fmt: skip
        return block

    @contextmanager
    def within_memory(self, what: str, wanted: int = 0) -> Iterator[None]:
        """A lack of memory that CUDA tells inside becomes ``OutOfMemory``; ``what`` names the engine in its message."""
        try:
            yield
        except self.cuda.MemoryError as error:
            raise self.no_room(what, wanted) from error

    def no_room(self, what: str, wanted: int = 0) -> OutOfMemory:
        """The error for ``what`` that found no room; ``wanted`` bytes where they are known."""
        free, _ = self._memory_or_none()
        seen = "" if free is None else f" ({free / 1e6:.0f} MB free)"
        return OutOfMemory(f"{what} finds no room on {self.card.name}{seen}.", _REMEDY, wanted=wanted, free=free)

    def refusal(self, what: str) -> TensorRTError:
        """The error for ``what`` that TensorRT would not run: it gives no reason but in its log."""
        said, self.log.last_error = self.log.last_error, ""
        if _SHORTAGE.search(said):
            return self.no_room(what)
        return TensorRTError(f"{what}: TensorRT refuses to run. {said}".strip(), "The spare engine takes over.")

    def memory(self) -> tuple[int, int]:
        """(free, total) bytes of the card, all processes counted."""
        free, total = self.cuda.mem_get_info()
        return int(free), int(total)

    def close(self) -> None:
        """Raises ``TensorRTError`` on another thread than the one that opened it, and while others are inside."""
        if not self._open:
            return
        if threading.get_ident() != self._owner:
            raise TensorRTError("The CUDA context must be closed by the thread that opened it.")
        with self._lock:
            others = sum(1 for count in self._inside.values() if count)
            if others:
                raise TensorRTError(
                    f"{self.card.name} is still in use by {others} thread(s).", "Wait until they have ended."
                )
            self._open = False
        self._own.runtime = None
        self._context.pop()
        self._context = None

    def _memory_or_none(self) -> tuple[int | None, int]:
        try:
            return self.memory()
        except self.cuda.Error:  # a card that is lost does not even tell
            return None, 0


def _forget_variables(error: BaseException) -> None:
    """Clear the finished frames of ``error`` and of what led to it."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        traceback.clear_frames(found.__traceback__)
        found = found.__cause__ or found.__context__


def _logger(api: Any) -> Any:
    import logging

    log = logging.getLogger("engines.trt")

    class Log(api.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            api.ILogger.__init__(self)
            self.last_error = ""

        def log(self, severity: Any, message: str) -> None:
            level = {"ERROR": 40, "INTERNAL_ERROR": 40, "WARNING": 30}.get(severity.name, 10)
            if level == 40:
                self.last_error = message
            log.log(level, "%s", message)

    return Log()
