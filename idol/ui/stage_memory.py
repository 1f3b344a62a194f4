"""What the stage remembers of each avatar: the camera, the light, and that its terms have been read.

One JSON file in the data folder (``stage.json``), written whole, the latest avatar first. An avatar is known by the
hash of its file; one that was exported again to the same place keeps its camera.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from idol.render.viewpoint import Viewpoint
from idol.show.whole_file import write_whole

log = logging.getLogger(__name__)

MOST = 60
"""Avatars that are remembered; the one that was not used for longest is forgotten first."""
RECENT = 5


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class CameraEntry(_Strict):
    framing: Literal["face", "bust", "full"] = "bust"
    yaw: float = Field(default=0.0, ge=-4, le=4)
    pitch: float = Field(default=0.0, ge=-2, le=2)
    zoom: float = Field(default=1.0, gt=0, le=1000)
    right: float = Field(default=0.0, ge=-1000, le=1000)
    up: float = Field(default=0.0, ge=-1000, le=1000)


class AvatarEntry(_Strict):
    """``key``: SHA-256 of the file; ``terms``: of the terms that the user accepted, '' when none were."""

    key: str
    path: str = ""
    title: str = ""
    terms: str = ""
    lighting: str = ""
    camera: CameraEntry | None = None


def content_key(content: bytes) -> str:
    """What the avatar is known by whose file has this ``content``."""
    return hashlib.sha256(content).hexdigest()


class StageMemory:
    """Reads ``path`` when made and writes it at each change. ``trouble`` is what to tell the user, '' if nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[AvatarEntry] = []
        self.trouble = ""
        self._read()

    def _read(self) -> None:
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))["avatars"]
            if not isinstance(rows, list):
                raise TypeError("avatars is no list")
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.trouble = (
                f"What the stage remembered in {self._path} cannot be read ({error}). Cameras and lights begin anew."
            )
            log.warning("%s", self.trouble)
            return
        wrong = 0
        for row in rows[:MOST]:
            try:
                self._entries.append(AvatarEntry.model_validate(row))
            except ValidationError as error:
                wrong += 1
                log.warning("%s: %s", self._path, error)
        if wrong:
            self.trouble = f"{self._path} has {wrong} wrong entries; the stage forgets these. The log says more."

    def find(self, key: str, path: Path) -> AvatarEntry | None:
        """``path`` is absolute, here and below. The entry of this very file, or of an earlier one in its place."""
        place = str(path)
        return next((entry for entry in self._entries if entry.key == key), None) or next(
            (entry for entry in self._entries if entry.path == place), None
        )

    def viewpoint(self, key: str, path: Path) -> Viewpoint | None:
        entry = self.find(key, path)
        return Viewpoint(**entry.camera.model_dump()) if entry is not None and entry.camera is not None else None

    def lighting(self, key: str, path: Path) -> str:
        entry = self.find(key, path)
        return entry.lighting if entry is not None else ""

    def accepted(self, key: str, path: Path, terms: str) -> bool:
        """Whether the user has accepted these terms (their hash) for this file, or for one in its place."""
        entry = self.find(key, path)
        return entry is not None and entry.terms == terms

    def recent(self, without: Path) -> list[AvatarEntry]:
        """The avatars used last that do not lie in the folder ``without``, latest first."""
        return [entry for entry in self._entries if entry.path and Path(entry.path).parent != without][:RECENT]

    # Each of these writes the file and raises ``OSError`` when that fails; what is remembered holds for this run.

    def use(self, key: str, path: Path, title: str, terms: str = "") -> None:
        """It is on stage now; ``terms`` when the user has just accepted them."""
        place = str(path)
        old = self.find(key, path)
        entry = old.model_copy(deep=True) if old is not None else AvatarEntry(key=key)
        entry.key, entry.path, entry.title = key, place, title[:200]
        entry.terms = terms or entry.terms
        rest = [other for other in self._entries if other is not old and other.key != key and other.path != place]
        self._entries = [entry, *rest][:MOST]
        self._write()

    def keep_view(self, key: str, viewpoint: Viewpoint, lighting: str) -> None:
        """For an avatar that has been used."""
        for entry in self._entries:
            if entry.key == key:
                camera = CameraEntry(
                    framing=viewpoint.framing, yaw=viewpoint.yaw, pitch=viewpoint.pitch, zoom=viewpoint.zoom,
                    right=viewpoint.right, up=viewpoint.up,
                )  # fmt: skip
                if (entry.camera, entry.lighting) != (camera, lighting):
                    entry.camera, entry.lighting = camera, lighting
                    self._write()

    def _write(self) -> None:
        rows = [entry.model_dump() for entry in self._entries]
        write_whole(self._path, json.dumps({"avatars": rows}, ensure_ascii=False, indent=1).encode("utf-8"))
