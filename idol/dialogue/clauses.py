"""A streamed reply cut into clauses: the first short, so that she starts soon, the rest growing to whole sentences.

What comes out does not depend on how the text came in, and nothing is lost: joined, the clauses are the text.
"""

from __future__ import annotations

import re

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
_HARD = ".!?…。！？\n"
_SOFT = ",;:，、；：—"
_CLOSERS = "\"'”’」』）)】》*_~!?！？。.…♪♡"
_OPEN = {"(": ")", "（": "）", "「": "」", "『": "』", "“": "”", "【": "】", "《": "》", "[": "]"}
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|approx|No|a\.m|p\.m|U\.S|U\.K)\.$"
)
_LINK = re.compile(
    r"(?:and|but|or|so|because|when|while|if|that|which|who|with|like|for|from|in|on|at|about|to) ", re.I
)
_LATIN_WEIGHT = 1.0
_CJK_WEIGHT = 2.6
"""A CJK character takes about as long to say as 2.6 Latin letters."""


class ClauseSplitter:
    """Feed pieces, get clauses. Lengths are in Latin letters' worth of speech (13 or so make a second)."""

    def __init__(self, *, first: int = 14, growth: float = 1.8, longest: int = 160) -> None:
        self._text = ""
        self._minimum = float(first)
        self._joint = 2.4 * first
        self._first = True
        self._growth = growth
        self._longest = longest

    def feed(self, piece: str) -> list[str]:
        """Clauses completed by ``piece``, each with the space that follows it."""
        self._text += piece
        out = []
        while (end := self._find(final=False)) is not None:
            out.append(self._take(end))
        return out

    def finish(self) -> list[str]:
        """What is left."""
        out = []
        while (end := self._find(final=True)) is not None:
            out.append(self._take(end))
        if self._text:
            out.append(self._take(len(self._text)))
        return out

    def _take(self, end: int) -> str:
        clause, self._text = self._text[:end], self._text[end:]
        self._first = False
        self._minimum = min(self._minimum * self._growth, 60.0)
        return clause

    def _find(self, final: bool) -> int | None:
        """The end of the first clause, None while it is still open.

        A boundary is only taken when the character after it is known, so that the answer does not depend on pieces.
        """
        text = self._text
        weight, depth, closers = 0.0, 0, []
        last_space = 0
        index = 0
        while index < len(text):
            character = text[index]
            weight += _CJK_WEIGHT if "\u3040" <= character <= "\u9fff" else _LATIN_WEIGHT
            if character in _OPEN:
                closers.append(_OPEN[character])
            elif closers and character == closers[-1]:
                closers.pop()
            depth = len(closers)
            if character == " ":
                last_space = index + 1
                if self._is_joint(index, weight, depth):
                    return last_space
            if character in _HARD or character in _SOFT:
                end = self._end_of_run(index + 1)
                if end >= len(text) and not final:
                    return None
                if end < len(text) and self._is_boundary(index, end, weight, depth):
                    return end
                index = max(index + 1, end if character in _HARD else index + 1)
                continue
            if weight > self._longest and depth == 0 and last_space:
                return last_space
            if weight > 2 * self._longest:
                return last_space or index + 1
            index += 1
        return None

    def _is_joint(self, space: int, weight: float, depth: int) -> bool:
        """A place to breathe in a first clause that goes on without a comma: before a linking word."""
        if not self._first or depth or weight < self._joint:
            return False
        following = self._text[space + 1 : space + 10]
        return len(following) == 9 and bool(_LINK.match(following))

    def _end_of_run(self, index: int) -> int:
        """Past closing marks and spaces that belong to the clause before."""
        text = self._text
        while index < len(text) and text[index] in _CLOSERS:
            index += 1
        while index < len(text) and text[index].isspace():
            index += 1
        return index

    def _is_boundary(self, index: int, end: int, weight: float, depth: int) -> bool:
        text = self._text
        character = text[index]
        following = text[index + 1 : index + 2]
        if character == "\n":
            return weight > 1
        if character in ".,:" and not (following.isspace() or following in _CLOSERS or end > index + 1):
            return False  # inside a number, a URL, a time, an abbreviation
        if character == "." and _ABBREVIATION.search(text[: index + 1]):
            return False
        if character == "." and text[end : end + 1].islower() and following.isspace():
            return False
        if character in _HARD:
            return weight >= min(0.6 * self._minimum, 20) or "\n" in text[index:end]
        if depth or not (following.isspace() or character in "，、；：—"):
            return False
        return weight >= self._minimum
