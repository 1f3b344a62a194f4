"""What a plan is built from, where it is kept, and by what key it is found again.

A plan is good for exactly one graph, flavour and version, target, precision and set of profiles; for flavours that time
kernels on the card also for one card and driver. All of that is in its key, so a plan is never loaded by mistake.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from engines.errors import ModelFileError
from engines.store import built_dir
from engines.trt.flavours import Card, Flavour

Shape = tuple[int, ...]
Profile = dict[str, tuple[Shape, Shape, Shape]]
"""Least, best and greatest shape by input name."""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """One engine to build.

    ``graph`` an ONNX file (its external data beside it). ``half`` allows 16-bit kernels in weakly typed flavours; nodes
    whose names end in ``_f32`` and norms stay in 32 bits. ``tf32`` allows products of float32 tensors with 10-bit
    mantissas on cards that have them. ``targets`` are compute capabilities · 10 for TensorRT-RTX,
    empty for the card that is there. ``level`` is TensorRT's builder optimisation level.
    """

    name: str
    graph: Path
    profiles: tuple[Profile, ...]
    half: bool = True
    tf32: bool = True
    targets: tuple[int, ...] = ()
    level: int = 3
    identity: str = ""
    """What tells the weights apart when they lie outside the graph file, e.g. the model file's hash."""
    extra: dict[str, str] = field(default_factory=dict)
    """For weakly typed flavours: ``norms`` "layer" or "ops" (see ``weak_norms``)."""

    def document(self) -> dict[str, object]:
        return {**asdict(self), "graph": str(self.graph)}

    @classmethod
    def from_document(cls, document: dict[str, object]) -> BuildRequest:
        profiles = tuple(
            {name: tuple(tuple(shape) for shape in shapes) for name, shapes in profile.items()}
            for profile in document["profiles"]  # type: ignore[attr-defined]
        )
        return cls(
            name=str(document["name"]),
            graph=Path(str(document["graph"])),
            profiles=profiles,  # type: ignore[arg-type]
            half=bool(document["half"]),
            tf32=bool(document["tf32"]),
            targets=tuple(int(target) for target in document["targets"]),  # type: ignore[attr-defined]
            level=int(document["level"]),  # type: ignore[call-overload]
            identity=str(document["identity"]),
            extra={str(k): str(v) for k, v in document["extra"].items()},  # type: ignore[attr-defined]
        )


def graph_digest(graph: Path) -> str:
    """SHA-256 of a graph file, read once while size and time stay. Raises ``ModelFileError`` when it is not there."""
    try:
        state = graph.stat()
        return _digest(graph, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise ModelFileError(f"{graph} cannot be read: {error.strerror}.", "Build the model again.") from error


@lru_cache(maxsize=64)
def _digest(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plan_key(request: BuildRequest, flavour: Flavour, card: Card | None) -> str:
    """16 hexadecimal digits. Raises ``ModelFileError`` when the graph cannot be read."""
    graph = graph_digest(request.graph)
    parts: list[object] = [
        graph, request.identity, flavour.name, flavour.version, request.half, request.tf32, request.level,
        [sorted(profile.items()) for profile in request.profiles], sorted(request.extra.items()),
    ]  # fmt: skip
    if flavour.name == "tensorrt_rtx":
        parts.append(request.targets or ((card.capability,) if card is not None else ()))
    else:
        parts += [card.name, card.capability, card.driver // 1000] if card is not None else ["no card"]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def plans_dir() -> Path:
    """Where plans are kept. It may not exist yet."""
    return built_dir() / "plans"


def plan_path(request: BuildRequest, flavour: Flavour, card: Card | None) -> Path:
    """Where the plan of ``request`` lies or will lie."""
    safe = "".join(character if character.isalnum() or character in "-._" else "-" for character in request.name)
    return plans_dir() / f"{safe}-{plan_key(request, flavour, card)}.plan"


def timing_cache_path(flavour: Flavour, card: Card | None) -> Path:
    """Kernel timings kept between builds; only for flavours that time kernels."""
    name = (card.name if card is not None else "none").replace(" ", "-")
    return plans_dir() / f"timing-{flavour.name}-{flavour.version}-{name}.cache"


def known_plans() -> list[tuple[Path, dict[str, object]]]:
    """All plans kept here with what is noted beside them."""
    return [(path, plan_note(path)) for path in sorted(plans_dir().glob("*.plan"))]


def plan_note(plan: Path) -> dict[str, object]:
    """What was noted beside ``plan`` when it was built; empty when that is missing or damaged."""
    try:
        note = json.loads(plan.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}
