"""A show without engines: it records what the window asks for, and events are sent by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from idol.seams import FacePose, RuntimeInfo
from idol.show.interface import Ready, ShowEvent, ShowSnapshot, ShowState, SwapKind


class FakeShow:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.cancels = 0
        self.closes = 0
        self.volumes: list[float] = []
        self.state: ShowState = "ready"
        self.refuse = ""
        self.swaps: list[tuple[str, str]] = []
        self.cancelled_swaps = 0
        self.chosen: dict[SwapKind, str] = {"llm": "medium"}
        self.pending: tuple[SwapKind, ...] = ()
        self._listeners: list[Callable[[ShowEvent], None]] = []

    def start(self) -> None: ...

    def close(self) -> None:
        self.closes += 1

    def submit(self, text: str, source: str = "chat") -> int:
        if self.refuse:
            raise ValueError(self.refuse)
        self.lines.append((text, source))
        return len(self.lines)

    def cancel(self) -> None:
        self.cancels += 1

    def pose(self, now: float) -> FacePose:
        return FacePose(np.zeros(52, np.float32))

    def swap(self, kind: SwapKind, name: str) -> None:
        if self.refuse:
            raise ValueError(self.refuse)
        self.swaps.append((kind, name))
        self.pending = (kind,)

    def cancel_swap(self, kind: SwapKind) -> None:
        self.cancelled_swaps += 1
        self.pending = ()
        self.send(Ready(()))

    def end_swap(self, chosen: str) -> None:
        """The swap came to its end, and ``chosen`` runs."""
        self.pending, self.chosen = (), {"llm": chosen}
        self.send(Ready(()))

    def set_volume(self, volume: float) -> None:
        self.volumes.append(volume)

    def overlay(self) -> ShowSnapshot:
        return ShowSnapshot(
            state=self.state,
            stages={"understand": 1.0, "first_token": 50.0, "first_sample": 90.0},
            rtf=0.2,
            tokens_per_second=99.0,
            underruns=3,
            output="speakers",
            runtimes=(RuntimeInfo("llm", "onnxruntime", "Qwen"),),
            chosen=self.chosen,
            pending=self.pending,
        )

    def subscribe(self, callback: Callable[[ShowEvent], None]) -> Callable[[], None]:
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def send(self, event: ShowEvent) -> None:
        for listener in [*self._listeners]:
            listener(event)
