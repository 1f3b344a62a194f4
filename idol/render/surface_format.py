"""The GL surface every part of the program asks for."""

from __future__ import annotations

from PySide6.QtGui import QSurfaceFormat

SAMPLES = 4


def gl_format(samples: int = SAMPLES) -> QSurfaceFormat:
    """OpenGL 3.3 core with alpha and multisampling, for windows and hidden surfaces alike."""
    wanted = QSurfaceFormat()
    wanted.setVersion(3, 3)
    wanted.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    wanted.setDepthBufferSize(24)
    wanted.setAlphaBufferSize(8)
    wanted.setSamples(samples)
    return wanted
