"""A streamed reply cut into clauses: the first short, so that she starts soon, the rest growing to whole sentences.

What comes out does not depend on how the text came in, and nothing is lost: joined, the clauses are the text. No cut
falls inside a number, an abbreviation, a link, a character of several code points (UAX #29) or a quotation.
"""

from __future__ import annotations

import re
import unicodedata

_HARD = ".!?…。！？\n"
_SOFT = ",;:，、；：—"
_CLOSERS = "\"'”’」』）)】》»*_~～!?！？。.…—♪♡"
_PAIRS = {"(": ")", "（": "）", "「": "」", "『": "』", "“": "”", "‘": "’", "«": "»", "【": "】", "《": "》", "[": "]",
          '"': '"'}  # fmt: skip
_QUOTATION = 80
"""Characters after which a quotation that is still open is taken for a stray mark."""
_ABBREVIATION = re.compile(
    r"(?<![A-Za-z\u00c0-\u024f])(?:(?:[A-Za-z]\.)*[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Mt|Jr|Sr|vs|etc|approx|Inc|Ltd|Co|Fig|Vol|ca|cf)\.$"
)
_NUMBER_SIGN = re.compile(r"(?<![A-Za-z])(?:No|Nr|Vol|p|pp)\.$")
_LINK = re.compile(
    r"(?:and|but|or|so|because|when|while|if|that|which|who|with|like|for|from|in|on|at|about|to) ", re.I
)
_LONGEST_LINK = 9
_LATIN_WEIGHT = 1.0
_CJK_WEIGHT = 2.6
"""A CJK character takes about as long to say as 2.6 Latin letters."""


_JOINT = 2.1
"""Times its least length a clause may be before it is cut where the next words join on."""
_SLOW = 1.4
"""A growth below this is a machine that needs short clauses all along; others cut only the first at a joint."""


class ClauseSplitter:
    """Feed pieces, get clauses. Lengths are in Latin letters' worth of speech (13 or so make a second)."""

    def __init__(self, *, first: int = 14, growth: float = 1.8, longest: int = 160) -> None:
        self._text = ""
        self._minimum = float(first)
        self._first = True
        self._growth = growth
        self._longest = longest

    def feed(self, piece: str) -> list[str]:
        """Clauses completed by ``piece``, each with the space that follows it."""
        self._text += piece
        return self._take_all(final=False)

    def finish(self) -> list[str]:
        """What is left."""
        out = self._take_all(final=True)
        if self._text:
            out.append(self._take(len(self._text)))
        return out

    def _take_all(self, final: bool) -> list[str]:
        out = []
        while (end := self._find(final)) is not None:
            out.append(self._take(end))
        return out

    def _take(self, end: int) -> str:
        clause, self._text = self._text[:end], self._text[end:]
        self._first = False
        self._minimum = min(self._minimum * self._growth, 60.0)
        return clause

    def _find(self, final: bool) -> int | None:
        """The end of the first clause, None while it is still open.

        A cut is only made when what follows it is known, so that the answer does not depend on the pieces.
        """
        text = self._text
        quotations, known = _quotations(text, final)
        weight, space, breath = 0.0, 0, 0  # ``space`` and ``breath``: the last places where a long clause may be cut
        index = 0
        while index < len(text):
            character = text[index]
            weight += _CJK_WEIGHT if "\u3040" <= character <= "\u9fff" else _LATIN_WEIGHT
            if index >= known:
                return None
            if _is_free(text, index, quotations):
                breath = index
                if index and text[index - 1] == " ":
                    space = index
            joints = self._first or self._growth < _SLOW
            if character == " " and joints and weight >= _JOINT * self._minimum and not _inside(index + 1, quotations):
                following = text[index + 1 : index + 1 + _LONGEST_LINK]
                if len(following) < _LONGEST_LINK and not final:
                    return None
                if len(following) == _LONGEST_LINK and _LINK.match(following):
                    return index + 1
            if character in _HARD or character in _SOFT:
                end = _end_of_run(text, index + 1)
                if not final and end >= min(len(text), known):
                    return None
                if end < len(text) and not _inside(end, quotations) and self._is_boundary(index, end, weight):
                    return end
                index = max(index + 1, end if character in _HARD else index + 1)
                continue
            if weight > self._longest and space:
                return space
            if weight > 2 * self._longest:
                return breath or _whole_character(text, index + 1)
            index += 1
        return None

    def _is_boundary(self, index: int, end: int, weight: float) -> bool:
        """Whether the mark at ``index``, whose run goes on to ``end``, ends a clause of ``weight``."""
        text = self._text
        mark, before, following = text[index], text[index - 1 : index], text[index + 1 : index + 2]
        spaced = text[end - 1].isspace()
        if mark == "\n":
            return weight > 1
        if before.isdigit() and text[end].isdigit() and not spaced:
            return False  # 3.14, 1,000, 7：30
        if end == index + 1 and mark in ".,:;!?" and text[end].isascii():
            return False  # inside a link, an abbreviation, a name
        if end == index + 1 and mark in ".,:" and before.isascii():
            return False
        if mark == ".":
            if _ABBREVIATION.search(text[: index + 1]) or (following.isspace() and text[end].islower()):
                return False
            if text[end].isdigit() and _NUMBER_SIGN.search(text[: index + 1]):
                return False
        if text[end - 1] in '」』”"»' and (text[end] in "とっ的" or text[end].islower()):
            return False  # the sentence around the quotation goes on
        if mark in _HARD:
            return weight >= min(0.6 * self._minimum, 20) or "\n" in text[index:end]
        return (spaced or mark in "，、；：—") and weight >= self._minimum


