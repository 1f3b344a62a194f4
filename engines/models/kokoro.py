"""The Kokoro voice engine: phoneme ids and a style in, sound and durations out. Knows no text and no language."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineError, ModelFileError, SessionError
from engines.models import kokoro_graph as graph
from engines.runtimes.onnxrt import OnnxRuntimeSession
from engines.store import built_dir

SAMPLE_RATE = 24_000
FRAME_SAMPLES = 600
LEADING_FRAMES = 8
"""Frames kept of the leading pad: enough for the first sound, which comes before its symbol, to begin in."""
MAX_TOKENS = 510
"""Longest token sequence between the two boundary tokens; style tables have one row per length."""


@dataclass(frozen=True, slots=True)
class Synthesis:
    """``audio`` float32 mono at 24 kHz; ``durations`` int64 [tokens + 2] in frames of 600 samples, pads included."""

    audio: NDArray[np.float32]
    durations: NDArray[np.int64]
    seconds: dict[str, float]


class KokoroEngine:
    """Four sessions in a row. ``load`` builds the parts when they are not built yet."""

    def __init__(self, model_dir: Path, *, threads: int = 0) -> None:
        self._dir = model_dir
        self._threads = threads
        self._sessions: dict[str, OnnxRuntimeSession] = {}
        self._voices: dict[str, NDArray[np.float32]] = {}
        self.vocabulary: dict[str, int] = {}

    @property
    def runtime(self) -> str:
        return self._sessions["D"].runtime if self._sessions else "not loaded"

    @property
    def voice_names(self) -> tuple[str, ...]:
        """All voices found, by name, e.g. ``af_heart``."""
        return tuple(sorted(path.stem for path in (self._dir / "voices").glob("*.bin")))

    def load(self, progress: Callable[[float, str], None] | None = None) -> None:
        """Raises ``ModelFileError`` when a file is missing or damaged."""
        report = progress or (lambda fraction, text: None)
        self.vocabulary = self._read_vocabulary()
        folder = self._built(report)
        try:
            for index, part in enumerate(graph.PARTS):
                report(0.4 + 0.15 * index, "loading the voice")
                session = OnnxRuntimeSession(f"kokoro/{part.name}", folder / f"{part.name}.onnx", threads=self._threads)
                session.load()
                self._sessions[part.name] = session
        except EngineError:
            self.close()
            raise

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._voices.clear()

    def style(self, voice: str, tokens: int) -> NDArray[np.float32]:
        """The style row for a sequence of ``tokens``, float32 [1, 256]. Raises ``ModelFileError`` for a bad file."""
        table = self._voices.get(voice)
        if table is None:
            path = self._dir / "voices" / f"{voice}.bin"
            if voice not in self.voice_names:
                raise ModelFileError(
                    f"There is no voice {voice!r}.", f"Installed voices: {', '.join(self.voice_names) or 'none'}."
                )
            table = np.fromfile(path, "<f4")
            if table.size != 510 * 256 or not np.isfinite(table).all():
                raise ModelFileError(f"The voice file {path.name} is damaged.", "Fetch it again.")
            table = self._voices[voice] = table.reshape(510, 256)
        row: NDArray[np.float32] = table[min(max(tokens, 1), 510) - 1][None]
        return row

    def synthesise(self, ids: Sequence[int], voice: str, speed: float = 1.0, *, shorten_pad: bool = True) -> Synthesis:
        """Sound for 1 to ``MAX_TOKENS`` phoneme ids (boundary tokens are added here). ``speed`` 0.5 to 2."""
        if not self._sessions:
            raise SessionError("The voice is not loaded.", "Call load() first.")
        if not 1 <= len(ids) <= MAX_TOKENS:
            raise SessionError(f"{len(ids)} phonemes at once; 1 to {MAX_TOKENS} are possible.", "Split the text.")
        seconds: dict[str, float] = {}
        style = self.style(voice, len(ids))
        tokens = np.array([[0, *ids, 0]], np.int64)
        first = self._timed("A", seconds, {"tokens": tokens, "style": style, "speed": np.array([speed], np.float32)})
        durations = np.maximum(first[graph.DURATIONS].reshape(-1), 1).astype(np.int64)
        prosody_frames = np.repeat(first[graph.PROSODY_ENCODING].swapaxes(1, 2), durations, axis=2)
        text_frames = np.repeat(first[graph.TEXT_ENCODING], durations, axis=2)
        # Most of the leading pad, about 0.4 s of silence, would be decoded only to be cut off.
        skipped = max(0, int(durations[0]) - LEADING_FRAMES) if shorten_pad else 0
        prosody = self._timed(
            "B", seconds, {graph.PROSODY_FRAMES: np.ascontiguousarray(prosody_frames), "style": style}
        )
        f0, energy = prosody[graph.F0][:, 2 * skipped :], prosody[graph.ENERGY][:, 2 * skipped :]
        durations[0] -= skipped
        source = self._timed("S", seconds, {graph.F0: f0})
        sound = self._timed(
            "D",
            seconds,
            {
                graph.TEXT_FRAMES: np.ascontiguousarray(text_frames[:, :, skipped:]),
                graph.F0: f0,
                graph.ENERGY: energy,
                graph.SOURCE: source[graph.SOURCE],
                "style": style,
            },
        )
        audio = sound[graph.AUDIO].reshape(-1)
        if not np.isfinite(audio).all():
            raise SessionError("The voice engine gave sound that is not a number.", "Report this with the text.")
        return Synthesis(audio, durations, seconds)

    def _timed(
        self, part: str, seconds: dict[str, float], inputs: dict[str, NDArray[np.generic]]
    ) -> dict[str, NDArray[np.float32]]:
        started = time.perf_counter()
        outputs = self._sessions[part].run(inputs)
        seconds[part] = time.perf_counter() - started
        return outputs

    def _read_vocabulary(self) -> dict[str, int]:
        path = self._dir / "vocab.json"
        try:
            vocabulary = json.loads(path.read_text(encoding="utf-8"))["vocab"]
            return {str(symbol): int(number) for symbol, number in vocabulary.items()}
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise ModelFileError(
                f"The voice's vocabulary {path} is missing or damaged ({error}).", "Fetch the voice again."
            ) from error

    def _built(self, report: Callable[[float, str], None]) -> Path:
        models = sorted(self._dir.glob("*.onnx"))
        if not models:
            raise ModelFileError(f"There is no voice model in {self._dir}.", "Fetch it: main.py models fetch kokoro.")
        place = models[0].stat()
        key = f"{models[0].resolve()}|{place.st_size}|{place.st_mtime_ns}|{graph.BUILDER_VERSION}"
        folder = built_dir() / f"kokoro-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        if not all((folder / f"{part.name}.onnx").exists() for part in graph.PARTS):
            report(0.05, "preparing the voice (once)")
            graph.split(models[0], folder)
        return folder
