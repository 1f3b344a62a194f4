"""Where the program's log goes: a file in the data folder, never the terminal."""

from __future__ import annotations

import logging
import logging.handlers
import sys

from idol.settings import data_dir


def log_to_file() -> None:
    """Send the log to ``logs/idol.log`` in the data folder; without a place for it, nowhere, and say so once."""
    folder = data_dir() / "logs"
    root = logging.getLogger()
    handler: logging.Handler
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = _Quiet(folder / "idol.log", maxBytes=1_000_000, backupCount=3, encoding="utf-8")
    except OSError as error:
        print(f"no log is written: {error}", file=sys.stderr)
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.INFO)


class _Quiet(logging.handlers.RotatingFileHandler):
    """A full disk is no reason to fill the terminal."""

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)
