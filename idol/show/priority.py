"""The order in which threads get a core when there are not enough: picture and sound first, engines after."""

from __future__ import annotations

import os
import sys
import threading

_NICER = 8
"""Steps of niceness: a frame gets its core at once, and an engine that works alone loses nothing."""


def yield_to_the_picture() -> None:
    """Make the calling thread, and the pools that engines start from it, give way to the main thread (Linux only)."""
    if sys.platform != "linux":
        return
    try:  # Linux keeps niceness per thread, and new threads inherit it
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(19, os.getpriority(os.PRIO_PROCESS, thread) + _NICER))
    except OSError:
        pass  # a convenience only
