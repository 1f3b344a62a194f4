"""How she is drawn: OpenGL 3.3 core, the viewport, the overlay.

Names are loaded when first used, so that importing the room needs neither GL nor Qt.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idol.render.camera import Camera
    from idol.render.gl import RenderError
    from idol.render.offscreen import OffscreenStage, render_png
    from idol.render.renderer import AvatarRenderer
    from idol.render.view import AvatarView

__all__ = ["AvatarRenderer", "AvatarView", "Camera", "OffscreenStage", "RenderError", "render_png"]

_HOMES = {
    "AvatarRenderer": "renderer", "AvatarView": "view", "Camera": "camera", "OffscreenStage": "offscreen",
    "RenderError": "gl", "render_png": "offscreen",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
