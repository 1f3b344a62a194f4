"""Kokoro's source: pitch to the harmonics the decoder shapes, as magnitudes and phases of a short-time spectrum.

The graph's form (a neural source filter's sine generator, Wang et al. 2019, and an STFT) counts phase up from the
clause's start and takes sines of angles of thousands of turns. Graphics cards compute such sines wrongly, and half
their time here went into shape operators; in NumPy it is exact, one part less to build, and faster on the CPU too.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import FETCH_AGAIN, ModelFileError
from engines.models.graph_surgery import GraphEditor

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HarmonicSource:
    """``mix`` float32 [harmonics] and ``bias`` join the harmonics; ``window`` float32 [size] tapers the spectrum.

    ``upsampling`` samples per value of F0; ``voiced_above`` Hz there is sound of ``amplitude``; ``hop`` in samples.
    """

    mix: Floats
    bias: float
    window: Floats
    hop: int
    upsampling: int
    sample_rate: float
    amplitude: float
    voiced_above: float

    @classmethod
    def from_graph(cls, model: Any) -> HarmonicSource:
        """Read from the source's part of the whole graph. Raises ``ModelFileError`` when it is of another form."""
        editor = GraphEditor(model)

        def only(ending: str) -> Any:
            found = [node for node in editor.nodes if node.name.endswith(ending)]
            if len(found) != 1:
                raise ModelFileError(
                    f"The voice's source has {len(found)} nodes {ending!r}, one was expected.", FETCH_AGAIN
                )
            return found[0]

        def constant(ending: str) -> NDArray[Any]:
            values = [editor.array(name) for name in only(ending).input if name in editor.initializers]
            if len(values) != 1:
                raise ModelFileError(f"The voice's source has no one constant at {ending!r}.", FETCH_AGAIN)
            return values[0]

        harmonics = constant("l_sin_gen/Mul").reshape(-1)
        if not np.array_equal(harmonics, np.arange(1, len(harmonics) + 1)):
            raise ModelFileError(f"The voice's source has the harmonics {harmonics.tolist()}.", FETCH_AGAIN)
        _, hop, window, size = only("STFT").input
        if len(editor.array(window)) != int(editor.array(size)):
            raise ModelFileError("The window of the voice's source does not fit its spectrum.", FETCH_AGAIN)
        return cls(
            mix=constant("l_linear/MatMul").astype(np.float32).reshape(-1),
            bias=float(constant("l_linear/Add").reshape(())),
            window=editor.array(window).astype(np.float32),
            hop=int(editor.array(hop)),
            upsampling=int(constant("f0_upsamp/Resize").reshape(-1)[-1]),
            sample_rate=float(constant("l_sin_gen/Div").reshape(())),
            amplitude=float(constant("l_sin_gen/Mul_5").reshape(())),
            voiced_above=float(constant("l_sin_gen/Greater").reshape(())),
        )

    @classmethod
    def load(cls, path: Path) -> HarmonicSource:
        """Raises ``ModelFileError`` when the file is missing or damaged."""
        try:
            with path.open("rb") as raw, np.load(raw) as file:
                fields = {name: file[name] for name in cls.__slots__}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ModelFileError(
                f"{path} is missing or damaged ({error}).", "Remove its folder, start again."
            ) from error
        kept = ("mix", "window")
        return cls(**{name: value if name in kept else value[()].item() for name, value in fields.items()})

    def save(self, path: Path) -> None:
        np.savez(path, allow_pickle=False, **{name: np.asarray(getattr(self, name)) for name in self.__slots__})

    def excitation(self, f0: Floats) -> Floats:
        """``f0`` float32 [1, F] in Hz to float32 [1, 2 · bins, steps]: magnitudes, then phases in (-π, π]."""
        pitch = f0.reshape(-1)
        signal = np.tanh(self._harmonics(pitch) + np.float32(self.bias))
        size = len(self.window)
        padded = np.pad(signal, size // 2, mode="reflect")
        steps = np.lib.stride_tricks.sliding_window_view(padded, size)[:: self.hop]
        bins = steps @ self._basis()
        real, imaginary = bins[:, : size // 2 + 1].T, bins[:, size // 2 + 1 :].T
        return np.concatenate([np.sqrt(real * real + imaginary * imaginary), np.arctan2(imaginary, real)])[None]

    def _harmonics(self, pitch: Floats) -> Floats:
        """The weighted sum of all harmonics, float32 [F · upsampling]; silence where there is no voice."""
        turns = self._turns(pitch)
        angle = (2 * np.pi * (turns - np.rint(turns))).astype(np.float32)
        # Clenshaw's sum of weight · sin(harmonic · angle).
        twice = 2 * np.cos(angle)
        later, now = np.zeros_like(angle), np.zeros_like(angle)
        for weight in self.mix[::-1]:
            fresh = twice * now
            fresh -= later
            fresh += weight
            later, now = now, fresh
        now *= np.sin(angle)
        now *= np.float32(self.amplitude)
        now[np.repeat(pitch <= self.voiced_above, self.upsampling)] = 0.0
        return now

    def _turns(self, pitch: Floats) -> NDArray[np.float64]:
        """Turns of the first harmonic since the start: summed per value of F0, straight lines between their middles."""
        ends = np.cumsum(pitch.astype(np.float64) / self.sample_rate) * self.upsampling
        around = np.concatenate([ends[:1], ends, ends[-1:]])
        half = self.upsampling // 2
        share = (np.arange(half) + 0.5) / self.upsampling
        rising = around[:-2, None] + (around[1:-1] - around[:-2])[:, None] * (share + 0.5)
        falling = around[1:-1, None] + (around[2:] - around[1:-1])[:, None] * share
        return np.concatenate([rising, falling], axis=1).reshape(-1)

    def _basis(self) -> Floats:
        """float32 [size, 2 · bins]: windowed cosines, then negative sines, those of a real signal's ends being 0."""
        size = len(self.window)
        angles = 2 * np.pi * np.outer(np.arange(size), np.arange(size // 2 + 1)) / size
        sines = -np.sin(angles)
        sines[:, [0, -1]] = 0.0
        return (np.concatenate([np.cos(angles), sines], axis=1) * self.window[:, None]).astype(np.float32)
