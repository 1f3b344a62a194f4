"""The order in which threads get a core when there are not enough: picture and sound first, engines after."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


_loading = 0
_lock = threading.Lock()


@contextmanager
def loading() -> Iterator[None]:
    """While much is made that stays, dictionaries say: Python's cycle collector would stop the picture for a tenth of a
    second, again and again, to look through it. It rests, and never looks at what was made meanwhile."""
    global _loading
    with _lock:
        _loading += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _loading -= 1
            if not _loading:
                gc.freeze()
                gc.enable()
