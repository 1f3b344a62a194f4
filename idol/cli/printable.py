"""Text from people, models and files, made safe for a terminal."""

from __future__ import annotations

import unicodedata

_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Signs that turn the direction of writing: what follows would read otherwise than it is."""


def printable(text: str) -> str:
    """``text`` with what a terminal would obey, or cannot show, as escapes; line ends and tabs stay."""
    return "".join(character if _harmless(character) else _escape(character) for character in text)


def _harmless(character: str) -> bool:
    if character in "\n\t" or " " <= character <= "~":
        return True
    return unicodedata.category(character) not in ("Cc", "Cs") and character not in _TURNING


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def readable(text: str) -> str:
    """``text`` of a command line; bytes in it that are not UTF-8 become U+FFFD, so that it can be written to a file."""
    return "".join("\ufffd" if unicodedata.category(character) == "Cs" else character for character in text)
