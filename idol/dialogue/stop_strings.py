"""Text that streams out while stop strings are watched for, and bytes while characters are not yet whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class StopStrings:
    """Holds back what may be the beginning of a stop string. ``stopped`` turns true when one was met."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """Text that is certainly not part of a stop string; after a stop, always ''."""
        if self.stopped:
            return ""
        self._held += text
        found = [(place + len(stop), place) for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if found:
            # The one that is complete first counts, as when the text comes in single characters.
            self.stopped = True
            out, self._held = self._held[: min(found)[1]], ""
            return out
        keep = max((self._overlap(stop) for stop in self._stops), default=0)
        out, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return out

    def finish(self) -> str:
        """What was held back and turned out to be ordinary text."""
        out, self._held = self._held, ""
        return "" if self.stopped else out

    def _overlap(self, stop: str) -> int:
        for size in range(min(len(stop) - 1, len(self._held)), 0, -1):
            if self._held.endswith(stop[:size]):
                return size
        return 0


class Detokenizer:
    """Ids to text, never half a character: bytes wait until the next id completes them."""

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._ids: list[int] = []
        self._shown = 0

    def feed(self, token: int) -> str:
        """The text ``token`` completes; '' while a character is still open. Bytes that are no character are dropped."""
        self._ids.append(token)
        text = self._decode(self._ids)
        if text.endswith("\ufffd") and len(self._ids) < 24:
            return ""
        out = text[self._shown :].replace("\ufffd", "")
        self._shown = len(text)
        if len(self._ids) >= 16 and not text.endswith("\ufffd"):
            self._ids, self._shown = [], 0
        return out

    def finish(self) -> str:
        """What is left, with U+FFFD dropped."""
        text = self._decode(self._ids)[self._shown :] if self._ids else ""
        self._ids, self._shown = [], 0
        return text.replace("\ufffd", "")
