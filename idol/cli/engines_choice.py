"""What the words of ``main.py engines`` mean: which flavour builds, for which cards, which models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.models.trt_parts import LocalModel
    from engines.trt.flavours import Card, Flavour

FAMILIES = {75: "RTX 20", 80: "A100", 86: "RTX 30", 89: "RTX 40", 120: "RTX 50", 121: "GB10"}
_INSTALL = (
    "Install one: pip install tensorrt_rtx_cu13_libs tensorrt_rtx_cu13_bindings (RTX cards; builds without a card too)."
)


class BadInput(EngineError):
    """The user's words cannot be followed; nothing was begun."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Who builds for what: ``targets`` are compute capabilities · 10, or just 0 for the card that is here."""

    flavour: Flavour
    card: Card | None
    targets: tuple[int, ...]


def choose_builder(wanted: str, words: Sequence[str]) -> Builder:
    """``wanted``: ``auto`` or a flavour's name; ``words``: what ``--target`` says. Raises ``BadInput``."""
    from engines.trt.flavours import find_card, usable_on

    flavour = _flavour(wanted)
    found = find_card()
    card = None if isinstance(found, str) else found
    if flavour.name == "tensorrt_rtx":
        return Builder(flavour, card, _targets(words, card, found if isinstance(found, str) else ""))
    if card is None:
        raise BadInput(
            f"{flavour.label} times its kernels on the card, and there is none: {found}.",
            "Build on the machine with the card, or install TensorRT-RTX, which needs none.",
        )
    problem = usable_on(flavour, card.capability)
    if problem:
        raise BadInput(f"{flavour.label} cannot build here: {problem}.", "Use another flavour: --flavour.")
    if words and set(_targets(words, card, "")) != {card.capability}:
        raise BadInput(
            f"{flavour.label} builds only for the card that is here, SM{card.capability} ({card.name}).",
            "Leave --target out, or use --flavour tensorrt_rtx.",
        )
    return Builder(flavour, card, (0,))


def _flavour(wanted: str) -> Flavour:
    from engines.trt.flavours import FLAVOUR_NAMES, choose, installed

    flavours = installed()
    if wanted not in ("auto", *FLAVOUR_NAMES):
        raise BadInput(f"There is no flavour {wanted!r}.", f"Known: {', '.join(FLAVOUR_NAMES)}.")
    if not flavours:
        raise BadInput("No TensorRT is installed.", _INSTALL)
    if wanted != "auto":
        for flavour in flavours:
            if flavour.name == wanted:
                return flavour
        raise BadInput(f"{wanted} is not installed.", f"Installed: {', '.join(f.name for f in flavours)}. {_INSTALL}")
    return choose().flavour or next((f for f in flavours if f.builds_without_gpu), flavours[0])


def _targets(words: Sequence[str], card: Card | None, missing: str) -> tuple[int, ...]:
    from engines.trt.flavours import RTX_TARGETS

    known = ", ".join(f"sm{number} ({FAMILIES[number]})" for number in RTX_TARGETS)
    chosen: list[int] = []
    for word in [part for text in words or ("this",) for part in text.lower().split(",") if part]:
        if word == "this":
            if card is None:
                raise BadInput(f"There is no card here to build for: {missing}.", f"Say which with --target: {known}.")
            number = card.capability
        else:
            match = re.fullmatch(r"(?:sm_?)?(\d{2,3})|(\d{1,2})\.(\d)", word)
            number = int("".join(filter(None, match.groups()))) if match else 0
        if number not in RTX_TARGETS:
            raise BadInput(
                f"TensorRT-RTX does not build for {word!r}{f' (SM{number})' if word == 'this' else ''}.",
                f"Targets: {known}.",
            )
        if number not in chosen:
            chosen.append(number)
    return tuple(chosen)


def choose_models(names: Sequence[str], voice: bool) -> list[LocalModel]:
    """Models by name or ``all``; without names the voice and the language model that the settings take.

    Raises ``BadInput`` for a name that is not here, or when nothing is.
    """
    from engines.models.trt_parts import find_model, local_models
    from idol.settings import load_settings

    here = local_models()
    chosen: dict[str, LocalModel] = {}
    if voice or not names:
        chosen |= {model.name: model for model in here if model.kind == "voice"}
        if voice and not chosen:
            raise BadInput("The voice is not on this machine.", "Fetch it: main.py models fetch kokoro.")
    if not names and not voice:
        wanted = load_settings()[0].llm.model
        names = [wanted] if wanted != "auto" else [model.name for model in here if model.kind == "llm"][:1]
    for name in names:
        if name == "all":
            chosen |= {model.name: model for model in here}
            continue
        try:
            model = find_model(name)
        except EngineError as error:
            raise BadInput(error.message, error.remedy) from error
        chosen[model.name] = model
    if not chosen:
        raise BadInput("No model is on this machine.", "Fetch the usual ones: main.py models fetch default.")
    return list(chosen.values())
