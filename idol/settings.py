"""The program's settings: one TOML file, strict keys, safe to edit by hand.

The file is ``settings.toml`` in the user's configuration folder (``IDOL_SETTINGS`` names another). A missing file means
defaults; a damaged one is kept beside as ``settings.toml.broken`` and defaults are used, with a message.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Literal

import platformdirs
import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError

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


class AvatarSettings(_Section):
    """``path``: a .vrm or .glb file; empty is the default idol."""

    path: str = ""
    background: str = "#20242f"


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
    """Settings and a message for the user ('' when all is well)."""
    path = path or settings_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings(), ""
    except (OSError, UnicodeDecodeError) as error:
        return Settings(), f"Settings could not be read ({error}); defaults are used."
    try:
        return Settings.model_validate(tomlkit.parse(text).unwrap()), ""
    except (tomlkit.exceptions.TOMLKitError, ValidationError) as error:
        broken = path.with_name(path.name + ".broken")
        detail = (
            "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            if isinstance(error, ValidationError)
            else str(error)
        )
        try:
            path.replace(broken)
        except OSError:
            log.warning("could not set %s aside", path)
        return Settings(), f"Settings are damaged ({detail}); defaults are used and the file is kept as {broken.name}."


def save_settings(settings: Settings, path: Path | None = None) -> None:
    """Write atomically; comments a user made in the file are not kept."""
    path = path or settings_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    document = tomlkit.document()
    for key, value in settings.model_dump().items():
        document[key] = value
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(tomlkit.dumps(document), encoding="utf-8")
    temporary.replace(path)
