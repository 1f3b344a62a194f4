"""Many builds in a row or side by side: one that fails leaves the others alone, and all can be stopped at once."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from engines.errors import Cancelled, EngineError
from engines.trt.build import Progress, StorageError, build_plan, ensure_plan
from engines.trt.flavours import Card, Flavour, TensorRTError
from engines.trt.plans import BuildRequest, plan_note, plan_path, timing_cache_path

Result = Literal["built", "there", "failed", "cancelled"]
_TICK_SECONDS = 0.25
_KERNEL_BYTES = 3 << 20
_JOIN_SECONDS = 15.0
"""How long a stopped build may take to end: its child is killed within a fifth of a second."""


@dataclass(frozen=True, slots=True)
class Made:
    """A plan that exists now. ``fresh``: built by this very job; ``seconds`` is the builder's own time."""

    path: Path
    fresh: bool
    seconds: float
    bytes: int

    @classmethod
    def of(cls, path: Path, fresh: bool) -> Made:
        seconds = plan_note(path).get("seconds")
        return cls(path, fresh, float(seconds) if isinstance(seconds, int | float) else 0.0, path.stat().st_size)


@dataclass(frozen=True, slots=True)
class Job:
    """``work`` builds one plan; it gets a progress callback and what says that it should stop.

    ``target`` is a compute capability · 10, 0 for the card that is there; ``expected`` seconds from an earlier build of
    the kind, 0 when there was none.
    """

    label: str
    target: int
    work: Callable[[Progress, Callable[[], bool]], Made]
    expected: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.label}, SM{self.target}" if self.target else self.label


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended. ``made`` when there is a plan now, ``error`` when it failed."""

    job: Job
    result: Result
    made: Made | None = None
    error: EngineError | None = None


class Listener(Protocol):
    """Hears of every job; never two calls at once."""

    def began(self, job: Job) -> None: ...

    def moved(self, job: Job, fraction: float, text: str) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...

    def tick(self) -> None:
        """Called several times a second while jobs run: a builder may be silent for long."""


def run_jobs(jobs: Sequence[Job], listener: Listener, at_once: int = 1) -> list[Outcome]:
    """Run all, ``at_once`` side by side; outcomes in the order of ``jobs``.

    Ctrl-C stops them all: what is not done is ``cancelled``. So does a disk on which nothing can be written any more.
    An exception that is no ``EngineError`` is raised here once all have stopped.
    """
    waiting = deque(enumerate(jobs))
    outcomes: dict[int, Outcome] = {}
    stop, lock, idle = threading.Event(), threading.Lock(), threading.Semaphore(0)
    broken: list[BaseException] = []

    def run(job: Job) -> Outcome:
        def moved(fraction: float, text: str) -> None:
            with lock:
                listener.moved(job, fraction, text)

        try:
            made = job.work(moved, stop.is_set)
        except Cancelled:
            return Outcome(job, "cancelled")
        except EngineError as error:
            if isinstance(error, StorageError):
                stop.set()
            return Outcome(job, "failed", error=error)
        return Outcome(job, "built" if made.fresh else "there", made)

    def work_off() -> None:
        while not stop.is_set():
            with lock:
                if not waiting:
                    return
                index, job = waiting.popleft()
                listener.began(job)
            outcome = run(job)
            with lock:
                outcomes[index] = outcome
                listener.ended(outcome)

    def work() -> None:
        try:
            work_off()
        except BaseException as error:
            broken.append(error)
            stop.set()
        finally:
            idle.release()

    threads = [
        threading.Thread(target=work, name=f"idol-build-{number}", daemon=True)
        for number in range(max(1, min(at_once, len(jobs))))
    ]
    running = len(threads)
    try:
        for thread in threads:
            thread.start()
        # Not join: interrupted by Ctrl-C, it takes a running thread for a stopped one in Python 3.11.
        while running:
            if idle.acquire(timeout=_TICK_SECONDS):
                running -= 1
            with lock:
                listener.tick()
    except KeyboardInterrupt:
        stop.set()
        deadline = time.monotonic() + _JOIN_SECONDS
        while running and idle.acquire(timeout=max(0.0, deadline - time.monotonic())):
            running -= 1
    for thread in threads:
        thread.join(_TICK_SECONDS)
    if broken:
        raise broken[0]
    return [outcomes.get(index) or Outcome(job, "cancelled") for index, job in enumerate(jobs)]


def build_job(
    label: str,
    forms: Sequence[BuildRequest],
    flavour: Flavour,
    card: Card | None,
    *,
    force: bool,
    expected: float = 0.0,
) -> Job:
    """A job that brings one of ``forms`` (tried in order) into the program's plans. ``force`` builds it anew."""
    targets = forms[0].targets

    def work(progress: Progress, cancelled: Callable[[], bool]) -> Made:
        troubles: list[TensorRTError] = []
        for form in forms:
            path = plan_path(form, flavour, card)
            there = path.exists() and not force
            try:
                if force:
                    path.with_suffix(".failed").unlink(missing_ok=True)
                    build_plan(form, flavour, path, timing_cache_path(flavour, card), progress, cancelled, card)
                else:
                    ensure_plan(form, flavour, card, progress, cancelled)
                return Made.of(path, not there)
            except StorageError:
                raise
            except TensorRTError as error:
                troubles.append(error)
                if force:
                    with contextlib.suppress(OSError):
                        path.with_suffix(".failed").write_text(error.message, encoding="utf-8")
        if len(troubles) == 1:
            raise troubles[0]
        raise TensorRTError(" ".join(error.message for error in troubles), troubles[-1].remedy)

    return Job(label, targets[0] if len(targets) == 1 else 0, work, expected)


def check_storage(folder: Path, needed: int) -> None:
    """Raises ``StorageError`` when ``folder`` cannot be written or has less room than ``needed`` bytes."""
    elsewhere = "name another place with IDOL_MODELS"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror}.", f"Allow writing there, free disk space, or {elsewhere}."
        ) from error
    if free < needed:
        raise StorageError(
            f"{folder} has {free / 1e6:.0f} MB free, the plans need about {needed / 1e6:.0f} MB.",
            f"Free disk space, or {elsewhere}.",
        )


def expected_bytes(request: BuildRequest) -> int:
    """About how large the plan becomes: the graph with its weights, and the kernels."""
    data = request.graph.with_suffix(".data")
    return request.graph.stat().st_size + (data.stat().st_size if data.exists() else 0) + _KERNEL_BYTES
