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

from engines.errors import EngineError, ModelFileError, SessionError, SessionFailure
from engines.models import kokoro_graph as graph
from engines.models.kokoro_plain import RATES, weights_name
from engines.models.kokoro_source import HarmonicSource
from engines.remedies import mend_remedy, mending
from engines.runtimes.onnxrt import OnnxRuntimeSession
from engines.store import built_dir

SAMPLE_RATE = 24_000
FRAME_SAMPLES = 600
MAX_TOKENS = 510
"""Longest token sequence between the two boundary tokens; style tables have one row per length."""
MARGIN_FRAMES = 4
"""Frames decoded before the first and after the last one that the predicted energy calls audible."""
SILENT_ENERGY = -5.0
"""Predicted energy below which a half-frame is silent: speech is at 0 to 10, silence at -9."""
_EDGE_FRAMES = 2
"""Kept frames of silence at each end that stand in for those cut off in D's means."""


@dataclass(frozen=True, slots=True)
class Synthesis:
    """``audio`` float32 mono at 24 kHz; ``durations`` int64 [tokens + 2] in frames of 600 samples, pads included.

    Silence at both ends is mostly cut, in ``audio`` and ``durations`` alike. ``seconds``: work per part.
    """

    audio: NDArray[np.float32]
    durations: NDArray[np.int64]
    seconds: dict[str, float]


class KokoroEngine:
    """Three sessions and the source before the last. ``load`` builds the parts when they are not built yet."""

    def __init__(self, model_dir: Path, *, threads: int = 0, kind: graph.Kind = "int8") -> None:
        self._dir = model_dir
        self._threads = threads
        self._kind = kind
        self._sessions: dict[str, OnnxRuntimeSession] = {}
        self._voices: dict[str, NDArray[np.float32]] = {}
        self.vocabulary: dict[str, int] = {}
        self._source: HarmonicSource | None = None

    @property
    def runtime(self) -> str:
        return self._sessions["D"].runtime if self._sessions else "not loaded"

    @property
    def on_card(self) -> bool:
        return False

    def keep_graphs(self, count: int | None = None) -> None:
        """See ``TensorRTKokoro``; the CPU has none."""

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
            self._source = HarmonicSource.load(folder / graph.SOURCE_FILE)
            for index, part in enumerate(graph.PARTS):
                report(0.4 + 0.2 * index, "loading the voice")
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
                raise ModelFileError(f"The voice file {path.name} is damaged.", mend_remedy(path))
            table = self._voices[voice] = table.reshape(510, 256)
        row: NDArray[np.float32] = table[min(max(tokens, 1), 510) - 1][None]
        return row

    def synthesise(
        self,
        ids: Sequence[int],
        voice: str,
        speed: float = 1.0,
        *,
        whole: bool = False,
        forced: NDArray[np.int64] | None = None,
    ) -> Synthesis:
        """Sound for 1 to ``MAX_TOKENS`` phoneme ids (boundary tokens are added here). ``speed`` 0.5 to 2.

        ``whole`` decodes the silence at both ends too. ``forced`` durations, int [ids + 2], replace the predicted ones.
        """
        if not self._sessions:
            raise SessionError("The voice is not loaded.", "Call load() first.")
        if not 1 <= len(ids) <= MAX_TOKENS:
            raise SessionError(f"{len(ids)} phonemes at once; 1 to {MAX_TOKENS} are possible.", "Split the text.")
        seconds: dict[str, float] = {}
        style = self.style(voice, len(ids))
        tokens = np.array([[0, *ids, 0]], np.int64)
        text = self._timed("A", seconds, {"tokens": tokens, "style": style, "speed": np.array([speed], np.float32)})
        durations = text[graph.DURATIONS].reshape(-1) if forced is None else forced
        durations = np.maximum(durations, 1).astype(np.int64)
        prosody_frames = np.repeat(text[graph.PROSODY_ENCODING].swapaxes(1, 2), durations, axis=2)
        text_frames = np.repeat(text[graph.TEXT_ENCODING], durations, axis=2)
        prosody = self._timed(
            "B", seconds, {graph.PROSODY_FRAMES: np.ascontiguousarray(prosody_frames), "style": style}
        )
        total = int(durations.sum())
        cuts = self._kind == "int8" and not whole
        begin, end = audible_frames(durations, prosody[graph.ENERGY]) if cuts else (0, total)
        f0, energy = (prosody[name][:, 2 * begin : 2 * end] for name in (graph.F0, graph.ENERGY))
        source = self._excitation(f0, seconds)
        inputs: dict[str, NDArray[np.generic]] = {
            graph.TEXT_FRAMES: np.ascontiguousarray(text_frames[:, :, begin:end]),
            graph.F0: f0,
            graph.ENERGY: energy,
            graph.SOURCE: source,
            "style": style,
        }
        if self._kind == "int8":
            for rate in RATES:
                inputs[weights_name(rate)] = time_weights(end - begin, rate, begin, total - end)
        audio = self._timed("D", seconds, inputs)[graph.AUDIO].reshape(-1)
        if not np.isfinite(audio).all():
            raise SessionFailure("The voice engine gave sound that is not a number.", "Report this with the text.")
        ends = np.clip(np.cumsum(durations), begin, end) - begin
        return Synthesis(audio, np.diff(ends, prepend=0), seconds)

    def _excitation(self, f0: NDArray[np.float32], seconds: dict[str, float]) -> NDArray[np.float32]:
        assert self._source is not None  # loaded with the sessions
        started = time.perf_counter()
        made = self._source.excitation(f0)
        seconds["S"] = time.perf_counter() - started
        return made

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
                f"The voice's vocabulary {path} is missing or damaged ({error}).", mend_remedy(path)
            ) from error

    def _built(self, report: graph.Report) -> Path:
        folder = built_graphs(self._dir, self._kind, report=lambda fraction, text: report(0.4 * fraction, text))
        assert folder is not None  # made when missing
        return folder


