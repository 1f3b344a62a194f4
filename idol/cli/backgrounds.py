"""``--background`` of the commands that draw her: a colour, nothing, a key colour or a picture's file."""

from __future__ import annotations

from pathlib import Path

from idol.render.background_file import ENDINGS
from idol.settings import AvatarSettings

KEY_NAMES = {"key-green": "green", "key-blue": "blue", "key-magenta": "magenta"}
BACKGROUND_HELP = f"#rrggbb, transparent, {', '.join(KEY_NAMES)} (pure, for chroma keying) or a picture's file"


class UsageError(Exception):
    """What the user asked cannot be understood; the text says what would be."""


def is_picture(background: str) -> bool:
    return background.lower().endswith(ENDINGS)


def parse_background(text: str) -> tuple[float, float, float, float]:
    """Red, green, blue, alpha, 0..1; all 0 for what is no colour. Raises ``UsageError``."""
    if text == "transparent" or text in KEY_NAMES:
        return (0.0, 0.0, 0.0, 0.0)
    digits = text.removeprefix("#")
    try:
        if len(digits) != 6:
            raise ValueError("six hexadecimal digits are needed")
        value = int(digits, 16)
    except ValueError as error:
        raise UsageError(
            f"--background {text!r}: write #rrggbb (for example #00ff00), 'transparent', {', '.join(KEY_NAMES)} "
            f"or a file that ends in {', '.join(ENDINGS)}."
        ) from error
    return ((value >> 16) / 255, (value >> 8 & 255) / 255, (value & 255) / 255, 1.0)


def background_settings(settings: AvatarSettings, text: str) -> AvatarSettings:
    """``settings`` with the background that ``text`` asks for. Raises ``UsageError``."""
    if is_picture(text):
        change = {"backdrop": "image", "picture": str(Path(text).absolute())}
    elif parse_background(text)[3] == 0.0:
        change = {"backdrop": text}
    else:
        change = {"backdrop": "colour", "background": f"#{text.removeprefix('#')}"}
    return AvatarSettings.model_validate({**settings.model_dump(), **change})
