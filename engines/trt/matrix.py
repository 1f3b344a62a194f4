"""A cross table of parts and cards: does every graph build for every card family, how long, how large.

Cells are plans under ``DIR/smNN/``, with ``matrix.json`` and ``matrix.md`` beside them, written after every cell: a run
that is stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from engines.trt.build import Progress, StorageError, build_plan
from engines.trt.flavours import Flavour, TensorRTError
from engines.trt.jobs import Job, Made, Outcome
from engines.trt.plans import BuildRequest, plan_note, plan_path
from engines.trt.verify import file_damage

TARGETS = (86, 89, 120)
"""GeForce RTX 30, 40 and 50."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One part on one card family. ``result``: ``ok``, ``failed`` or ``not built``; ``message`` names the layer."""

    part: str
    target: int
    result: str
    seconds: float = 0.0
    bytes: int = 0
    plan: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """A row: a request and the targets to build it for."""

    label: str
    request: BuildRequest
    targets: tuple[int, ...] = TARGETS


def matrix_jobs(parts: Iterable[MatrixPart], flavour: Flavour, folder: Path) -> list[Job]:
    """A job for every cell that is asked for; a whole plan of the same key is left as it is."""
    return [_job(part, target, flavour, folder) for part in parts for target in part.targets]


def _job(part: MatrixPart, target: int, flavour: Flavour, folder: Path) -> Job:
    request = replace(part.request, targets=(target,))

    def work(progress: Progress, cancelled: Callable[[], bool]) -> Made:
        path = folder / f"sm{target}" / plan_path(request, flavour, None).name
        fresh = not path.exists() or bool(file_damage(path))
        if fresh:
            build_plan(request, flavour, path, None, progress, cancelled)
        dropped = _dropped_inputs(path)
        if dropped:
            raise TensorRTError(f"{request.name} builds, but part of the graph is left out: {dropped}.")
        return Made.of(path, fresh)

    earlier = [plan_note(path).get("seconds") for path in folder.glob(f"sm*/{request.name}-*.plan")]
    expected = max((float(seconds) for seconds in earlier if isinstance(seconds, int | float)), default=0.0)
    return Job(part.label, target, work, expected)


def _dropped_inputs(plan: Path) -> str:
    """What the builder said of inputs that it does not use: such a plan runs and gives other numbers than the graph."""
    warnings = plan_note(plan).get("warnings")
    return (
        "; ".join(str(text) for text in warnings if "Unused Input" in str(text)) if isinstance(warnings, list) else ""
    )


class MatrixTable:
    """The cells so far, saved after each. Raises ``StorageError`` when they cannot be."""

    def __init__(self, folder: Path, flavour: Flavour, parts: Sequence[MatrixPart]) -> None:
        self._folder = folder
        self._flavour = flavour
        self._rows = [part.label for part in parts]
        self._cells = {
            (part.label, target): Cell(part.label, target, "not built")
            for part in parts
            for target in (part.targets or TARGETS)
        }
        self._began = time.monotonic()

    @property
    def cells(self) -> list[Cell]:
        return list(self._cells.values())

    def add(self, outcome: Outcome) -> None:
        """Put an ended job's cell in and save."""
        job = outcome.job
        if outcome.made is not None:
            made = outcome.made
            plan = made.path.relative_to(self._folder).as_posix()
            cell = Cell(job.label, job.target, "ok", made.seconds, made.bytes, plan)
        elif outcome.error is not None:
            cell = Cell(job.label, job.target, "failed", message=str(outcome.error))
        else:
            return
        self._cells[job.label, job.target] = cell
        self.save()

    def save(self) -> None:
        document = {
            "flavour": self._flavour.name,
            "version": self._flavour.version,
            "cores": os.cpu_count(),
            "cells": [asdict(cell) for cell in self.cells],
        }
        _replace(self._folder / "matrix.json", json.dumps(document, indent=1) + "\n")
        _replace(self._folder / "matrix.md", self.markdown())

    def markdown(self) -> str:
        """The table: a row per part, a column per target, the failures below."""
        targets = sorted({cell.target for cell in self.cells})
        lines = [
            f"# {self._flavour.label}: every part for every card family",
            "",
            f"Built on {os.cpu_count()} CPU cores without a GPU; seconds of building and size of the plan.",
            "",
            "| part | " + " | ".join(f"SM{target}" for target in targets) + " |",
            "|---" * (1 + len(targets)) + "|",
        ]
        for row in self._rows:
            cells = [_cell_text(self._cells.get((row, target))) for target in targets]
            lines.append(f"| {row} | " + " | ".join(cells) + " |")
        failed = [cell for cell in self.cells if cell.result == "failed"]
        if failed:
            lines += ["", "Failed:", ""]
            lines += [f"- {cell.part}, SM{cell.target}: {cell.message}" for cell in failed]
        return "\n".join(lines) + "\n"


def _cell_text(cell: Cell | None) -> str:
    if cell is None:
        return "not asked for"
    if cell.result == "ok":
        return f"ok, {cell.seconds:.1f} s, {cell.bytes / 1e6:.1f} MB"
    return cell.result


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.", "Free disk space.") from error
