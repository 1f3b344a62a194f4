"""Is there a screen to open a window on? Qt ends the process where there is none, with no word on what to do."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

_REMEDY = "Start it in a desktop session, or add --headless to say and chat."


def no_screen() -> str:
    """Why no window can be opened here, with what to do; empty when one probably can. Linux only."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM", "xcb") not in ("xcb", "wayland"):
        return ""
    if os.environ.get("WAYLAND_DISPLAY"):
        return ""
    display = os.environ.get("DISPLAY", "")
    if not display:
        return f"There is no screen: neither DISPLAY nor WAYLAND_DISPLAY is set. {_REMEDY}"
    local = re.fullmatch(r"(?:unix)?:(\d+)(?:\.\d+)?", display)
    if local is None or _answers(f"/tmp/.X11-unix/X{local[1]}"):
        return ""
    return f"The screen DISPLAY={display} does not answer. {_REMEDY}"


def _answers(path: str) -> bool:
    """X servers listen on a socket file, and Linux's on one without a file as well."""
    for address in (path, f"\0{path}"):
        if address is path and not Path(path).exists():
            continue
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(2)
            try:
                door.connect(address)
            except OSError:
                continue
            return True
    return False
