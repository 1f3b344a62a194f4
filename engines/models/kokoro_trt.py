"""Kokoro on TensorRT: the same verbs as ``KokoroEngine``, its parts chained on the card where two of them meet.

A part whose plan cannot be built runs on ONNX Runtime instead, and ``fallbacks`` says why. Durations are expanded on
the host between A and B, and the source is made there from F0; F0 and energy stay on the card from B to D too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import Cancelled, SessionError, SessionFailure
from engines.models import kokoro_graph as graph
from engines.models.footprint import voice_footprint
from engines.models.kokoro import MAX_TOKENS, KokoroEngine, Synthesis, built_graphs
from engines.models.kokoro_source import HarmonicSource
from engines.runtimes.onnxrt import OnnxRuntimeSession
from engines.session import Session
from engines.trt.build import Progress, ensure_plan
from engines.trt.device import Device
from engines.trt.flavours import OutOfMemory, TensorRTError
from engines.trt.plans import BuildRequest, Profile
from engines.trt.session import DeviceArray, TensorRTSession

log = logging.getLogger(__name__)
MAX_FRAMES = 1200
"""Longest clause, 30 s; a longer one is the caller's to split."""
LEVELS = {"A": 2, "B": 2, "D": 1}
"""Builder optimisation levels: D's hundred convolutions are timed one by one above 1."""
_KIND: dict[bool, graph.Kind] = {True: "mixed", False: "fp32"}
"""By ``Flavour.typed``: typed flavours take types from the file, weakly typed ones choose by the FP16 flag."""


def part_profiles(part: str) -> Profile:
    """Ranges of ``part``'s inputs: 3 to 512 tokens, 4 to ``MAX_FRAMES`` frames."""
    least, best, most = 4, 80, MAX_FRAMES
    if part == "A":
        return {"tokens": ((1, 3), (1, 32), (1, MAX_TOKENS + 2))}
    if part == "B":
        return {graph.PROSODY_FRAMES: ((1, 640, least), (1, 640, best), (1, 640, most))}
    f0 = ((1, 2 * least), (1, 2 * best), (1, 2 * most))
    source = tuple((1, 22, 120 * frames + 1) for frames in (least, best, most))
    return {
        graph.TEXT_FRAMES: ((1, 512, least), (1, 512, best), (1, 512, most)),
        graph.F0: f0,
        graph.ENERGY: f0,
        graph.SOURCE: (source[0], source[1], source[2]),
    }


def part_request(part: str, folder: Path, targets: tuple[int, ...] = ()) -> BuildRequest:
    """What to build for one part. Only D takes short products (fp16 where the graph says so, else TF32): the others
    decide pitch and phase."""
    return BuildRequest(
        f"kokoro-{part}", folder / f"{part}.onnx", (part_profiles(part),), half=False, level=LEVELS[part],
        targets=targets, tf32=part == "D",
    )  # fmt: skip


def part_forms(part: str, folder: Path, typed: bool, targets: tuple[int, ...] = ()) -> tuple[BuildRequest, ...]:
    """The forms of one part in the order to try: weakly typed builders fail on one and manage another."""
    request = part_request(part, folder, targets)
    forms = [request]
    if not typed and part in "BD":
        forms.append(replace(request, extra={"norms": "ops"}, level=0))
    return tuple(forms)


def voice_graphs(model_dir: Path, typed: bool, *, make: bool = True, progress: Progress | None = None) -> Path | None:
    """The folder of the parts' graphs for a kind of flavour; see ``built_graphs``."""
    return built_graphs(model_dir, _KIND[typed], make=make, report=progress)


