"""Whether the plans here are whole, still belong to the graphs here, and load; and what can be thrown away."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from engines.trt.build import WORKING
from engines.trt.flavours import Card, Flavour
from engines.trt.plans import BuildRequest, known_plans, plan_note, plan_path, plans_dir

State = Literal["good", "damaged", "stale", "unsure"]
LOADER: tuple[str, ...] = ("-m", "engines.trt.load_check")
"""What Python is asked to run to load plans."""
_LEFT_BEHIND_SECONDS = 6 * 3600
_LOAD_SECONDS = 120.0
"""For one plan: a TensorRT-RTX plan is compiled for the card when it is loaded first."""


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """One plan and what was found. ``reason`` is empty for good ones; ``loaded`` says whether it was loaded here."""

    path: Path
    name: str
    flavour: str
    targets: tuple[int, ...]
    bytes: int
    state: State
    reason: str
    loaded: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the models want as they stand now, by how the names of a part's plans begin.

    A part whose graph is not made has no requests. ``complete`` is off when a model here could not be read.
    """

    requests: Mapping[str, Sequence[BuildRequest]]
    complete: bool = True

    def of(self, name: str) -> Sequence[BuildRequest] | None:
        """The requests of the part that a plan called ``name`` belongs to; None when no model here has such a part."""
        bases = [base for base in self.requests if name == base or name.startswith(f"{base}-")]
        return self.requests[max(bases, key=len)] if bases else None


def check_plans(
    expected: Callable[[Flavour], Expected],
    flavours: Sequence[Flavour],
    card: Card | None,
    tell: Callable[[CheckedPlan], None] | None = None,
) -> list[CheckedPlan]:
    """All plans here, each read whole. ``expected`` gives what the models want of a flavour."""
    found = []
    wanted: dict[str, Expected] = {}
    for path, note in known_plans():
        name = str(note.get("name") or path.stem.rpartition("-")[0])
        targets = note.get("targets")
        numbers = tuple(int(number) for number in targets) if isinstance(targets, list) else ()
        label = f"{note.get('flavour', '?')} {note.get('version', '')}".strip()
        size = path.stat().st_size
        state: State = "damaged"
        reason = file_damage(path, note)
        if not reason:
            flavour = next((f for f in flavours if f.name == note.get("flavour")), None)
            if flavour is not None and flavour.name not in wanted:
                wanted[flavour.name] = expected(flavour)
            state, reason = _belongs(path, note, name, numbers, flavour, card, wanted)
            if state == "good" and "sha256" not in note:
                state, reason = "unsure", "no checksum was noted when it was built"
        checked = CheckedPlan(path, name, label, numbers, size, state, reason)
        if tell is not None:
            tell(checked)
        found.append(checked)
    return found


def file_damage(plan: Path, note: Mapping[str, object] | None = None) -> str:
    """What is wrong with the file; empty when it is as it was built."""
    note = plan_note(plan) if note is None else note
    try:
        size = plan.stat().st_size
        if not size:
            return "the file is empty"
        if not note:
            return "the note beside it is missing or damaged"
        if size != note.get("bytes"):
            return f"the file has {size} bytes, {note.get('bytes')} were built"
        if "sha256" in note:
            with plan.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != note["sha256"]:
                    return "its bytes are not those that were built (SHA-256 differs)"
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    return ""


def _belongs(
    path: Path,
    note: Mapping[str, object],
    name: str,
    targets: tuple[int, ...],
    flavour: Flavour | None,
    card: Card | None,
    wanted: Mapping[str, Expected],
) -> tuple[State, str]:
    """Whether the program would still find this plan, and why not."""
    if flavour is None:
        return "stale", f"it is for {note.get('flavour')} {note.get('version')}, which is not installed"
    if flavour.version != note.get("version"):
        return "stale", f"it is for version {note.get('version')}, {flavour.label} is installed"
    if flavour.name != "tensorrt_rtx":
        if card is None:
            return "unsure", "it belongs to one card, and there is none here to compare with"
        if note.get("card", card.name) != card.name:
            return "stale", f"it was built on {note['card']}, here is {card.name}"
        driver = note.get("driver")
        if isinstance(driver, int) and driver // 1000 != card.driver // 1000:
            return "stale", f"it was built with driver version {driver}, here is {card.driver}"
    requests = wanted[flavour.name].of(name)
    if requests is None and not wanted[flavour.name].complete:
        return "unsure", "a model here cannot be read, and it may be that one's"
    if requests is None:
        return "stale", "no model of this name or size is on this machine"
    if not requests:
        return "unsure", "the model's graph is not made, so they were not compared"
    if path.name in {plan_path(replace(form, targets=targets), flavour, card).name for form in requests}:
        return "good", ""
    return "stale", "it belongs to an older graph, or to another context length"


