"""The data that crosses from room to room, and the protocols the show needs of each room.

Everything here is a frozen, slotted dataclass or a Protocol. Arrays are handed over, not shared: whoever passes
one on does not write to it again. Every item carries the id of its turn, so that a stale one can be dropped
wherever it is. Sound is mono float32 in -1..1 at ``SAMPLE_RATE``; ``sample`` always means an index on that axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 24_000
"""Samples per second of every speech sample axis in the program (Kokoro's own rate)."""

FRAME_SECONDS = 1 / 30
"""Spacing of face frames and of the frame clock, in seconds (33 ms)."""

GESTURE_LEAD = 0.22
"""Seconds in which a talking hand rises to a beat: so far ahead it must hear the speech."""

Language = Literal["en", "zh", "ja"]
LANGUAGES: tuple[Language, ...] = ("en", "zh", "ja")

Emotion = Literal["neutral", "happy", "sad", "angry", "surprised", "relaxed", "shy", "thinking"]
EMOTIONS: tuple[Emotion, ...] = (
    "neutral", "happy", "sad", "angry", "surprised", "relaxed", "shy", "thinking",
)  # fmt: skip

ARKIT_NAMES: tuple[str, ...] = (
    "eyeBlinkLeft", "eyeLookDownLeft", "eyeLookInLeft", "eyeLookOutLeft", "eyeLookUpLeft", "eyeSquintLeft",
    "eyeWideLeft", "eyeBlinkRight", "eyeLookDownRight", "eyeLookInRight", "eyeLookOutRight", "eyeLookUpRight",
    "eyeSquintRight", "eyeWideRight", "jawForward", "jawLeft", "jawRight", "jawOpen", "mouthClose", "mouthFunnel",
    "mouthPucker", "mouthLeft", "mouthRight", "mouthSmileLeft", "mouthSmileRight", "mouthFrownLeft",
    "mouthFrownRight", "mouthDimpleLeft", "mouthDimpleRight", "mouthStretchLeft", "mouthStretchRight",
    "mouthRollLower", "mouthRollUpper", "mouthShrugLower", "mouthShrugUpper", "mouthPressLeft",
    "mouthPressRight", "mouthLowerDownLeft", "mouthLowerDownRight", "mouthUpperUpLeft", "mouthUpperUpRight",
    "browDownLeft", "browDownRight", "browInnerUp", "browOuterUpLeft", "browOuterUpRight", "cheekPuff",
    "cheekSquintLeft", "cheekSquintRight", "noseSneerLeft", "noseSneerRight", "tongueOut",
)  # fmt: skip
"""The 52 BlendShape names in Apple's order (ARFaceAnchor.BlendShapeLocation). Left is the subject's left."""

ARKIT_INDEX: dict[str, int] = {name: index for index, name in enumerate(ARKIT_NAMES)}

Samples = NDArray[np.float32]
"""Mono sound, float32 in -1..1, one dimension."""

Weights = NDArray[np.float32]
"""BlendShape weights, float32 [52] in 0..1, ``ARKIT_NAMES`` order."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One line that came in. ``received_at`` is ``time.monotonic()`` at submit, in seconds."""

    id: int
    text: str
    source: str
    language: Language | None
    received_at: float


@dataclass(frozen=True, slots=True)
class Understanding:
    """What was understood of a turn. ``allowed`` is False when moderation stops it; ``reason`` says why."""

    language: Language
    emotion: Emotion
    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat prompt, as chat templates take it."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. ``temperature`` 0 is greedy and deterministic. A filter at its default is off."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.9
    min_p: float = 0.0
    repetition_penalty: float = 1.1
    max_tokens: int = 120
    stop: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class GenerationStats:
    """What one generation cost. Times in seconds; ``reused_tokens`` of the prompt were already in the KV cache."""

    prompt_tokens: int
    reused_tokens: int
    prefill_seconds: float
    decoded_tokens: int
    decode_seconds: float

    @property
    def tokens_per_second(self) -> float:
        return self.decoded_tokens / self.decode_seconds if self.decode_seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of a reply that is spoken in one breath. ``text`` is as shown, not yet normalised for speech."""

    turn_id: int
    index: int
    text: str
    emotion: Emotion
    language: Language


@dataclass(frozen=True, slots=True)
class PhonemeSpan:
    """One phoneme symbol and where it sounds, [start, end) in samples, relative to the speech it belongs to."""

    phoneme: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Speech:
    """One clause as sound. ``spans`` are already shifted to the sound (see the voice's measured lead).

    ``spoken`` is the text after normalisation; ``seconds_spent`` is the wall time that synthesis took.
    """

    turn_id: int
    clause_index: int
    samples: Samples
    spans: tuple[PhonemeSpan, ...]
    language: Language
    spoken: str
    seconds_spent: float
    sample_rate: int = SAMPLE_RATE

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.sample_rate


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """Sound placed on the speech axis: ``first_sample`` is where it starts."""

    turn_id: int
    first_sample: int
    samples: Samples
    sample_rate: int = SAMPLE_RATE


@dataclass(frozen=True, slots=True)
class FaceFrame:
    """The face at one sample of the speech axis."""

    at: int
    weights: Weights


@dataclass(frozen=True, slots=True)
class BodyMotion:
    """What the body does, for one picture.

    ``weight`` -1..1: which leg carries her, 1 for her left. ``lean`` -1..1: hips back or forward. ``hands``: how far
    (left, right) hand is raised to talk with, 0..1; ``beats``: how high each is in a beat, 0..1. ``gesture``: the name
    of one to make, begun when ``gesture_id`` changes; an empty name with a new id lets go of the one that runs.
    """

    weight: float = 0.0
    lean: float = 0.0
    hands: tuple[float, float] = (0.0, 0.0)
    beats: tuple[float, float] = (0.0, 0.0)
    gesture: str = ""
    gesture_id: int = 0


@dataclass(frozen=True, slots=True)
class FacePose:
    """Everything the avatar needs for one picture.

    ``weights``: 52 BlendShapes. ``head``: (yaw, pitch, roll) in radians relative to rest; positive yaw turns to the
    subject's left, positive pitch looks up, positive roll tilts toward the subject's left shoulder. ``gaze``: (yaw,
    pitch) of the eyes in radians, same signs, relative to the head. ``body``: (yaw, pitch, roll) of the upper chest.
    ``breath`` 0..1.
    """

    weights: Weights
    head: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gaze: tuple[float, float] = (0.0, 0.0)
    body: tuple[float, float, float] = (0.0, 0.0, 0.0)
    breath: float = 0.0
    emotion: Emotion = "neutral"
    speaking: bool = False
    motion: BodyMotion = BodyMotion()


@dataclass(frozen=True, slots=True)
class StageTiming:
    """One stage of one turn, ``time.monotonic()`` seconds."""

    turn_id: int
    stage: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """Which runtime an engine runs on, for the overlay and reports.

    For example ("llm", "onnxruntime 1.23 CPU", "Qwen2.5-Coder-1.5B")."""

    engine: str
    runtime: str
    model: str
    detail: dict[str, str] = field(default_factory=dict)


@runtime_checkable
class LanguageModel(Protocol):
    """A chat model. Used from the worker thread only. Knows tokens and templates; knows nothing of personas."""

    @property
    def info(self) -> RuntimeInfo: ...

    @property
    def context_length(self) -> int: ...

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the rendered chat template, for the prompt's budget."""
        ...

    def prime(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        """Prefill ``messages`` (the persona prompt), so that a later prompt that begins with them prefills less.

        False when ``interrupted()`` turned true before the end."""
        ...

    def anticipate(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        """Prefill ``messages`` and what the template puts before a next user's line; nothing is kept but the cache.

        False when ``interrupted()`` turned true before the end."""
        ...

    def generate(
        self, messages: Sequence[ChatMessage], sampling: Sampling, cancelled: Callable[[], bool], said: str = ""
    ) -> Iterator[str]:
        """Yield text pieces as they are decoded (never half a character). Ends at a stop, ``max_tokens`` or when
        ``cancelled()`` turns true, which is asked before each token. Closing the iterator stops decoding too.

        ``said`` is how the reply begins already, ``max_tokens`` included; only what follows it is yielded."""
        ...

    @property
    def last_stats(self) -> GenerationStats | None:
        """Of the generation that ended last (complete, cancelled or closed)."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Synthesiser(Protocol):
    """A voice engine. Used from the worker thread only."""

    @property
    def info(self) -> RuntimeInfo: ...

    def voices(self, language: Language | None = None) -> tuple[str, ...]: ...

    def speak(self, clause: Clause, voice: str, speed: float = 1.0) -> Speech | None:
        """One clause as sound; None when nothing in it can be spoken (only emoji, say).

        Leading silence is trimmed."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Output(Protocol):
    """Where speech goes. Samples are written to a ring on the 24 kHz speech axis; the device's clock says where it is.

    The axis counts samples of speech ever written; silence the device plays because the ring is empty does not
    count. ``write`` may be called from one thread (the worker), the rest from any.
    """

    @property
    def description(self) -> str: ...

    def start(self) -> None: ...

    def write(self, samples: Samples, delay: float = 0.0) -> int:
        """Append to the ring; returns the axis index of the first sample. Blocks (interruptibly by ``flush``) only
        while the ring is full. ``delay`` holds the start back by so many seconds, for the first clause of a reply."""
        ...

    def finish(self) -> None:
        """No more comes for now (end of a reply): an empty ring after this is not an underrun."""
        ...

    def flush(self) -> int:
        """Drop all that is not yet audible, with a fade of a few ms. Returns the axis index where the sound ended;
        the axis continues from the index where writing had got to."""
        ...

    def position(self, now: float | None = None) -> float:
        """Axis index audible at ``now`` (``time.monotonic()``; None: this moment), from the DAC clock.

        It never goes back."""
        ...

    def time_of(self, sample: int) -> float | None:
        """``time.monotonic()`` at which axis index ``sample`` became audible, None if it has not or is too long ago."""
        ...

    @property
    def queued_seconds(self) -> float: ...

    @property
    def underruns(self) -> int: ...

    def close(self) -> None: ...


class FacePlanner(Protocol):
    """Turns a clause's speech into face frames (idol.face). Used from the worker thread."""

    def plan(self, speech: Speech, first_sample: int, emotion: Emotion) -> list[FaceFrame]:
        """Frames every ``FRAME_SECONDS`` covering the speech and its closing, ``at`` on the speech axis. Consecutive
        calls of one turn blend at the border."""
        ...

    def reset(self) -> None: ...


class FaceMixer(Protocol):
    """Speech weights, emotion and idle life into one pose (idol.face). Used from the main thread, once a frame."""

    def mix(
        self, now: float, speech: Weights | None, emotion: Emotion, speaking: bool,
        clause: int = -1, ahead: Weights | None = None,
    ) -> FacePose:  # fmt: skip
        """``clause`` tells clauses apart while one sounds (any number, -1 for none); ``ahead`` are the speech's
        weights ``GESTURE_LEAD`` s from now, so that hands can meet a stress."""
        ...

    def cut(self) -> None:
        """Her words were cut short (any thread)."""
        ...
