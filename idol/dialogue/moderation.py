"""Words that are not taken in and not said: a short built-in list per language, and the streamer's own.

Matching is on a normal form: width and case folded, marks and separators between letters dropped, common look-alikes
read as letters. The built-in lists are mild and short on purpose; ``blocklist.txt`` in the data folder adds to them,
one word or phrase a line, # for comments.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_LOOKALIKES = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "i",
     "а": "a", "е": "e", "о": "o", "р": "p", "с": "c", "х": "x", "у": "y", "і": "i", "ѕ": "s", "к": "k", "м": "m",
     "α": "a", "ε": "e", "ο": "o", "ρ": "p", "τ": "t", "υ": "u", "ν": "v", "ι": "i", "κ": "k"}
)  # fmt: skip
BUILT_IN: tuple[str, ...] = (
    "kill yourself", "kys", "nigger", "faggot", "rape you", "heil hitler",
    "去死吧", "操你妈", "傻逼", "杀了你",
    "死ねよ", "殺してやる", "くたばれ",
)  # fmt: skip


class Blocklist:
    """Finds blocked words. Short Latin words match whole words only; longer ones also when letters are spaced out."""

    def __init__(self, words: Iterable[str] = BUILT_IN) -> None:
        self._whole: set[str] = set()
        self._inside: list[str] = []
        for word in words:
            form = _compact(word)
            if not form:
                continue
            if form.isascii() and len(form) <= 4:
                self._whole.add(form)
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
        words = {_compact(word) for word in re.findall(r"[^\s]+", text)}
        hit = next((word for word in self._whole if word in words), "")
        if hit:
            return hit
        compact = _compact(text)
        return next((word for word in self._inside if word in compact), "")


def _compact(text: str) -> str:
    text = unicodedata.normalize("NFKD", text).casefold()
    text = "".join(c for c in text if unicodedata.category(c) not in ("Mn", "Cf"))
    return re.sub(r"[\W_]+", "", text.translate(_LOOKALIKES))
