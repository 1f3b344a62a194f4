"""The models on this machine as TensorRT sees them: which engines each has, and what their plans are built from.

Everything here works without a card. What is asked for is exactly what the program asks for when it loads a model, so
a plan that is built ahead of time is found then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from engines.errors import EngineError, ModelFileError, UnsupportedModelError
from engines.models.decoder_config import KNOWN_ARCHITECTURES
from engines.models.families import model_config, shorter_trt_requests, trt_requests
from engines.trt.flavours import Flavour
from engines.trt.plans import BuildRequest

Progress = Callable[[float, str], None]
VOICE_PARTS = ("A", "B", "D")
DECODER_PARTS = ("step project", "step attend", "project", "attend", "head")
SHORTER_PARTS = ("step attend, shorter", "attend, shorter")
"""For the context that a card short of memory goes down to."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model whose files are here. ``path``: the voice's folder, a GGUF file or an HF folder."""

    name: str
    kind: Literal["voice", "llm"]
    path: Path

    @property
    def parts(self) -> tuple[str, ...]:
        return VOICE_PARTS if self.kind == "voice" else DECODER_PARTS + SHORTER_PARTS


@dataclass(frozen=True, slots=True)
class EnginePart:
    """One engine of a model. ``forms`` in the order to try, empty while the graph is not made."""

    model: str
    part: str
    forms: tuple[BuildRequest, ...]

    @property
    def label(self) -> str:
        return f"{self.model} {self.part}"

    def at(self, targets: tuple[int, ...]) -> EnginePart:
        """The same for given compute capabilities · 10."""
        return replace(self, forms=tuple(replace(form, targets=targets) for form in self.forms))


def local_models() -> list[LocalModel]:
    """Models whose files are here: the voice, then language models, the largest first, then added ones."""
    from engines.added import added_models
    from engines.catalogue import load_catalogue

    voices, chats = [], []
    for model in load_catalogue().models.values():
        if model.missing():
            continue
        if model.family == "kokoro":
            voices.append(LocalModel(model.id, "voice", model.folder))
        elif model.family in KNOWN_ARCHITECTURES:
            path = model.folder / model.files[0].name if len(model.files) == 1 else model.folder
            chats.append((model.bytes, LocalModel(model.id, "llm", path)))
    chats.sort(key=lambda pair: -pair[0])
    added = [LocalModel(name, "llm", path) for name, path in added_models().items() if path.exists()]
    return [*voices, *(model for _, model in chats), *added]


def find_model(name: str) -> LocalModel:
    """The model ``name``: an id, an added model's name, or a path. Raises ``EngineError`` that lists what is here."""
    from engines.catalogue import load_catalogue

    here = local_models()
    for model in here:
        if model.name == name:
            return model
    path = Path(name).expanduser()
    if path.suffix == ".gguf" or path.is_dir():
        if not path.exists():
            raise ModelFileError(f"{path} does not exist.", "Check the path.")
        return LocalModel(path.stem, "llm", path)
    known = ", ".join(model.name for model in here) or "none"
    if name in load_catalogue().models:
        entry = load_catalogue().models[name]
        if entry.family != "kokoro" and entry.family not in KNOWN_ARCHITECTURES:
            raise UnsupportedModelError(f"{name} has no TensorRT engine.", f"These have: {known}.")
        raise ModelFileError(f"{name} is not on this machine.", f"Fetch it: main.py models fetch {name}.")
    raise EngineError(f"There is no model {name!r}.", f"Models here: {known}.")


def engine_parts(
    model: LocalModel,
    flavour: Flavour,
    *,
    context: int = 2048,
    make: bool = True,
    progress: Progress | None = None,
) -> list[EnginePart]:
    """All engines of ``model`` for ``flavour``; a language model's are for ``context`` tokens.

    The voice's graphs take seconds to make, which ``make`` off keeps from happening. Raises the engine errors when the
    model's files are damaged or the disk is full.
    """
    if model.kind == "voice":
        from engines.models.kokoro_trt import part_forms, voice_graphs

        folder = voice_graphs(model.path, flavour.typed, make=make, progress=progress)
        return [
            EnginePart(model.name, part, part_forms(part, folder, flavour.typed) if folder is not None else ())
            for part in model.parts
        ]
    requests = trt_requests(model.path, context=context) + shorter_trt_requests(model.path, context=context)
    # A context that is short already has no shorter one.
    return [EnginePart(model.name, part, (request,)) for part, request in zip(model.parts, requests, strict=False)]


def plan_base(model: LocalModel, part: str) -> str:
    """How the names of this part's plans begin, whatever the context. Raises the engine errors when the model cannot be
    read."""
    if model.kind == "voice":
        return f"kokoro-{part}"
    from engines.models.decoder_trt import plan_name

    return f"{plan_name(model_config(model.path))}-{part.partition(',')[0].replace(' ', '-')}"
