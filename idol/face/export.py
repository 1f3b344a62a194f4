"""``face.json``: BlendShape weights over time. ``fps``, ``names`` (52), ``frames`` of ``{at (s), weights}``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from idol.seams import ARKIT_NAMES, Weights


def face_document(fps: float, frames: Iterable[tuple[float, Weights]]) -> dict[str, object]:
    """The document; times rounded to 0.1 ms, weights to four digits."""
    return {
        "fps": fps,
        "names": list(ARKIT_NAMES),
        "frames": [
            {"at": round(at, 4), "weights": [round(float(value), 4) for value in weights]} for at, weights in frames
        ],
    }


def read_face(path: Path) -> tuple[float, list[tuple[float, Weights]]]:
    """(fps, frames) of a file. Raises ``ValueError`` naming what is wrong."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        names = list(document["names"])
        order = [names.index(name) for name in ARKIT_NAMES]
        frames = [(float(frame["at"]), np.array(frame["weights"], np.float32)[order]) for frame in document["frames"]]
        return float(document["fps"]), frames
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{path.name} is no face file: {error!r}.") from error
