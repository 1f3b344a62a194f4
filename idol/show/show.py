"""The live show: a line comes in, she answers with voice and face.

One worker thread owns the engines and does everything for a turn in order: understand, decode, split, synthesise, plan
the face, place on the speech axis; the sound plays meanwhile. The main thread submits, cancels and asks for the face.
A cancel bumps the generation and silences the output itself, so it does not wait for an engine; what the worker makes
for an older generation is dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue

from engines.health import HealthMonitor, Pressure
from idol.dialogue.history import History, PastLine
from idol.seams import GESTURE_LEAD, SAMPLE_RATE, Emotion, FaceMixer, FacePose, Turn
from idol.show.cast import Engines, Load, followed
from idol.show.interface import (
    Loading,
    Notice,
    Ready,
    ShowEvent,
    ShowSnapshot,
    ShowState,
    SwapKind,
    TurnEnded,
    TurnStarted,
)
from idol.show.ladder import Ladder
from idol.show.latency import LatencyBook, TurnRecord
from idol.show.pacing import Rates
from idol.show.pressure_notices import pressure_notice
from idol.show.priority import loading, yield_to_the_picture
from idol.show.residence import Residence
from idol.show.speech_line import MouthRelease
from idol.show.turn_queue import TurnQueue
from idol.show.turn_runner import TurnRunner

log = logging.getLogger(__name__)
_KINDS: tuple[SwapKind, ...] = ("llm", "voice")
_AMPLE_SECONDS = 4.0
"""With so much speech in the queue the worker can share the cores for a moment."""


class Show:
    """Implements ``ShowInterface``. ``load`` runs on the worker; ``mixer`` on whichever thread asks for poses.

    ``yielding``: there is a picture beside the engines, which gets a core before they do. ``health`` is
    started and closed with the show. ``history``, the mind's own, gets each line when it is submitted.
    """

    def __init__(
        self,
        load: Load,
        mixer: FaceMixer,
        *,
        clock: Callable[[], float] = time.monotonic,
        queue_capacity: int = 32,
        yielding: bool = False,
        health: HealthMonitor | None = None,
        history: History | None = None,
    ) -> None:
        self._load = load
        self._history = history
        self._yielding = yielding
        self.health = health
        self._mixer = mixer
        self._clock = clock
        self._queue = TurnQueue(queue_capacity, clock)
        self.book = LatencyBook()
        self.rates = Rates()
        self._generation = 0
        self._stop = threading.Event()
        self._forget_asked = threading.Event()
        self._state: ShowState = "loading"
        self._emotion: Emotion = "neutral"
        self._engines: Engines | None = None
        self._runner: TurnRunner | None = None
        self._ladder: Ladder | None = None
        self._pressures: SimpleQueue[Pressure] = SimpleQueue()
        self._release = MouthRelease()
        self._residence = Residence(self._emit, self._pressed, self._tell_ready)
        self._listeners: tuple[Callable[[ShowEvent], None], ...] = ()
        self._lock = threading.Lock()
        self._worker = threading.Thread(target=self._run, name="idol-show-worker", daemon=True)

    # -- main thread ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin loading on the worker thread."""
        if self.health is not None:
            self.health.start()
        self._worker.start()

    def close(self, timeout: float = 10.0) -> None:
        """End the worker and give the engines back. Raises ``RuntimeError`` when it does not end in time."""
        self._stop.set()
        self.cancel()
        if self.health is not None:
            self.health.close()
        try:
            self._residence.close(timeout)
        finally:
            if self._worker.is_alive():
                self._worker.join(timeout)
                if self._worker.is_alive():
                    raise RuntimeError(f"the show's worker did not end within {timeout:.0f} s")
        self._state = "closed"

    def submit(self, text: str, source: str = "chat") -> int:
        """Queue a line. Raises ``ValueError`` with a message for the user."""
        if self._state in ("failed", "closed"):
            raise ValueError("The show is not running. Mend what the status line says and start again.")
        if not any(character.isprintable() and not character.isspace() for character in text):
            raise ValueError("The line is empty. Type what she should answer.")
        with self._lock:
            turn = self._queue.put(text, source, self._generation)
        self._note(turn)
        return turn.id

    def earlier(self, limit: int) -> list[PastLine]:
        """The last ``limit`` lines of the kept chat, oldest first."""
        return self._history.recent(limit) if self._history is not None else []

    def _note(self, turn: Turn) -> None:
        """Whatever happens to the answer, the line is kept. Texts to be read aloud are no chat."""
        if self._history is None or turn.source == "say":
            return
        try:
            self._history.note(turn.id, turn.text)
        except OSError as error:  # told when the answer cannot be written either
            log.warning("a line could not be kept: %s", error)

    def cancel(self) -> None:
        """Silence at once; the running turn and all queued ones end as cancelled."""
        with self._lock:
            self._generation += 1
        engines = self._engines
        if engines is not None:
            engines.line.cut()
        self._mixer.cut()
        for turn in self._queue.clear():
            self._emit(TurnEnded(turn.id, "cancelled", ""))

    def announce(self, event: ShowEvent) -> None:
        """Give subscribers an event from around the show, on the calling thread."""
        self._emit(event)

    def pose(self, now: float) -> FacePose:
        """Her face at ``now``: speech at the device's position, emotion and idle life on top."""
        engines = self._engines
        weights = ahead = None
        speaking, clause = False, -1
        emotion = self._emotion
        if engines is not None:
            position = engines.output.position(now)
            playing = engines.line.playing(position)
            if playing is not None:
                speaking, clause = True, playing[0].first
                emotion = playing[1]
                weights = engines.line.track.sample(position)
                ahead = engines.line.track.sample(position + GESTURE_LEAD * SAMPLE_RATE)
                self._emotion = emotion
            elif self._state == "thinking":
                emotion = "thinking"
        return self._mixer.mix(now, self._release.blend(weights, now), emotion, speaking, clause, ahead)

    def forget(self) -> None:
        """Start a new conversation, once the running turn is over."""
        self._forget_asked.set()

    def swap(self, kind: SwapKind, name: str) -> None:
        """See ``ShowInterface``."""
        engines = self._engines
        if engines is None:
            raise ValueError("The show is not ready yet. Wait until it has loaded, then choose again.")
        if kind not in engines.swaps:
            raise ValueError(engines.no_swaps)
        self._residence.request(kind, name, followed(engines.swaps[kind], partial(self._made_whole, kind)))

    def _made_whole(self, kind: SwapKind) -> None:
        """What the user chose is in its place: it is whole, whatever the one before had given up."""
        if self._ladder is not None:
            self._ladder.forget(kind)

    def cancel_swap(self, kind: SwapKind) -> None:
        """Forget a swap that has not happened yet."""
        if self._residence.cancel(kind):
            self._tell_ready()

    def set_volume(self, volume: float) -> None:
        """Loudness of what is spoken from now on, 0 to 1."""
        engines = self._engines
        set_volume = getattr(engines.output, "set_volume", None) if engines is not None else None
        if set_volume is not None:
            set_volume(volume)

    def overlay(self) -> ShowSnapshot:
        engines, ladder = self._engines, self._ladder
        last = self.book.last
        return ShowSnapshot(
            state=self._state,
            stages=dict(last.stages) if last else {},
            rtf=last.rtf if last else 0.0,
            tokens_per_second=last.tokens_per_second if last else 0.0,
            queued_turns=len(self._queue),
            queued_audio_seconds=engines.output.queued_seconds if engines else 0.0,
            underruns=engines.output.underruns if engines else 0,
            output=engines.output.description if engines else "",
            runtimes=engines.runtimes if engines else (),
            health=self.health.latest if self.health is not None else None,
            memory=ladder.line if ladder is not None else "",
            chosen=engines.chosen() if engines is not None else {},
            pending=tuple(kind for kind in _KINDS if self._residence.pending(kind)),
        )

    def subscribe(self, callback: Callable[[ShowEvent], None]) -> Callable[[], None]:
        """Events go to ``callback``, mostly on the worker thread; the returned function unsubscribes."""
        with self._lock:
            self._listeners = (*self._listeners, callback)

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = tuple(known for known in self._listeners if known is not callback)

        return unsubscribe

    @property
    def engines(self) -> Engines | None:
        """The loaded engines, None before ``Ready``. For the headless commands and the model menu."""
        return self._engines

    # -- worker thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        if self._yielding:
            yield_to_the_picture()
        try:
            with ExitStack() as owned:
                engines = self._load_engines(owned)
                if engines is not None:
                    self._serve(engines)
        finally:
            self._engines = None
            self._ladder = None

    def _load_engines(self, owned: ExitStack) -> Engines | None:
        try:
            with loading():
                engines = self._load(lambda what, fraction: self._emit(Loading(what, fraction)), self._stop.is_set)
        except Exception as error:
            if not self._stop.is_set():
                log.exception("loading failed")
                self._state = "failed"
                self._emit(Notice("error", str(error), getattr(error, "remedy", "")))
            return None
        owned.callback(engines.release)
        owned.callback(engines.output.close)
        owned.callback(engines.voice.close)
        owned.callback(engines.mind.close)
        engines.output.start()
        if engines.card is not None:
            self._ladder = Ladder(engines.card.rungs(self._residence), self._emit, clock=self._clock)
            engines.card.relief, engines.card.fallen = self._ladder.shortage, self._ladder.fallen
            if self.health is not None:
                owned.callback(self.health.subscribe(self._pressures.put))
        self._engines = engines
        self._state = "ready"
        self._emit(Ready(engines.runtimes))
        return engines

    def _prepare(self, engines: Engines) -> bool:
        try:
            if engines.chores and not engines.output.queued_seconds:
                with loading():
                    engines.chores.pop(0)()
                return True
            more = engines.mind.prepare(lambda: len(self._queue) > 0 or self._stop.is_set())
            return more or bool(engines.chores)
        except Exception:
            log.exception("idle work failed")
            return False

    def _serve(self, engines: Engines) -> None:
        idle = True
        while not self._stop.is_set():
            if self._forget_asked.is_set():
                self._forget_asked.clear()
                engines.mind.forget()
                for turn in self._queue.waiting:
                    self._note(turn)  # the new conversation begins with them
            idle = self._residence.settle("llm", "voice") or idle
            idle = self._look_after_the_card(engines) or idle
            taken = self._queue.take(timeout=0.1)
            if taken is None:
                idle = idle and self._prepare(engines)
                continue
            self._turn(engines, *taken)
            self._state = "ready"
            idle = True  # an engine may have been exchanged for its spare

    def _look_after_the_card(self, engines: Engines) -> bool:
        """Say what became scarce on the card, and take or undo one step where it is time. True when engines changed."""
        if engines.card is None:
            return False
        before = self._ladder.taken if self._ladder is not None else ()
        while not self._pressures.empty():
            pressure = self._pressures.get()
            notice = pressure_notice(pressure)
            if notice is not None:
                self._emit(notice)
            if pressure.kind == "memory" and self._ladder is not None:
                self._ladder.press(pressure.level > 0)
            if pressure.kind == "lost" and pressure.level:
                self._ladder = None
                engines.card.relief, engines.card.fallen = (lambda: False), (lambda kind: None)
                engines.card.leave_card()
                self._tell_ready()
        if self._ladder is not None:
            sample = self.health.latest if self.health is not None else None
            try:
                self._ladder.tick(sample.at if sample is not None else None, engines.card.room)
            except Exception:  # whatever a card can do, the show goes on with what it has
                log.exception("a step of the memory ladder failed")
        return (self._ladder.taken if self._ladder is not None else ()) != before

    def _turn(self, engines: Engines, turn: Turn, generation: int) -> None:
        self._state = "thinking"
        row = TurnRecord(turn.id, turn.text, turn.source, turn.received_at)
        underruns = engines.output.underruns
        started = time.time() - (self._clock() - turn.received_at)
        self._emit(TurnStarted(turn.id, turn.text, turn.source, started))
        runner = TurnRunner(
            engines, self.rates, row, self._emit, lambda: self._generation != generation, self._clock, self._say,
            lambda: self._residence.settle("voice"),
        )  # fmt: skip
        self._runner = runner
        try:
            runner.run(turn)
        except Exception as error:
            log.exception("turn %d failed", turn.id)
            row.reason, row.message = "failed", str(error)
            row.heard = engines.line.heard(turn.id, engines.line.cut())
            self._emit(Notice("error", f"This answer failed: {error}", getattr(error, "remedy", "")))
        self._runner = None
        row.underruns = engines.output.underruns - underruns
        try:
            engines.mind.commit_heard(turn.id, row.heard)
        except Exception as error:
            log.exception("history of turn %d", turn.id)
            self._emit(Notice("warning", f"The chat history could not be written: {error}", "Free disk space."))
        self.book.add(row)
        reason = row.reason if row.reason in ("done", "cancelled", "blocked", "failed") else "failed"
        self._emit(TurnEnded(turn.id, reason, row.heard, row.message))  # type: ignore[arg-type]

    def _pressed(self) -> bool:
        """Whether a listener waits for what the worker is making."""
        engines, runner = self._engines, self._runner
        if engines is None or runner is None or runner.written:
            return False
        return engines.output.queued_seconds < _AMPLE_SECONDS

    def _tell_ready(self) -> None:
        engines = self._engines
        if engines is not None:
            self._emit(Ready(engines.runtimes))

    def _say(self, speaking: bool) -> None:
        self._state = "speaking" if speaking else "thinking"

    def _emit(self, event: ShowEvent) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed on %s", type(event).__name__)
