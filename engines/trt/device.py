"""The one CUDA context of the process and what lives in it. Used by the thread that opened it only."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.trt.flavours import Choice, Flavour, TensorRTError, load_api

_NON_BLOCKING = 1


class Device:
    """Opens the context on the calling thread; ``close`` on the same thread, after all sessions are closed."""

    def __init__(self, choice: Choice) -> None:
        if choice.flavour is None or choice.card is None:
            raise TensorRTError(f"TensorRT cannot be used here: {choice.reason}.", "Use the CPU.")
        import pycuda.driver as cuda

        self.flavour: Flavour = choice.flavour
        self.card = choice.card
        self.cuda: Any = cuda
        self.api: Any = load_api(choice.flavour)
        self._owner = threading.get_ident()
        try:
            cuda.init()
            self._context = cuda.Device(0).retain_primary_context()
            self._context.push()
        except cuda.Error as error:
            raise TensorRTError(f"No CUDA context on {choice.card.name}: {error}.", "Close other programs.") from error
        self.log = _logger(self.api)
        self.runtime = self.api.Runtime(self.log)
        self._open = True

    @property
    def label(self) -> str:
        return f"{self.flavour.label}, {self.card.name}"

    def stream(self) -> Any:
        """A stream of its own that does not wait for the default one."""
        return self.cuda.Stream(_NON_BLOCKING)

    def allocate(self, size: int) -> Any:
        """Device memory of ``size`` bytes. Raises ``TensorRTError`` when the card has no room."""
        try:
            return self.cuda.mem_alloc(max(size, 256))
        except self.cuda.MemoryError as error:
            free, total = self.memory()
            raise TensorRTError(
                f"{size / 1e6:.0f} MB do not fit on {self.card.name}: {free / 1e6:.0f} of {total / 1e6:.0f} are free.",
                "Close other programs on the card, or choose a smaller model.",
            ) from error

    def pinned(self, size: int) -> NDArray[np.uint8]:
        """Page-locked host memory: copies from and to it do not wait."""
        block: NDArray[np.uint8] = self.cuda.pagelocked_empty(max(size, 256), np.uint8)
        return block

    def memory(self) -> tuple[int, int]:
        """(free, total) bytes of the card, all processes counted."""
        free, total = self.cuda.mem_get_info()
        return int(free), int(total)

    def close(self) -> None:
        if not self._open:
            return
        if threading.get_ident() != self._owner:
            raise TensorRTError("The CUDA context must be closed by the thread that opened it.")
        self._open = False
        self.runtime = None
        self._context.pop()
        self._context = None


def _logger(api: Any) -> Any:
    import logging

    log = logging.getLogger("engines.trt")

    class Log(api.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            api.ILogger.__init__(self)

        def log(self, severity: Any, message: str) -> None:
            level = {"ERROR": 40, "INTERNAL_ERROR": 40, "WARNING": 30}.get(severity.name, 10)
            log.log(level, "%s", message)

    return Log()
