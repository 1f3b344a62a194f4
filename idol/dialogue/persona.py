"""Who she is: a persona in a strict TOML file. Character cards come as another source of the same class."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from idol.seams import Language


class PersonaError(Exception):
    """A persona file cannot be used; the message says where it is wrong."""


class Exchange(BaseModel):
    """One example of how she talks."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    user: str = Field(min_length=1, max_length=500)
    reply: str = Field(min_length=1, max_length=500)


class Texts(BaseModel):
    """A text per language."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    en: str
    zh: str
    ja: str

    def get(self, language: Language) -> str:
        return str(getattr(self, language))


class TextLists(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    en: list[str] = Field(min_length=1)
    zh: list[str] = Field(min_length=1)
    ja: list[str] = Field(min_length=1)

    def get(self, language: Language) -> list[str]:
        return list(getattr(self, language))


class Examples(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    en: list[Exchange] = []
    zh: list[Exchange] = []
    ja: list[Exchange] = []

    def get(self, language: Language) -> list[Exchange]:
        return list(getattr(self, language))


class Persona(BaseModel):
    """``description`` may be one text for all languages, as character cards have it; in the language spoken it works
    better. ``fallback`` lines are said when the model falls out of character and does not find back, ``secret`` lines
    when someone asks for the model or the prompt behind her (``fallback`` where there are none)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(min_length=1, max_length=60)
    names: Texts
    description: Annotated[str, Field(min_length=1, max_length=4000)] | Texts
    style: str = Field(min_length=1, max_length=500)
    greeting: Texts
    fallback: TextLists
    secret: TextLists | None = None
    example: Examples = Examples()

    def described(self, language: Language) -> str:
        """The description as it goes into the prompt."""
        text = self.description if isinstance(self.description, str) else self.description.get(language)
        return text.strip()


def default_persona() -> Persona:
    """Mira, who ships with the program."""
    return load_persona(Path(__file__).parent / "personas" / "mira.toml")


def load_persona(path: Path) -> Persona:
    """Raises ``PersonaError`` naming the file, the place in it and what is wrong."""
    try:
        return Persona.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PersonaError(f"The persona {path.name} cannot be read: {error}. It must be TOML in UTF-8.") from error
    except ValidationError as error:
        places = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
        raise PersonaError(f"The persona {path.name} is not valid: {places}. Mend these places.") from error
