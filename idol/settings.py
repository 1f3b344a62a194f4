"""The program's settings: one TOML file, strict keys, safe to edit by hand.

The file is ``settings.toml`` in the user's configuration folder (``IDOL_SETTINGS`` names another). A missing file means
defaults. Of a file with wrong values every valid one is kept and each wrong one is replaced by its default; of a file
that is no TOML none can be. Either way the file as it was is kept beside as ``settings.toml.broken`` (``.broken.2`` and
so on where there is one already), with a message.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import platformdirs
import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from idol.seams import Language

log = logging.getLogger(__name__)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class LlmSettings(_Section):
    """``model``: a catalogue id or the name of an added model; ``auto`` takes 1.5B, or 0.5B on a slow machine."""

    model: str = "auto"
    threads: int = Field(default=0, ge=0, le=256, description="0: as many as physical cores")
    context: int = Field(default=2048, ge=256, le=32768)
    temperature: float = Field(default=0.4, ge=0, le=2)
    top_p: float = Field(default=0.9, gt=0, le=1)
    top_k: int = Field(default=40, ge=0)
    min_p: float = Field(default=0.1, ge=0, le=1)
    repetition_penalty: float = Field(default=1.05, ge=0.5, le=2)
    max_tokens: int = Field(default=120, ge=8, le=1024)


class VoiceSettings(_Section):
    """A voice per language (Kokoro's names) and the speed of speech."""

    en: str = "af_heart"
    zh: str = "zf_xiaoxiao"
    ja: str = "jf_alpha"
    speed: float = Field(default=1.0, ge=0.5, le=2.0)

    def name_for(self, language: Language) -> str:
        return {"en": self.en, "zh": self.zh, "ja": self.ja}[language]


class EngineSettings(_Section):
    """``runtime``: ``auto`` takes the GPU where TensorRT runs; ``cpu`` or a flavour's name decides."""

    runtime: Literal["auto", "cpu", "tensorrt_rtx", "tensorrt", "tensorrt_8"] = "auto"


class AudioSettings(_Section):
    """``output``: part of the device's name; empty is the system's default, ``none`` is silence with a clock."""

    output: str = ""
    volume: float = Field(default=1.0, ge=0, le=1)


Backdrop = Literal["colour", "image", "transparent", "key-green", "key-blue", "key-magenta"]


class AvatarSettings(_Section):
    """``path``: a .vrm or .glb file; empty is the default idol. ``backdrop`` is what is behind her: the colour
    ``background``, the file ``picture``, nothing, or a pure colour for chroma keying."""

    path: str = ""
    background: str = "#20242f"
    backdrop: Backdrop = "colour"
    picture: str = ""


class HealthSettings(_Section):
    """The watch over the card. ``log``: a row a second in the data folder's ``logs``, as CSV or JSON lines. A card at
    ``hot`` °C is under pressure until it has cooled by 7. ``reserve_mb``: memory of the card left to others, in MB; 0
    is a share of the card."""

    log: Literal["csv", "jsonl", "off"] = "csv"
    hot: float = Field(default=87, ge=40, le=120)
    reserve_mb: int = Field(default=0, ge=0, le=1_000_000)


class UiSettings(_Section):
    overlay: bool = False
    language: Literal["auto", "en", "zh", "ja"] = "auto"


class Settings(_Section):
    """All settings. Unknown keys are refused, with their place in the file."""

    persona: str = ""
    engines: EngineSettings = EngineSettings()
    llm: LlmSettings = LlmSettings()
    voice: VoiceSettings = VoiceSettings()
    audio: AudioSettings = AudioSettings()
    avatar: AvatarSettings = AvatarSettings()
    health: HealthSettings = HealthSettings()
    ui: UiSettings = UiSettings()


def settings_path() -> Path:
    chosen = os.environ.get("IDOL_SETTINGS")
    return Path(chosen).expanduser() if chosen else platformdirs.user_config_path("idol") / "settings.toml"


def data_dir() -> Path:
    """Where history, drafts and reports are kept (``IDOL_DATA`` names another folder)."""
    chosen = os.environ.get("IDOL_DATA")
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("idol")


def load_settings(path: Path | None = None) -> tuple[Settings, str]:
    """Settings and a message for the user ('' when all is well), which is logged as a warning too.

    A file with something wrong in it is kept under another name, and the mended settings take its place. Never raises.
    """
    path = path or settings_path()
    message = ""
    settings = Settings()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return settings, ""
    except OSError as error:
        message = f"The settings in {path} cannot be read ({error.strerror}); defaults are used."
        log.warning("%s", message)
        return settings, message
    try:
        settings, wrong = parse_settings(content)
    except ValueError as error:
        message = f"The settings in {path} are damaged ({error}); defaults are used. {_set_aside(path, content, None)}"
    else:
        if not wrong:
            return settings, ""
        one = len(wrong) == 1
        message = (
            f"{'A setting' if one else f'{len(wrong)} settings'} in {path} {'is' if one else 'are'} wrong: "
            f"{'; '.join(wrong)}. {'It is' if one else 'They are'} left out, all others are kept. "
            f"{_set_aside(path, content, settings)}"
        )
    log.warning("%s", message)
    return settings, message


def parse_settings(content: bytes) -> tuple[Settings, list[str]]:
    """The settings in a file's bytes, with defaults in place of what is wrong, and what that is: for each wrong value
    its name, the value and what is allowed. Raises ``ValueError`` where no value can be made out."""
    try:
        document: dict[str, Any] = tomlkit.parse(content.decode("utf-8-sig")).unwrap()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from error
    except tomlkit.exceptions.TOMLKitError as error:
        raise ValueError(f"no TOML: {error}") from error
    wrong: list[str] = []
    while True:
        try:
            return Settings.model_validate(document), wrong
        except ValidationError as error:
            for complaint in error.errors():
                place = [str(part) for part in complaint["loc"]]
                wrong.append(f"{'.'.join(place)} is {_shown(complaint['input'])}, {_allowed(place)}")
                table = document
                for part in place[:-1]:
                    table = table[part]
                del table[place[-1]]


def _shown(value: object) -> str:
    text = "a table" if isinstance(value, dict) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_KINDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
}


