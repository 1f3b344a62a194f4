"""Errors of the engine layer. Each says what failed, the value seen and how to fix it."""

from __future__ import annotations

FETCH_AGAIN = "Fetch it again."
"""The remedy for a damaged model file where its place is not known; ``engines.remedies`` makes it a command."""


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


class EngineFailure(EngineError):
    """A loaded engine broke while it ran, or gave what are not numbers: no fault of the input. A spare may go on."""


class SessionFailure(EngineFailure, SessionError):
    """A runtime broke on a graph and inputs that it had taken."""


class Cancelled(EngineError):
    """The user cancelled a long job."""


class SteppedAside(EngineFailure):
    """Nothing broke: an engine makes room, and its spare goes on."""


def is_shortage(error: BaseException) -> bool:
    """Whether ``error`` means that the card has no memory left, so that the engine may go on once there is some."""
    from engines.trt.flavours import OutOfMemory

    if isinstance(error, OutOfMemory):
        return True
    kind = type(error)
    return kind.__name__ == "MemoryError" and kind.__module__.partition(".")[0] == "pycuda"


def is_failure(error: BaseException) -> bool:
    """Whether ``error`` means that the engine itself is broken, so that another one should go on in its place.

    What the CUDA bindings raise counts, and so does a lack of memory; refusals of an input do not.
    """
    from engines.trt.flavours import TensorRTError

    if isinstance(error, EngineFailure | TensorRTError | MemoryError):
        return True
    return type(error).__module__.partition(".")[0] == "pycuda"