def _quotations(text: str, final: bool) -> tuple[list[tuple[int, int]], int]:
    """Outermost quotations and brackets [opening, closing], and up to where ``text`` is decided.

    A mark that is not closed within ``_QUOTATION`` characters opens nothing; before that many are known (and more may
    come) it is open what it does, and so is everything after it.
    """
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(text):
        if text[index] in _PAIRS and _opens(text, index):
            if index + 1 == len(text) and not final:
                return found, index
            closing = _closing(text, index)
            if closing:
                if closing + 1 == len(text) and not final:
                    return found, index
                found.append((index, closing))
                index = closing
            elif len(text) - index <= _QUOTATION + 1 and not final:
                return found, index
        index += 1
    return found, len(text) + 1


def _opens(text: str, index: int) -> bool:
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if text[index] == '"':
        return not after.isspace() and not (before.isascii() and (before.isalnum() or before in ".,!?;:)]") and before)
    return not (text[index] == "(" and re.search(r"[:;=][-']?$", text[max(0, index - 2) : index]))  # :( is no bracket


def _closing(text: str, opening: int) -> int:
    """Where the mark at ``opening`` is closed, 0 when not near by."""
    left, right = text[opening], _PAIRS[text[opening]]
    depth = 0
    for index in range(opening + 1, min(len(text), opening + 1 + _QUOTATION)):
        if text[index] == right and not (right == "’" and text[index + 1 : index + 2].isalpha()):
            if depth == 0:
                return index
            depth -= 1
        elif text[index] == left:
            depth += 1
    return 0


def _inside(cut: int, quotations: list[tuple[int, int]]) -> bool:
    return any(opening < cut <= closing for opening, closing in quotations)


def _is_free(text: str, cut: int, quotations: list[tuple[int, int]]) -> bool:
    """Whether a clause that is too long may be cut before ``text[cut]``: between words, not between digits."""
    if cut == 0 or _inside(cut, quotations) or _whole_character(text, cut) != cut:
        return False
    before, after = text[cut - 1], text[cut]
    if before.isspace() and not after.isspace():
        return not (after.isdigit() and text[:cut].rstrip()[-1:].isdigit())  # 1 000 000
    word = "0-9A-Za-z\u00c0-\u024f.,:/@%&=?#_~+'’-"
    return not after.isspace() and not (re.match(f"[{word}]", before) and re.match(f"[{word}]", after))


def _whole_character(text: str, cut: int) -> int:
    """``cut``, or the first place after it that does not split a character of several code points."""
    while cut < len(text) and (_extends(text[cut]) or text[cut - 1] == "\u200d" or _splits_flag(text, cut)):
        cut += 1
    return cut


def _extends(character: str) -> bool:
    """Marks, variation selectors, joiners, skin tones and tags belong to the character before them."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or character in "\u200d\uff9e\uff9f"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _splits_flag(text: str, cut: int) -> bool:
    """Regional indicators pair up from the left."""
    start = cut
    while start and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
        start -= 1
    return (cut - start) % 2 == 1 and "\U0001f1e6" <= text[cut] <= "\U0001f1ff"


def _end_of_run(text: str, index: int) -> int:
    """Past the closing marks, emoji and spaces that belong to the clause before."""
    while index < len(text) and (
        text[index] in _CLOSERS
        or unicodedata.category(text[index]) == "So"
        or _extends(text[index])
        or text[index - 1] == "\u200d"
    ):
        index += 1
    while index < len(text) and text[index].isspace():
        index += 1
    return index
