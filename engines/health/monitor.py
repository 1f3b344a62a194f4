"""Looks at the card and at this process once a second, on a thread of its own."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from engines.health.log import HealthLog
from engines.health.pressure import Band, Gauge, Pressure, standard_bands
from engines.health.sample import CardLost, CardReader, HealthError, HealthSample

log = logging.getLogger(__name__)
Listener = Callable[[Pressure], None]


class HealthMonitor:
    """Owns the thread ``idol-health``. ``open_card`` runs on it (a sleeping driver takes its time); when it raises
    ``HealthError`` only the process is watched and ``reason`` says why.

    A lost card is said once, asked for again every ``slow_interval`` seconds, and its return is said once.
    ``latest`` and ``pressures`` may be read from any thread without a lock: they are replaced, never changed.
    """

    def __init__(
        self,
        open_card: Callable[[], CardReader],
        *,
        bands: Sequence[Band] | None = None,
        health_log: HealthLog | None = None,
        interval: float = 1.0,
        slow_interval: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        if interval <= 0 or slow_interval < interval:
            raise ValueError(f"interval {interval} s and slow interval {slow_interval} s: give 0 < interval <= slow")
        self._open_card = open_card
        self._gauges = [Gauge(band, 5 * interval) for band in (standard_bands() if bands is None else bands)]
        self._log = health_log
        self._interval = interval
        self._slow_interval = slow_interval
        self._clock = clock
        self._wall_clock = wall_clock
        self._reader: CardReader | None = None
        self._opened = False
        self._card = ""
        self._lost = False
        self._wanted = ""
        self._followed = ""
        self._spent: tuple[float, float] | None = None
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="idol-health", daemon=True)
        self.latest: HealthSample | None = None
        """The last sample, None before the first."""
        self.pressures: tuple[Pressure, ...] = ()
        """What is under pressure now."""
        self.reason = ""
        """Why no card is watched, empty when one is."""

    def __enter__(self) -> HealthMonitor:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout: float = 2.0) -> None:
        """End the thread. A driver that hangs is waited for ``timeout`` seconds and left behind, with a warning."""
        self._stop.set()
        if self._thread.ident is None:
            self._release()  # never started: what ``poll`` opened is ours
        elif self._thread.is_alive():
            self._thread.join(timeout)
            if self._thread.is_alive():
                log.warning("the health monitor did not end within %.0f s: the driver does not answer", timeout)

    def follow(self, bus_id: str) -> None:
        """Watch the card at this PCI address, from the next sample on. Any thread."""
        self._wanted = bus_id

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Each change of pressure goes to ``listener``, on the monitor's thread: it must be quick and must not call
        CUDA. The returned function unsubscribes."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = tuple(known for known in self._listeners if known is not listener)

        return unsubscribe

    # -- the monitor's thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                began = self._clock()
                self.poll()
                pause = self._slow_interval if self._lost else self._interval
                self._stop.wait(max(0.0, began + pause - self._clock()))
        finally:
            self._release()

    def _release(self) -> None:
        if self._reader is not None:
            self._reader.close()
        if self._log is not None:
            self._log.close()

    def poll(self) -> HealthSample:
        """Take one sample: publish it, log it, announce what it decides. Called by the thread; tests call it too."""
        sample = replace(self._read(), resident=resident_memory(), processor=self._processor())
        self.latest = sample
        if self._log is not None:
            self._log.write(sample)
        for gauge in self._gauges:
            change = gauge.update(sample)
            if change is not None:
                self._announce(change)
        return sample

    def _read(self) -> HealthSample:
        if not self._opened:
            self._opened = True
            self._open()
        at, wall = self._clock(), self._wall_clock()
        if self._reader is None:
            return HealthSample(at, wall)
        try:
            if self._lost:
                self._reader.reopen()
            self._switch(self._reader)
            sample = self._reader.read(at, wall)
        except CardLost as error:
            said = self._note_loss(str(error))
            return HealthSample(at, wall, card=self._card, trouble=said)
        except Exception as error:  # whatever a driver's binding says, the watch goes on
            said = self._note_loss(f"Reading the card failed: {error!r}.", error)
            return HealthSample(at, wall, card=self._card, trouble=said)
        if self._lost:
            log.warning("%s answers again", sample.card)
        self._lost = False
        self._card = sample.card
        return sample

    def _switch(self, reader: CardReader) -> None:
        wanted = self._wanted
        if wanted == self._followed:
            return
        self._followed = wanted
        try:
            reader.follow(wanted)
        except CardLost as error:
            log.warning("the card in use cannot be watched, the first one is: %s", error)

    def _open(self) -> None:
        try:
            self._reader = self._open_card()
        except HealthError as error:
            self.reason = str(error)
            log.info("no card is watched: %s", error)
        except Exception as error:  # a driver's binding may raise anything
            self.reason = f"NVML cannot be used: {error!r}"
            log.exception("no card is watched")

    def _note_loss(self, said: str, unforeseen: Exception | None = None) -> str:
        if not self._lost:
            log.warning("%s", said, exc_info=unforeseen)
        self._lost = True
        self._card = self._card or "the card"
        return said

    def _announce(self, change: Pressure) -> None:
        log.warning("pressure: %s %s", change.kind, "up" if change.level else "down")
        others = tuple(known for known in self.pressures if known.kind != change.kind)
        self.pressures = (*others, change) if change.level else others
        for listener in self._listeners:
            try:
                listener(change)
            except Exception:
                log.exception("a listener failed on the pressure %s", change.kind)

    def _processor(self) -> float | None:
        """Cores this process kept busy since the last sample."""
        now, spent = time.monotonic(), time.process_time()
        before, self._spent = self._spent, (now, spent)
        return None if before is None or now <= before[0] else (spent - before[1]) / (now - before[0])


def resident_memory() -> int | None:
    """Resident memory of this process in bytes (Linux; None elsewhere)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
