"""What a start does about its models: which to load, what to fetch before, what to tell the user."""

from __future__ import annotations

from dataclasses import dataclass

from engines.added import added_models
from engines.fetch import missing
from idol.show.model_files import LARGE, MEDIUM, SMALL, fetch_remedy, is_mind, model_file
from idol.show.understudies import VOICE

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class StartPlan:
    """``model`` is what to load, as ``LlmSettings.model`` has it; ``fetch`` are sets and ids of the catalogue that must
    come first. ``warning`` says that the wanted model is not there, with what to do; it is empty when all is well.
    ``offer`` is the wanted model where another one answers and the catalogue knows how to get it, else empty."""

    model: str
    fetch: tuple[str, ...] = ()
    warning: str = ""
    offer: str = ""


def plan_start(wanted: str) -> StartPlan:
    """What to do when the language model ``wanted`` (``auto``, or a name as ``model_file`` takes it) is to answer."""
    voice = (VOICE,) if missing(VOICE) else ()
    others = any(model_file(name) is not None for name in (LARGE, MEDIUM, SMALL))
    automatic = voice if others else ("default",)
    if wanted == AUTO:
        return StartPlan(AUTO, automatic)
    if model_file(wanted) is not None:
        return StartPlan(wanted, voice)
    path = added_models().get(wanted)
    trouble = f"The language model {wanted!r} is not on this machine" + (f": there is no {path}." if path else ".")
    if is_mind(wanted) and not others:
        return StartPlan(wanted, (wanted, *voice), f"{trouble} It is being fetched.")
    instead = "The automatic choice answers in its place" + (", once it is fetched." if not others else ".")
    return StartPlan(
        AUTO, automatic, f"{trouble} {instead} {fetch_remedy(wanted)}", wanted if is_mind(wanted) else ""
    )  # fmt: skip