class TensorRTKokoro(KokoroEngine):
    """Three engines on one stream of ``device``, used by one thread at a time that has its context.

    ``admit`` is asked with the bytes that they will take before the first of them is loaded, and may raise.
    """

    def __init__(
        self, model_dir: Path, device: Device, *, cancelled: Callable[[], bool] | None = None,
        admit: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(model_dir, kind=_KIND[device.flavour.typed])
        self._device = device
        self._cancelled = cancelled
        self._admit = admit
        self.fallbacks: dict[str, str] = {}
        self._parts: dict[str, Session] = {}

    @property
    def runtime(self) -> str:
        if not self._parts:
            return "not loaded"
        cpu = [part for part, session in self._parts.items() if not isinstance(session, TensorRTSession)]
        return self._device.label + (f", parts {', '.join(cpu)} on the CPU" if cpu else "")

    def load(self, progress: Progress | None = None) -> None:
        """Build what is missing and load. Raises ``ModelFileError``, ``TensorRTError`` and ``Cancelled``.

        A part that finds no room raises ``OutOfMemory``: what to do then is not for one part to say.
        """
        report = progress or (lambda fraction, text: None)
        self.vocabulary = self._read_vocabulary()
        folder = self._built(lambda fraction, text: report(0.2 * fraction, text))
        self._source = HarmonicSource.load(folder / graph.SOURCE_FILE)
        if self._admit is not None:
            self._admit(voice_footprint([folder / f"{part.name}.onnx" for part in graph.PARTS], MAX_FRAMES))
        stream = self._device.stream()
        try:
            for index, part in enumerate(graph.PARTS):

                def step(fraction: float, text: str, done: int = index) -> None:
                    report(0.2 + 0.26 * (done + fraction), text)

                self._parts[part.name] = self._session(part.name, folder, stream, step)
        except BaseException:
            self.close()
            raise

    @property
    def on_card(self) -> bool:
        return any(isinstance(session, TensorRTSession) for session in self._parts.values())

    def keep_graphs(self, count: int | None = None) -> None:
        """Keep the CUDA graphs of the ``count`` lengths used last, and no more from now on; None: as many as at
        first."""
        for session in self._parts.values():
            if isinstance(session, TensorRTSession):
                session.keep_graphs(count)

    def close(self) -> None:
        for session in self._parts.values():
            session.close()
        self._parts.clear()
        super().close()

    def synthesise(
        self,
        ids: Sequence[int],
        voice: str,
        speed: float = 1.0,
        *,
        whole: bool = False,
        forced: NDArray[np.int64] | None = None,
    ) -> Synthesis:
        """As ``KokoroEngine.synthesise``; silence at both ends is always decoded (``whole`` changes nothing)."""
        if not self._parts:
            raise SessionError("The voice is not loaded.", "Call load() first.")
        if not 1 <= len(ids) <= MAX_TOKENS:
            raise SessionError(f"{len(ids)} phonemes at once; 1 to {MAX_TOKENS} are possible.", "Split the text.")
        started = time.perf_counter()
        style = self.style(voice, len(ids))
        tokens = np.array([[0, *ids, 0]], np.int64)
        text = self._parts["A"].run({"tokens": tokens, "style": style, "speed": np.array([speed], np.float32)})
        durations = np.maximum(np.rint(text[graph.DURATIONS].reshape(-1)) if forced is None else forced, 1)
        durations = durations.astype(np.int64)
        total = int(durations.sum())
        if total > MAX_FRAMES:
            raise SessionError(f"A clause of {total / 40:.0f} s; at most {MAX_FRAMES / 40:.0f}.", "Split the text.")
        after_a = time.perf_counter()
        prosody = np.repeat(text[graph.PROSODY_ENCODING].swapaxes(1, 2), durations, axis=2)
        frames = np.repeat(text[graph.TEXT_ENCODING], durations, axis=2)
        found = self._chain("B", {graph.PROSODY_FRAMES: np.ascontiguousarray(prosody), "style": style})
        f0 = self._fetched(found[graph.F0])
        seconds = {"A": after_a - started, "B": time.perf_counter() - after_a}
        source = self._excitation(f0, seconds)
        inputs = {
            graph.TEXT_FRAMES: np.ascontiguousarray(frames),
            graph.F0: found[graph.F0],
            graph.ENERGY: found[graph.ENERGY],
            graph.SOURCE: source,
            "style": style,
        }
        audio = self._host("D", inputs)[graph.AUDIO].reshape(-1).astype(np.float32)
        if not np.isfinite(audio).all():
            if not any(isinstance(session, TensorRTSession) for session in self._parts.values()):
                raise SessionFailure("The voice engine gave sound that is not a number.", "Report this with the text.")
            log.error("the voice gave sound that is not a number on the card; the spare on the CPU takes over")
            self._use_spares("gave sound that is not a number")
            return self.synthesise(ids, voice, speed, whole=whole, forced=forced)
        seconds["D"] = time.perf_counter() - started - sum(seconds.values())
        return Synthesis(audio, durations, seconds)

    # -- inside --------------------------------------------------------------------------------------------------

    def _chain(self, part: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs of ``part``, left on the card where it runs there."""
        session = self._parts[part]
        if isinstance(session, TensorRTSession):
            session.launch(inputs)
            return {name: session.on_device(name) for name in session.output_names}
        return self._host(part, inputs)

    def _host(self, part: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        session = self._parts[part]
        if isinstance(session, TensorRTSession):
            return session.run(inputs)
        return session.run({name: self._fetched(value) for name, value in inputs.items()})

    def _fetched(self, value: Any) -> Any:
        """``value`` on the host."""
        if not isinstance(value, DeviceArray):
            return value
        for session in self._parts.values():
            if isinstance(session, TensorRTSession):
                session.wait()
        host = np.empty(value.shape, value.dtype)
        self._device.cuda.memcpy_dtoh(host, value.address)
        return host

    def _use_spares(self, reason: str) -> None:
        """All parts on the CPU from here on: which of them began to fail is not known."""
        spares: dict[str, Session] = {}
        for part in self._parts:
            spares[part] = OnnxRuntimeSession(f"kokoro/{part}", self._plain_folder() / f"{part}.onnx")
            spares[part].load()
            self.fallbacks[part] = reason
        for session in self._parts.values():
            session.close()
        self._parts = spares

    def _session(self, part: str, folder: Path, stream: Any, report: Progress) -> Session:
        flavour, card = self._device.flavour, self._device.card
        session: Session
        for form in part_forms(part, folder, flavour.typed):
            try:
                plan = ensure_plan(form, flavour, card, report, self._cancelled)
                session = TensorRTSession(f"kokoro/{part}", plan, self._device, stream=stream)
                session.load()
                break
            except (Cancelled, OutOfMemory):
                raise
            except TensorRTError as error:
                self.fallbacks[part] = str(error)
        else:
            session = OnnxRuntimeSession(f"kokoro/{part}", self._plain_folder() / f"{part}.onnx", threads=self._threads)
            session.load()
        return session

    def _plain_folder(self) -> Path:
        """Graphs in float32 for parts that run on the CPU."""
        folder = voice_graphs(self._dir, typed=False)
        assert folder is not None  # made when missing
        return folder
