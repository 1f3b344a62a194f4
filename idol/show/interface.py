"""What the window and the headless commands see of the live show: its verbs, its events, its snapshot.

Events are frozen and come from the worker thread; whoever shows them marshals them to its own thread. The show is used
from the main thread; ``pose`` is asked once a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from engines.health import HealthSample
from idol.seams import FacePose, RuntimeInfo

EndReason = Literal["done", "cancelled", "blocked", "failed"]
SwapKind = Literal["llm", "voice"]
ShowState = Literal["loading", "ready", "thinking", "speaking", "failed", "closed"]


@dataclass(frozen=True, slots=True)
class Loading:
    """Something loads. ``fraction`` 0..1, or None when it cannot be told."""

    what: str
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """Everything is loaded; the next line is answered at once."""

    runtimes: tuple[RuntimeInfo, ...]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A line has left the queue. ``at`` is ``time.time()`` of its submit, in seconds."""

    turn_id: int
    text: str
    source: str
    at: float


@dataclass(frozen=True, slots=True)
class ReplyText:
    """A piece of the reply, to be appended to what is shown."""

    turn_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ClauseSpoken:
    """A clause became audible."""

    turn_id: int
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over. ``heard`` is the part of the reply that was audible; it is what history keeps."""

    turn_id: int
    reason: EndReason
    heard: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know. ``remedy`` says what to do; it may be empty."""

    level: Literal["info", "warning", "error"]
    text: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """``text`` and what to do, which errors often say themselves."""
        return self.text if self.remedy in self.text else f"{self.text} {self.remedy}"


ShowEvent = Loading | Ready | TurnStarted | ReplyText | ClauseSpoken | TurnEnded | Notice


@dataclass(frozen=True, slots=True)
class ShowSnapshot:
    """The show at one moment, for the overlay. ``stages`` of the last turn, in ms since its submit."""

    state: ShowState
    stages: dict[str, float] = field(default_factory=dict)
    rtf: float = 0.0
    tokens_per_second: float = 0.0
    queued_turns: int = 0
    queued_audio_seconds: float = 0.0
    underruns: int = 0
    output: str = ""
    runtimes: tuple[RuntimeInfo, ...] = ()
    health: HealthSample | None = None
    memory: str = ""
    """What is given up for lack of memory on the card, in a few words; empty when nothing is."""
    chosen: Mapping[SwapKind, str] = field(default_factory=dict)
    """The names, as ``swap`` takes them, of the engines in use; without those of which none is known."""
    pending: tuple[SwapKind, ...] = ()
    """What is asked for, loads or waits to be put in place."""


class ShowInterface(Protocol):
    """The live show as the window uses it."""

    def start(self) -> None:
        """Begin loading on the worker thread; returns at once."""
        ...

    def close(self) -> None:
        """Stop speech, end the worker (bounded join) and give everything back."""
        ...

    def submit(self, text: str, source: str = "chat") -> int:
        """Queue a line; returns its turn id. Raises ``ValueError`` with a message for the user when the line is empty
        or the queue is full."""
        ...

    def cancel(self) -> None:
        """Silence within 100 ms, drop the running turn and all queued ones."""
        ...

    def pose(self, now: float) -> FacePose:
        """Her face and body at ``now`` (``time.monotonic()``)."""
        ...

    def swap(self, kind: SwapKind, name: str) -> None:
        """Load another language model or voice engine beside the running one and put it in its place: between two
        turns, a voice between two clauses. ``Loading`` events tell how far it is, ``Ready`` that it came to an end, a
        ``Notice`` how. Of two requests of a kind the newer wins. Raises ``ValueError`` with a message for the user
        where it cannot begin."""
        ...

    def cancel_swap(self, kind: SwapKind) -> None:
        """Forget a swap that has not happened yet."""
        ...

    def overlay(self) -> ShowSnapshot: ...

    def subscribe(self, callback: Callable[[ShowEvent], None]) -> Callable[[], None]:
        """Events go to ``callback`` on the worker thread; the returned function unsubscribes."""
        ...
