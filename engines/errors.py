"""Errors of the engine layer. Each says what failed, the value seen and how to fix it."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all engine errors. ``remedy`` is one sentence that tells the user what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy


class ModelFileError(EngineError):
    """A model file is missing, truncated, damaged or of another kind than expected."""


class UnsupportedModelError(EngineError):
    """The file is sound, but its architecture or quantisation is not one of ours."""


class FetchError(EngineError):
    """A file could not be fetched from any of its sources."""


class SessionError(EngineError):
    """A runtime refused a graph, a shape or an input."""


class Cancelled(EngineError):
    """The user cancelled a long job."""
