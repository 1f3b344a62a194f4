"""Words that are not taken in and not said: a short built-in list per language, and the streamer's own.

Matching is on a normal form: width and case folded, accents dropped, common look-alikes read as letters. A Latin word
must begin where a word begins ("grape you" holds no blocked word) and may be spaced out with signs between its letters.
The built-in lists are mild and short on purpose; ``blocklist.txt`` in the data folder adds to them, one word or phrase
a line, # for comments.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_LOOKALIKES = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "i"}
)  # fmt: skip
_ALPHABETS = str.maketrans(
    {"а": "a", "е": "e", "о": "o", "р": "p", "с": "c", "х": "x", "у": "y", "і": "i", "ѕ": "s", "к": "k", "м": "m",
     "α": "a", "ε": "e", "ο": "o", "ρ": "p", "τ": "t", "υ": "u", "ν": "v", "ι": "i", "κ": "k"}
)  # fmt: skip
_SHORT = 4
"""Latin words up to this length are matched whole: they begin too many harmless words."""
BUILT_IN: tuple[str, ...] = (
    "kill yourself", "kys", "nigger", "faggot", "rape you", "heil hitler",
    "去死吧", "操你妈", "傻逼", "我要杀了你",
    "死ねよ", "殺してやる", "くたばれ",
)  # fmt: skip


class Blocklist:
    """Finds blocked words."""

    def __init__(self, words: Iterable[str] = BUILT_IN) -> None:
        self._latin: list[tuple[str, re.Pattern[str]]] = []
        self._inside: list[str] = []
        for word in words:
            form = _letters(_plain(word))
            if not form:
                continue
            if form.isascii():
                self._latin.append((form, _pattern(form)))
            else:
                self._inside.append(form)

    @classmethod
    def with_file(cls, path: Path) -> Blocklist:
        """The built-in words and those of ``path``, which need not exist."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            lines = []
        own = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        return cls((*BUILT_IN, *own))

    def find(self, text: str) -> str:
        """The normal form of the first blocked word in ``text``, '' when there is none."""
        plain = _plain(text)
        disguised = plain.translate(_LOOKALIKES)
        for form, pattern in self._latin:
            if pattern.search(plain) or pattern.search(disguised):
                return form
        letters = _letters(plain)
        return next((word for word in self._inside if word in letters), "")


def _pattern(form: str) -> re.Pattern[str]:
    if len(form) > _SHORT:
        return re.compile(r"(?<![a-z])" + r"[\W_]{0,3}".join(form))
    spaced = r"[\W_]".join(form)
    return re.compile(rf"(?<![a-z])(?:{form}|{spaced})(?![a-z])")


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKD", text).casefold().translate(_ALPHABETS)
    return "".join(c for c in text if unicodedata.category(c) not in ("Mn", "Cf") or c in "\u3099\u309a")


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFC", text))
