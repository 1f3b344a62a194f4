"""A cursor over untrusted JSON: every read is checked and every error names the path in the file.

A key that is missing and a key that is ``null`` read the same, because exporters write both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from idol.avatar.errors import AvatarError

_MAX_ITEMS = 200_000


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True, slots=True)
class Cursor:
    """One JSON value and where it stands. ``value`` is what ``json.loads`` gave."""

    value: Any
    path: str = ""

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def fail(self, problem: str, fix: str = "") -> AvatarError:
        return AvatarError(problem, self.path or "the JSON", fix)

    def _wrong(self, key: str, wanted: str, got: object) -> AvatarError:
        return AvatarError(f"should be {wanted}, but is {_shown(got)}.", self._at(key))

    def raw(self, key: str) -> Any:
        if not isinstance(self.value, dict):
            raise AvatarError(f"should be an object, but is {_shown(self.value)}.", self.path or "the JSON")
        return self.value.get(key)

    def has(self, key: str) -> bool:
        return self.raw(key) is not None

    def child(self, key: str) -> Cursor | None:
        """The object under ``key``, or None."""
        found = self.raw(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise self._wrong(key, "an object", found)
        return Cursor(found, self._at(key))

    def need(self, key: str) -> Cursor:
        found = self.child(key)
        if found is None:
            raise AvatarError("is missing.", self._at(key))
        return found

    def items(self, key: str) -> list[Cursor]:
        """The list under ``key`` as cursors; empty when missing. Nulls inside the list are left out."""
        found = self.raw(key)
        if found is None:
            return []
        if not isinstance(found, list):
            raise self._wrong(key, "a list", found)
        if len(found) > _MAX_ITEMS:
            raise AvatarError(f"has {len(found)} entries, more than the limit of {_MAX_ITEMS}.", self._at(key))
        base = self._at(key)
        return [Cursor(item, f"{base}[{i}]") for i, item in enumerate(found) if item is not None]

    def members(self, key: str) -> Iterator[tuple[str, Cursor]]:
        """Name and value of each member of the object under ``key`` that is an object itself."""
        found = self.child(key)
        if found is None:
            return
        for name, value in found.value.items():
            if isinstance(value, dict):
                yield _sound(name[:4096]), Cursor(value, f"{found.path}.{name}")

    def text(self, key: str, default: str = "") -> str:
        found = self.raw(key)
        if found is None:
            return default
        if not isinstance(found, str):
            raise self._wrong(key, "a text", found)
        return _sound(found[:4096])

    def flag(self, key: str, default: bool = False) -> bool:
        found = self.raw(key)
        if found is None:
            return default
        if not isinstance(found, bool):
            raise self._wrong(key, "true or false", found)
        return found

    def number(self, key: str, default: float) -> float:
        found = self.raw(key)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._wrong(key, "a number", found)
        return _finite(found, self._at(key))

    def whole(self, key: str, default: int | None = None, low: int = 0, high: int = 1 << 40) -> int:
        """The integer under ``key`` within ``low``..``high``."""
        found = self.raw(key)
        if found is None:
            if default is None:
                raise AvatarError("is missing.", self._at(key))
            return default
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if isinstance(found, bool) or not isinstance(found, int):
            raise self._wrong(key, "a whole number", found)
        if not low <= found <= high:
            raise self._wrong(key, f"within {low} to {high}", found)
        return found

    def index(self, key: str, count: int, what: str) -> int | None:
        """An index into a list of ``count`` entries, or None when missing."""
        if self.raw(key) is None:
            return None
        found = self.whole(key)
        if found >= count:
            raise AvatarError(f"points at {what} {found}, but the file has {count}.", self._at(key))
        return found

    def indices(self, key: str, count: int, what: str) -> list[int]:
        found = self.raw(key)
        if found is None:
            return []
        if not isinstance(found, list) or len(found) > _MAX_ITEMS:
            raise self._wrong(key, "a list of indices", found)
        for i, item in enumerate(found):
            if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < count:
                raise AvatarError(
                    f"points at {what} {_shown(item)}, but the file has {count}.", f"{self._at(key)}[{i}]"
                )
        return list(found)

    def wholes(self, key: str) -> list[int]:
        """A list of integers of any value, for what may say -1."""
        found = self.raw(key)
        if found is None:
            return []
        if not isinstance(found, list) or len(found) > _MAX_ITEMS:
            raise self._wrong(key, "a list of whole numbers", found)
        for item in found:
            if isinstance(item, bool) or not isinstance(item, int):
                raise self._wrong(key, "a list of whole numbers", found)
        return list(found)

    def texts(self, key: str) -> list[str]:
        found = self.raw(key)
        if found is None:
            return []
        if not isinstance(found, list) or len(found) > _MAX_ITEMS:
            raise self._wrong(key, "a list of texts", found)
        return [_sound(item[:4096]) if isinstance(item, str) else str(item)[:4096] for item in found]

    def vector(self, key: str, default: tuple[float, ...], size: int | None = None) -> tuple[float, ...]:
        """A list of ``size`` (default: as many as ``default`` has) finite numbers. VRM's {x, y, z} reads too."""
        found = self.raw(key)
        if found is None:
            return default
        wanted = len(default) if size is None else size
        if isinstance(found, dict):
            found = [found.get(axis, 0.0) for axis in "xyzw"[:wanted]]
        if not isinstance(found, list) or len(found) < wanted:
            raise self._wrong(key, f"a list of {wanted} numbers", found)
        for item in found[:wanted]:
            if isinstance(item, bool) or not isinstance(item, int | float):
                raise self._wrong(key, f"a list of {wanted} numbers", found)
        return tuple(_finite(item, self._at(key)) for item in found[:wanted])


def _sound(text: str) -> str:
    """JSON can spell halves of characters, which nothing could print or store."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _finite(value: float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or abs(number) > 1e30:
        raise AvatarError(f"should be a finite number, but is {_shown(value)}.", where)
    return number