def check_loading(
    plans: Iterable[CheckedPlan], flavour: Flavour | None, card: Card | None, why_no_card: str
) -> list[CheckedPlan]:
    """The same plans with ``loaded`` filled in: good ones that are meant for this card are loaded in a child process.

    What does not load becomes ``damaged``.
    """
    plans = list(plans)
    if flavour is None or card is None:
        return [replace(plan, loaded=f"not loaded: {why_no_card}") for plan in plans]
    fitting = [
        plan
        for plan in plans
        if plan.state in ("good", "unsure")
        and plan.flavour == f"{flavour.name} {flavour.version}"
        and (not plan.targets or card.capability in plan.targets)
    ]
    troubles = _load(flavour, [plan.path for plan in fitting])
    checked = []
    for plan in plans:
        if plan.path not in troubles:
            checked.append(replace(plan, loaded="not loaded: it is not for what runs here"))
        elif troubles[plan.path]:
            checked.append(replace(plan, state="damaged", reason=troubles[plan.path], loaded="does not load"))
        else:
            checked.append(replace(plan, loaded="loads"))
    return checked


def _load(flavour: Flavour, paths: Sequence[Path]) -> dict[Path, str]:
    """What is wrong with each plan when it is loaded; a child does it, since a bad plan may take its process down."""
    troubles: dict[Path, str] = {}
    root = Path(__file__).resolve().parents[2]
    search = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    for path in paths:
        order = json.dumps({"flavour": flavour.name, "plan": str(path)})
        try:
            done = subprocess.run(
                [sys.executable, *LOADER], input=order, capture_output=True, text=True, encoding="utf-8",
                errors="replace", timeout=_LOAD_SECONDS, check=False, cwd=root,
                env={**os.environ, "PYTHONPATH": search},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            troubles[path] = f"loading it took longer than {_LOAD_SECONDS:.0f} s"
            continue
        try:
            said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
            troubles[path] = str(said["trouble"])
        except (IndexError, ValueError, KeyError, TypeError):
            last = " ".join(done.stderr[-300:].split())
            troubles[path] = f"the process that loaded it ended with {done.returncode}: {last or 'no message'}"
    return troubles


def rubbish(checked: Iterable[CheckedPlan]) -> list[Path]:
    """Files and folders that nobody will use again: stale and damaged plans, and what ended programs left."""
    folder = plans_dir()
    found: list[Path] = []
    for plan in checked:
        if plan.state in ("stale", "damaged"):
            found.append(plan.path)
            if plan.path.with_suffix(".json").exists():
                found.append(plan.path.with_suffix(".json"))
    found += [note for note in sorted(folder.glob("*.json")) if not note.with_suffix(".plan").exists()]
    long_ago = time.time() - _LEFT_BEHIND_SECONDS
    found += [working for working in sorted(folder.glob(f"{WORKING}*")) if working.stat().st_mtime < long_ago]
    return found


def remove(paths: Iterable[Path]) -> tuple[int, list[str]]:
    """Delete them; the bytes that came free, and what could not be deleted."""
    freed, kept = 0, []
    for path in paths:
        try:
            if path.is_dir():
                freed += sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
                shutil.rmtree(path)
            else:
                freed += path.stat().st_size
                path.unlink()
        except OSError as error:
            kept.append(f"{path.name} could not be deleted: {error.strerror}")
    return freed, kept
