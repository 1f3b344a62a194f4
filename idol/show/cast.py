"""What a show runs on: the mind, the voice, the speech line; and how they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from idol.seams import Clause, GenerationStats, Language, Output, RuntimeInfo, Synthesiser, Turn, Understanding
from idol.show.interface import ShowEvent, SwapKind
from idol.show.speech_line import SpeechLine

if TYPE_CHECKING:
    from idol.show.ladder import Rung
    from idol.show.residence import Residence

Notify = Callable[[str, float | None], None]
Tell = Callable[[ShowEvent], None]


class Mind(Protocol):
    """What the show needs of the dialogue room. Worker thread only."""

    def understand(self, turn: Turn) -> tuple[Understanding, str]:
        """What was understood, and the line as cleaned for the model."""
        ...

    def reply(
        self, turn: Turn, understanding: Understanding, cancelled: Callable[[], bool], growth: float
    ) -> Iterator[Clause]:
        """Clauses, the first short and the next ones ``growth`` times as long (see ``pacing``)."""
        ...

    def anticipate(self, turn_id: int, reply: str, interrupted: Callable[[], bool]) -> None:
        """Read ahead for the next turn while ``reply`` still sounds."""
        ...

    def commit_heard(self, turn_id: int, heard: str) -> None: ...

    def prepare(self, interrupted: Callable[[], bool]) -> bool:
        """Something useful in idle time, ended early when ``interrupted()``; False when there is nothing left."""
        ...

    def forget(self) -> None:
        """Start a new conversation."""
        ...

    @property
    def first_token_at(self) -> float | None: ...

    @property
    def stats(self) -> GenerationStats | None: ...

    @property
    def info(self) -> RuntimeInfo: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """An engine that is loaded and warm beside the running one."""

    info: RuntimeInfo
    adopt: Callable[[], None]
    """Put it in place and close the one before; on the worker, between two turns (a voice: between two clauses). Where
    that raises, the one before is still in place."""
    close: Callable[[], None]
    """Give it back where it is not wanted any more."""


Prepare = Callable[[str, Notify, Callable[[], bool]], Candidate]
"""Loads the engine of a name beside the running one: ``prepare(name, notify, cancelled)``, on another thread than the
worker. Raises the engine layer's errors."""


def followed(prepare: Prepare, after: Callable[[], None]) -> Prepare:
    """As ``prepare``; ``after`` is called on the worker when the candidate is in its place."""

    def prepared(name: str, notify: Notify, cancelled: Callable[[], bool]) -> Candidate:
        candidate = prepare(name, notify, cancelled)

        def adopt() -> None:
            candidate.adopt()
            after()

        return replace(candidate, adopt=adopt)

    return prepared


class CardCrew(Protocol):
    """The engines of a show on a card as the memory ladder sees them. Worker thread only."""

    relief: Callable[[], bool]
    """Set by the show: makes memory when an engine found none."""
    fallen: Callable[[SwapKind], None]
    """Set by the show: told when an engine ran out of memory and its spare goes on."""

    def rungs(self, residence: Residence) -> Sequence[Rung]:
        """What can be given up, in order; what has to be loaded for it is asked of ``residence``."""
        ...

    def room(self) -> int | None:
        """Bytes of the card that the engines may take more, None when it is not known."""
        ...

    def leave_card(self) -> None:
        """The card is lost: everything goes on with the CPU."""
        ...


@dataclass(frozen=True, slots=True)
class Engines:
    """Everything a show runs on, loaded. Closed by the show, in reverse order."""

    mind: Mind
    voice: Synthesiser
    line: SpeechLine
    voice_for: Callable[[Language], str]
    speed: float = 1.0
    chores: list[Callable[[], None]] = field(default_factory=list)
    """Short pieces of work for idle moments (dictionaries of languages not met yet, say), taken from the front."""

    release: Callable[[], None] = lambda: None
    """Gives back what the engines share (the CUDA context), after they are closed."""

    swaps: Mapping[SwapKind, Prepare] = field(default_factory=dict)
    """What can be exchanged while the show runs."""

    no_swaps: str = "There is nothing of the kind in this show."
    """Why the others cannot, for the user."""

    chosen: Callable[[], Mapping[SwapKind, str]] = lambda: {}
    """The names of the engines in use, as ``swaps`` take them. Any thread."""

    card: CardCrew | None = None
    """What to make smaller when the card's memory runs short; None without a card."""

    @property
    def output(self) -> Output:
        return self.line.output

    @property
    def runtimes(self) -> tuple[RuntimeInfo, ...]:
        return (
            self.mind.info,
            self.voice.info,
            RuntimeInfo("face", "rules, NumPy", "dominance functions"),
            RuntimeInfo("audio", self.output.description, ""),
        )


Load = Callable[[Notify, Callable[[], bool]], Engines]
"""Loads everything on the worker thread: ``load(notify, cancelled)``. Reports what it does through ``notify``."""
