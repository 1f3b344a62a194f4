"""Runs a show without a window: lines in, a recording and a report out.

The caller's thread plays the part of the main thread: it keeps the frame clock, asks for the face 30 times a second and
submits each line when the one before has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from idol.seams import FRAME_SECONDS
from idol.show.interface import Notice, Ready, ShowEvent, TurnEnded
from idol.show.recorder import Recorder
from idol.show.show import Show


class HeadlessError(Exception):
    """The show could not be run; the message says why and what to do. ``told``: an event has said it already."""

    def __init__(self, message: str, *, told: bool = False) -> None:
        super().__init__(message)
        self.told = told


@dataclass(slots=True)
class HeadlessRun:
    """What came of a run. ``notices`` are warnings and errors in order."""

    recorder: Recorder | None = None
    ended: list[TurnEnded] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    interrupted: bool = False


def run_headless(
    show: Show,
    lines: Sequence[str],
    source: str,
    on_event: Callable[[ShowEvent], None],
    load_timeout: float = 600.0,
) -> HeadlessRun:
    """Start ``show``, submit ``lines`` one after another and record. The show is left running; close it afterwards.

    Raises ``HeadlessError`` when loading fails or a line is refused. Ctrl-C cancels the running turn and ends the run
    with what was recorded so far.
    """
    run = HeadlessRun()
    ready = threading.Event()
    failed = threading.Event()
    turn_over = threading.Event()

    def listen(event: ShowEvent) -> None:
        on_event(event)
        if isinstance(event, Ready):
            ready.set()
        elif isinstance(event, Notice) and event.level != "info":
            run.notices.append(event)
            if event.level == "error" and not ready.is_set():
                failed.set()
        elif isinstance(event, TurnEnded):
            run.ended.append(event)
            turn_over.set()

    show.subscribe(listen)
    show.start()
    deadline = time.monotonic() + load_timeout
    while not ready.wait(0.05):
        if failed.is_set():
            raise HeadlessError(run.notices[-1].sentence, told=True)
        if time.monotonic() > deadline:
            raise HeadlessError(f"the engines were not loaded within {load_timeout:.0f} s")
    engines = show.engines
    if engines is None:
        raise HeadlessError("the show ended while it was loading")
    recorder = run.recorder = Recorder(engines.output)
    engines.line.on_placed, engines.line.on_cut = recorder.placed, recorder.cut
    recorder.begin(time.monotonic())
    try:
        for line in lines:
            turn_over.clear()
            try:
                show.submit(line, source)
            except ValueError as error:
                raise HeadlessError(str(error)) from error
            _frames_until(show, recorder, turn_over.is_set)
        until = time.monotonic() + 0.3
        _frames_until(show, recorder, lambda: time.monotonic() >= until)
    except KeyboardInterrupt:
        run.interrupted = True
        show.cancel()
        turn_over.wait(2.0)
    return run


def _frames_until(show: Show, recorder: Recorder, over: Callable[[], bool]) -> None:
    due = time.monotonic()
    while not over():
        now = time.monotonic()
        recorder.frame(now, show.pose(now))
        due = max(due + FRAME_SECONDS, now)
        time.sleep(max(0.0, due - time.monotonic()))