def built_graphs(
    model_dir: Path, kind: graph.Kind, *, make: bool = True, report: graph.Report | None = None
) -> Path | None:
    """The folder of the voice's graphs of ``kind``; None when they are not made and ``make`` is off.

    Raises ``ModelFileError`` when the voice is not there or damaged.
    """
    source, digest = source_model(model_dir)
    folder = built_dir() / f"kokoro-{kind}-v{graph.BUILDER_VERSION}-{digest}"
    if not graph.complete(folder):
        if not make:
            return None
        with mending(source):
            graph.build(source, folder, kind, report)
    return folder


def source_model(model_dir: Path) -> tuple[Path, str]:
    """The voice's model file in ``model_dir`` and the first 12 digits of its SHA-256, by which built graphs are kept.

    Raises ``ModelFileError`` when there is none or it cannot be read.
    """
    models = sorted(model_dir.glob("*.onnx"))
    if not models:
        raise ModelFileError(f"There is no voice model in {model_dir}.", "Fetch it: main.py models fetch kokoro.")
    try:
        with models[0].open("rb") as file:
            return models[0], hashlib.file_digest(file, "sha256").hexdigest()[:12]
    except OSError as error:
        raise ModelFileError(f"{models[0]} cannot be read: {error.strerror}.", mend_remedy(models[0])) from error


def audible_frames(durations: NDArray[np.int64], energy: NDArray[np.float32]) -> tuple[int, int]:
    """[begin, end) of the frames worth decoding. ``energy`` [1, 2 · frames] is the predicted one."""
    total = int(durations.sum())
    loud = np.flatnonzero(energy.reshape(-1) > SILENT_ENERGY)
    if not len(loud):
        return 0, total
    # A fricative can begin six frames before its symbol, so the first symbol alone would be no safe mark.
    begin = max(0, min(int(loud[0]) // 2, int(durations[0])) - MARGIN_FRAMES)
    return begin, min(total, max(int(loud[-1]) // 2 + 1, begin + MARGIN_FRAMES) + MARGIN_FRAMES)


def time_weights(frames: int, rate: int, cut_before: int, cut_after: int) -> NDArray[np.float32]:
    """Weights [steps, 1] of D's means at ``rate`` steps per frame, summing to 1.

    The silence that is not decoded weighs as the outermost kept frames, which are silent too: without that, the norms'
    statistics would be those of speech without pauses, and the sound would change by 5 to 8 dB (log-mel).
    """
    steps = frames * rate + (rate == RATES[-1])
    edge = min(_EDGE_FRAMES, max(1, frames // 4)) * rate
    weights = np.ones(steps)
    weights[:edge] += cut_before * rate / edge
    weights[-edge:] += cut_after * rate / edge
    weights /= weights.sum()
    return np.ascontiguousarray(weights[:, None], np.float32)
