"""The one interface to every runtime.

A session is made from a graph, then ``load``-ed, ``run`` any number of times and ``close``-d; it is also a context
manager. The state after ``close`` equals the state before ``load``: it can be loaded again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Session(ABC):
    """One engine on one runtime. Not thread-safe: the thread that loads it runs it."""

    name: str
    """Short name of the engine, as overlays and errors show it, e.g. ``kokoro/D``."""

    @property
    @abstractmethod
    def runtime(self) -> str:
        """Human-readable runtime and device, e.g. ``onnxruntime 1.23 CPU, 2 threads``."""

    @property
    @abstractmethod
    def loaded(self) -> bool: ...

    @abstractmethod
    def load(self) -> None:
        """Take memory and compile. Raises ``SessionError`` or ``ModelFileError``; loading twice is an error."""

    @abstractmethod
    def run(self, inputs: Mapping[str, Array], outputs: tuple[str, ...] | None = None) -> dict[str, Array]:
        """Run once. Names, dtypes and ranks are checked at the door (``SessionError``)."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. Closing twice is harmless."""

    def __enter__(self) -> Self:
        self.load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def as_float32(array: Array) -> NDArray[np.float32]:
    """A contiguous float32 view or copy of ``array``."""
    return np.ascontiguousarray(array, dtype=np.float32)
