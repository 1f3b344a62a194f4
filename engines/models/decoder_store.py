"""A decoder's weights as its TensorRT engines take them: one file beside the model, one block on the card.

Layout: layer after layer, each weight in the order of ``decoder_layer.layer_weights``, then the head's; every weight
begins at a multiple of 256 bytes. Matrices are fp16 [outputs, inputs], vectors of norms float32.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.errors import ModelFileError
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_layer import WeightSpec, head_weights, layer_weights
from engines.models.decoder_weights import DecoderWeights
from engines.trt.device import Device

VERSION = 4
"""Raised whenever the file comes out differently."""
_ALIGN = 256
_STRIPE = 16 << 20
"""Bytes that travel at once; two of them are page-locked meanwhile."""


class HalfTable:
    """Rows of an fp16 matrix [rows, width] that lies in a file, ``offset`` bytes behind its beginning.

    Raises ``OSError`` and ``ValueError`` where the file is not there or too short.
    """

    def __init__(self, path: Path, offset: int, rows: int, width: int) -> None:
        self._matrix = np.memmap(path, np.float16, "r", offset, (rows, width))

    def rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """float32 [len(ids), width]."""
        return np.asarray(self._matrix[np.asarray(ids)], np.float32)


class WeightStore:
    """Where each weight lies, and how the block on the card is filled: from ``path``. ``tied``: the head's matrix is
    the embedding table as well."""

    def __init__(self, config: DecoderConfig, path: Path, tied: bool = False) -> None:
        self._path = path
        self._config = config
        self._tied = tied
        self.offsets: dict[tuple[int, str], int] = {}
        """By (layer, weight's name); the head is layer -1."""
        end = 0
        for layer, spec in _layout(config):
            self.offsets[layer, spec.name] = end
            end += -(-spec.nbytes // _ALIGN) * _ALIGN
        self.nbytes = end

    def table(self) -> HalfTable | None:
        """The embedding table, where the head's matrix is one: its rows need no dequantising, which takes longer than
        all else that is done between two tokens. Raises ``ModelFileError`` when the file is missing or damaged."""
        if not self._tied:
            return None
        try:
            return HalfTable(self._path, self.offsets[-1, "output"], self._config.vocabulary, self._config.hidden)
        except (OSError, ValueError) as error:
            raise ModelFileError(f"{self._path} is damaged.", "Remove it, and start again.") from error

    def upload(self, block: object, device: Device, step: Callable[[float], None] | None = None) -> None:
        """Fill ``block`` on the card; returns when all is there. ``step`` gets the fraction, and may raise.

        From two page-locked stripes on streams of their own: the disk is read while the other stripe travels, and
        neither an engine that runs meanwhile nor the default stream is waited for. Raises ``ModelFileError`` when the
        file is missing or damaged, ``OutOfMemory`` without page-locked memory.
        """
        try:
            if self._path.stat().st_size != self.nbytes:
                raise ModelFileError(f"{self._path} is damaged.", "Remove it, and start again.")
            values = np.memmap(self._path, np.uint8, "r")
        except OSError as error:
            raise ModelFileError(f"{self._path} cannot be read: {error.strerror}.", "Start again.") from error
        size = min(_STRIPE, self.nbytes)
        lanes = [(device.stream(), device.pinned(size)) for _ in range(2)]
        try:
            for turn, first in enumerate(range(0, self.nbytes, size)):
                if step is not None:
                    step(first / self.nbytes)
                stream, host = lanes[turn % 2]
                stream.synchronize()
                count = min(size, self.nbytes - first)
                host[:count] = values[first : first + count]
                device.cuda.memcpy_htod_async(int(block) + first, host[:count], stream)  # type: ignore[call-overload]
        finally:
            for stream, _ in lanes:
                stream.synchronize()


def store_weights(weights: DecoderWeights, folder: Path, step: Callable[[float], None]) -> WeightStore:
    """The store of ``weights`` in ``folder``, written unless it is there. ``step`` gets the fraction, and may raise.

    Raises ``ModelFileError`` when the disk is full.
    """
    config = weights.config
    path, note = folder / "weights.bin", folder / "weights.json"
    tied = not weights.has("output.weight")
    store = WeightStore(config, path, tied)
    if _is_there(path, note, store):
        return store
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        note.unlink(missing_ok=True)  # it vouches for the other
        with temporary.open("wb") as file:
            for layer, spec in _layout(config, tied):
                step((layer if layer >= 0 else config.layers) / (config.layers + 1))
                file.seek(store.offsets[layer, spec.name])
                file.write(spec.read(weights, f"blk.{layer}").tobytes())
            file.truncate(store.nbytes)
        step(1.0)
        temporary.replace(path)
        note.write_text(json.dumps({"version": VERSION, "bytes": store.nbytes}), encoding="utf-8")
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ModelFileError(
            f"The weights for the card cannot be written in {folder}: {error.strerror}.",
            f"Free {store.nbytes / 1e9:.1f} GB of disk space, or name another place with IDOL_MODELS.",
        ) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return store


def _layout(config: DecoderConfig, tied: bool = True) -> Iterator[tuple[int, WeightSpec]]:
    """All weights in the order of the file, with their layers; the head is layer -1."""
    for layer in range(config.layers):
        yield from ((layer, spec) for spec in layer_weights(config))
    yield from ((-1, spec) for spec in head_weights(config, tied))


def _is_there(path: Path, note: Path, store: WeightStore) -> bool:
    try:
        kept = json.loads(note.read_text(encoding="utf-8"))
        same = kept == {"version": VERSION, "bytes": store.nbytes}
        return same and path.stat().st_size == store.nbytes
    except (OSError, ValueError):
        return False
