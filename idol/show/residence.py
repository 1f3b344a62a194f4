"""A second engine of a kind beside the running one: loaded and warmed while the show goes on, then put in its place.

``request`` from the main thread, ``settle`` on the worker where an engine may change: between two turns, or between two
clauses for the voice. A thread of its own loads, gives the worker the cores when it needs them, and ends when nothing
is left to load. Whatever goes wrong, the running engine stays.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from engines.errors import Cancelled
from idol.show.cast import Candidate, Prepare, Tell
from idol.show.interface import Loading, Notice, SwapKind
from idol.show.priority import loading, yield_to_the_picture

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 60.0
"""So long, in all, a load waits for a busy worker between its steps; a show without a pause is swapped as well."""
_BREATH_SECONDS = 0.5
"""So long each step waits after that."""
_KINDS: dict[SwapKind, str] = {"llm": "language model", "voice": "voice"}


class Residence:
    """``pressed`` says whether the worker needs the cores now; ``ended`` is told when a request came to any end."""

    def __init__(
        self, tell: Tell, pressed: Callable[[], bool] = lambda: False, ended: Callable[[], None] = lambda: None
    ) -> None:
        self._tell = tell
        self._pressed = pressed
        self._ended = ended
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wanted: dict[SwapKind, tuple[str, Prepare]] = {}
        self._ready: dict[SwapKind, Candidate] = {}
        self._loading: SwapKind | None = None
        self._patience = 0.0
        self._superseded = threading.Event()
        self._loader: threading.Thread | None = None

    def request(self, kind: SwapKind, name: str, prepare: Prepare) -> None:
        """Load ``name`` with ``prepare`` and offer it to ``settle``. Of two requests of a kind the newer one wins."""
        self.cancel(kind)
        with self._lock:
            if self._stop.is_set():
                return
            self._wanted[kind] = (name, prepare)
            if self._loader is None:
                self._loader = threading.Thread(target=self._run, name="idol-loader", daemon=True)
                self._loader.start()

    def cancel(self, kind: SwapKind) -> bool:
        """Forget what is being loaded or waits to be put in place. False when there is nothing of the kind."""
        with self._lock:
            known = self._wanted.pop(kind, None) is not None
            candidate = self._ready.pop(kind, None)
            if self._loading == kind:
                self._superseded.set()
                known = True
        if candidate is not None:
            candidate.close()
        return known or candidate is not None

    def pending(self, kind: SwapKind) -> bool:
        """Whether something of the kind is asked for, loads, or waits to be put in place."""
        with self._lock:
            return kind in self._wanted or kind in self._ready or self._loading == kind

    def settle(self, *kinds: SwapKind) -> bool:
        """Put in place what is ready of ``kinds``. Worker thread only. True when something changed."""
        changed = False
        for kind in kinds:
            with self._lock:
                candidate = self._ready.pop(kind, None)
            if candidate is None:
                continue
            try:
                candidate.adopt()
            except Exception as error:  # the show outlives any engine
                log.exception("the new %s could not take its place", _KINDS[kind])
                candidate.close()
                self._refuse(kind, candidate.info.model, error)
            else:
                changed = True
                self._tell(Notice("info", f"{candidate.info.model} is her {_KINDS[kind]} now."))
            self._ended()
        return changed

    def close(self, timeout: float = 10.0) -> None:
        """End the loader and close what was not put in place. Raises ``RuntimeError`` when it does not end in time."""
        with self._lock:
            self._stop.set()
            self._superseded.set()
            loader = self._loader
        if loader is not None:
            loader.join(timeout)
            if loader.is_alive():
                raise RuntimeError(f"an engine that is being loaded did not stop within {timeout:.0f} s")
        with self._lock:
            left, self._ready = list(self._ready.values()), {}
        for candidate in left:
            candidate.close()

    # -- loader thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        yield_to_the_picture()
        while True:
            with self._lock:
                if self._stop.is_set() or not self._wanted:
                    self._loader = None
                    return
                kind = next(iter(self._wanted))
                name, prepare = self._wanted.pop(kind)
                self._loading = kind
                self._superseded.clear()
            self._load(kind, name, prepare)

    def _load(self, kind: SwapKind, name: str, prepare: Prepare) -> None:
        self._tell(Loading(f"{_KINDS[kind]} {name}", None))
        candidate: Candidate | None = None
        trouble: Exception | None = None
        try:
            self._patience = _PATIENCE_SECONDS
            self._let_the_worker_go_first()
            with loading():
                candidate = prepare(name, self._report, self._unwanted)
        except Exception as error:  # whatever a file or a runtime can do, the running engine stays
            trouble = error
        with self._lock:
            self._loading = None
            dropped = self._superseded.is_set() or self._stop.is_set()
            if candidate is not None and not dropped:
                self._ready[kind] = candidate
                return
        if candidate is not None:
            candidate.close()
        if trouble is not None and not dropped and not isinstance(trouble, Cancelled):
            log.error("%s %r cannot be loaded", _KINDS[kind], name, exc_info=trouble)
            self._refuse(kind, name, trouble)
        self._ended()

    def _unwanted(self) -> bool:
        """Asked between two steps of loading."""
        self._let_the_worker_go_first()
        return self._superseded.is_set() or self._stop.is_set()

    def _report(self, what: str, fraction: float | None) -> None:
        self._tell(Loading(what, fraction))
        self._let_the_worker_go_first()

    def _let_the_worker_go_first(self) -> None:
        """On few cores what is loaded meanwhile would make the next clause late."""
        began = time.monotonic()
        limit = max(self._patience, _BREATH_SECONDS)
        while time.monotonic() - began < limit and not self._superseded.is_set() and self._pressed():
            self._superseded.wait(0.02)
        self._patience -= time.monotonic() - began

    def _refuse(self, kind: SwapKind, name: str, error: Exception) -> None:
        what = "there is not enough memory for it." if isinstance(error, MemoryError) else str(error)
        remedy = getattr(error, "remedy", "") or "Choose another one."
        what = getattr(error, "message", what)
        self._tell(Notice("warning", f"The {_KINDS[kind]} {name} was not taken: {what} The one in use stays.", remedy))
