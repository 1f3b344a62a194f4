"""Where model files live on this machine.

``IDOL_MODELS`` names another folder; without it, the user's data folder (platformdirs) is used. Inside:
``files/`` fetched files by catalogue name, ``built/`` graphs and plans made from them (safe to delete).
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def models_dir() -> Path:
    """The root folder of all model files. It may not exist yet."""
    chosen = os.environ.get("IDOL_MODELS")
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("idol") / "models"


def files_dir() -> Path:
    """Fetched files: ``files/<catalogue id>/<file name>``."""
    return models_dir() / "files"


def built_dir() -> Path:
    """Graphs and plans derived from fetched files; can be deleted at any time and is made again."""
    return models_dir() / "built"