def _allowed(place: Sequence[str]) -> str:
    """What may stand at ``place``, as the end of a sentence."""
    section: type[BaseModel] = Settings
    for depth, part in enumerate(place):
        field = section.model_fields.get(part)
        if field is None:
            where = ".".join(place[:depth])
            known = ", ".join(section.model_fields)
            return f"but there is no such setting; {f'{where} has' if where else 'there are'} {known}"
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            section = kind
            continue
        if get_origin(kind) is Literal:
            return f"allowed: {', '.join(repr(choice) for choice in get_args(kind))}"
        return f"allowed: {_KINDS[kind]}{_limits(field)}"
    return f"allowed: a table [{'.'.join(place)}]"


def _limits(field: FieldInfo) -> str:
    words = {"ge": "at least", "gt": "more than", "lt": "less than", "le": "at most"}
    limits = [
        f"{word} {getattr(rule, name):g}"
        for name, word in words.items()
        for rule in field.metadata
        if getattr(rule, name, None) is not None
    ]
    return f", {' and '.join(limits)}" if limits else ""


def _set_aside(path: Path, content: bytes, mended: Settings | None) -> str:
    """Keep ``content`` under a name that is free, put ``mended`` (or nothing) in its place; says what became of it."""
    kept = _free_name(path)
    try:
        with kept.open("xb") as file:
            file.write(content)
        if mended is not None:
            save_settings(mended, path)
        else:
            path.unlink()
    except OSError as error:
        with contextlib.suppress(OSError):
            kept.unlink(missing_ok=True)
        return f"The file could not be mended ({error.strerror}) and is as it was: correct it."
    return f"The file as it was is kept as {kept}."


def _free_name(path: Path) -> Path:
    first = path.with_name(path.name + ".broken")
    later = (first.with_name(f"{first.name}.{number}") for number in count(2))
    return next(name for name in chain((first,), later) if not name.exists())


def save_settings(settings: Settings, path: Path | None = None) -> None:
    """Write atomically; comments a user made in the file are not kept. Raises ``OSError``."""
    path = path or settings_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    document = tomlkit.document()
    for key, value in settings.model_dump().items():
        document[key] = value
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(tomlkit.dumps(document), encoding="utf-8")
    temporary.replace(path)
