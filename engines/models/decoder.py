"""A decoder ready to run: its graph, its KV cache, its embedding table.

Knows ids, not text. The cache remembers which ids it holds; a new prompt prefills only what differs from them, so a
persona's prompt costs its prefill once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import Cancelled, SessionError, SessionFailure
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_weights import DecoderWeights
from engines.models.gguf_file import GgufFile, dequantise
from engines.runtimes.onnxrt import OnnxRuntimeSession

BUILDER_VERSION = 3
_KEPT_ROWS = 4096
_PREFILL_CHUNK = 64
"""Tokens per run while prefilling: long prompts stay cancellable and the work area stays small."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The likeliest tokens of one position, likeliest first: ``tokens`` int64 [k], ``logits`` float32 [k]."""

    tokens: NDArray[np.int64]
    logits: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class CacheSnapshot:
    """Keys and values of the first tokens of a prompt, float32 [1, kv heads, tokens, head size] by name."""

    ids: tuple[int, ...]
    arrays: dict[str, NDArray[np.float32]]

    def save(self, path: Path) -> None:
        """Write atomically. Raises ``OSError``."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(path.name + ".new")
        with temporary.open("wb") as file:
            np.savez(file, ids=np.array(self.ids, np.int64), **self.arrays)  # type: ignore[arg-type]
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> CacheSnapshot | None:
        """None when there is none, or when it is damaged."""
        try:
            # Opened here: NumPy leaves a file it opened itself open when it turns out to be damaged.
            with path.open("rb") as raw, np.load(raw) as file:
                arrays = {name: file[name] for name in file.files if name != "ids"}
                return cls(tuple(int(token) for token in file["ids"]), arrays)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None


def common_length(held: Sequence[int], wanted: Sequence[int]) -> int:
    """How many leading ids two sequences share."""
    count = 0
    for left, right in zip(held, wanted, strict=False):
        if left != right:
            break
        count += 1
    return count


class HeldTokens:
    """The ids whose keys and values a cache holds, wherever they lie. Trimming only shortens."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    @property
    def length(self) -> int:
        return len(self.ids)

    def trim(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot trim {self.length} tokens to {length}")
        del self.ids[length:]

    def reset(self) -> None:
        self.trim(0)

    def common_prefix(self, ids: Sequence[int]) -> int:
        """How many leading ids of ``ids`` the cache holds."""
        return common_length(self.ids, ids)


class KVCache(HeldTokens):
    """Keys and values of all layers on one static buffer each, and the ids they belong to.

    Arrays float32 [1, kv heads, capacity, head size]. Trimming only shortens: what lies beyond is overwritten.
    """

    def __init__(self, config: DecoderConfig, capacity: int) -> None:
        shape = (1, config.kv_heads, capacity, config.head_size)
        super().__init__()
        self.capacity = capacity
        self.arrays = {
            f"{part}_{layer}": np.zeros(shape, np.float32)
            for layer in range(config.layers)
            for part in ("key", "value")
        }

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def snapshot(self) -> CacheSnapshot:
        """A copy of what the cache holds now."""
        return CacheSnapshot(
            tuple(self.ids), {name: array[:, :, : self.length].copy() for name, array in self.arrays.items()}
        )

    def restore(self, snapshot: CacheSnapshot) -> None:
        """Make the cache hold what it held when ``snapshot`` was taken."""
        for name, array in self.arrays.items():
            array[:, :, : len(snapshot.ids)] = snapshot.arrays[name]
        self.ids = list(snapshot.ids)


class EmbeddingTable:
    """Rows of the embedding matrix, float32, read from the model file's own blocks as they are needed."""

    def __init__(self, path: Path, type_name: str, offset: int, rows: int, row_bytes: int) -> None:
        self._type = type_name
        self._raw = np.memmap(path, np.uint8, "r", offset, (rows, row_bytes))
        self._single: dict[int, NDArray[np.float32]] = {}

    def rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """float32 [len(ids), hidden]; not to be written to. Rows asked for one by one are kept: speech repeats them."""
        if len(ids) == 1 and ids[0] in self._single:
            return self._single[ids[0]]
        rows = dequantise(np.ascontiguousarray(self._raw[np.asarray(ids)]), self._type)
        if len(ids) == 1:
            if len(self._single) >= _KEPT_ROWS:
                self._single.clear()
            self._single[ids[0]] = rows
        return rows


def open_embedding(folder: Path, place: dict[str, Any], config: DecoderConfig) -> EmbeddingTable:
    """The table that ``place`` (of ``decoder.json``) names."""
    path = Path(place["path"])
    return EmbeddingTable(
        path if path.is_absolute() else folder / path,
        place["type"], place["offset"], config.vocabulary, place["row_bytes"],
    )  # fmt: skip


class Decoder:
    """``prefill`` a prompt, then ``step`` token by token. Not thread-safe."""

    def __init__(self, folder: Path, *, capacity: int, threads: int = 0, spin: bool = True) -> None:
        document = json.loads((folder / "decoder.json").read_text(encoding="utf-8"))
        self.config = DecoderConfig(**document["config"])
        self.session = OnnxRuntimeSession("llm", folder / "decoder.onnx", threads=threads, spin=spin)
        self._embedding_place = document["embedding"]
        self._folder = folder
        self.capacity = min(capacity, self.config.context, int(document["capacity"]))
        self._cache: KVCache | None = None
        self._embedding: EmbeddingTable | None = None
        self._binding: Any = None
        self._snapshots: list[CacheSnapshot] = []
        self.full_logits = True
        """All logits come out here always; see ``TensorRTDecoder``."""

    @property
    def cache(self) -> KVCache:
        if self._cache is None:
            raise SessionError("The decoder is not loaded.", "Call load() first.")
        return self._cache

    def load(self) -> None:
        """Map the weights and take the cache's memory."""
        self.session.load()
        # The graph's cache dimension is the built capacity; a shorter context only leaves its tail unused.
        capacity = int(self.session.native.get_inputs()[3].shape[2])
        self._cache = KVCache(self.config, capacity)
        self._embedding = open_embedding(self._folder, self._embedding_place, self.config)
        self._binding = self.session.native.io_binding()
        for name, array in self._cache.arrays.items():
            # Input and output on one buffer of ours: the kernel appends in place, and snapshots can read it.
            place = ("cpu", 0, np.float32, array.shape, array.ctypes.data)
            self._binding.bind_input(f"past_{name}", *place)
            self._binding.bind_output(f"present_{name}", *place)
        self._binding.bind_output("logits")

    @property
    def runtime(self) -> str:
        return self.session.runtime

    def close(self) -> None:
        self._binding = None
        self._snapshots.clear()
        self._cache = None
        self._embedding = None
        self.session.close()

    def prefill(self, ids: Sequence[int], cancelled: Callable[[], bool] | None = None) -> NDArray[np.float32]:
        """Bring the cache to ``ids`` and return the last position's logits, float32 [vocabulary].

        At least the last id is run again, since logits are not kept. Raises ``SessionError`` when the context is too
        short, ``Cancelled`` when ``cancelled()`` turns true between two chunks (the cache stays valid).
        """
        if not ids:
            raise SessionError("An empty prompt cannot be prefilled.", "Give at least one token.")
        if len(ids) > self.capacity:
            raise SessionError(
                f"The prompt has {len(ids)} tokens, the context holds {self.capacity}.", "Shorten history or persona."
            )
        self._recall(ids)
        start = min(self.cache.common_prefix(ids), len(ids) - 1)
        self.cache.trim(start)
        logits: NDArray[np.float32] | None = None
        for first in range(start, len(ids), _PREFILL_CHUNK):
            if cancelled is not None and cancelled():
                raise Cancelled("The prompt's prefill was cancelled.")
            logits = self._run(ids[first : first + _PREFILL_CHUNK])
        assert logits is not None  # the range is never empty: start < len(ids)
        return logits

    def prime(self, ids: Sequence[int], cancelled: Callable[[], bool] | None = None, keep: int = 4) -> None:
        """Prefill ``ids`` and keep a snapshot, here and on the disk: a prompt's constant beginning is run once ever."""
        digest = hashlib.sha256(np.asarray(ids, np.int64).tobytes()).hexdigest()[:16]
        path = self._folder / "prefixes" / f"{digest}.npz"
        snapshot = CacheSnapshot.load(path)
        if snapshot is not None and snapshot.ids == tuple(ids) and snapshot.arrays.keys() == self.cache.arrays.keys():
            self.cache.restore(snapshot)
        else:
            self.prefill(ids, cancelled)
            snapshot = self.cache.snapshot()
            with contextlib.suppress(OSError):  # a full disk only costs the next start its head start
                snapshot.save(path)
        self._snapshots = [*(old for old in self._snapshots if old.ids != snapshot.ids), snapshot][-keep:]

    def reusable(self, ids: Sequence[int]) -> int:
        """How many leading ids of ``ids`` need no prefill, in the cache or in a snapshot."""
        held = [self.cache.common_prefix(ids), *(common_length(snapshot.ids, ids) for snapshot in self._snapshots)]
        return min(max(held), len(ids) - 1)

    def _recall(self, ids: Sequence[int]) -> None:
        """Go back to a snapshot when it holds more of ``ids`` than the cache does."""
        best = max(self._snapshots, key=lambda snapshot: common_length(snapshot.ids, ids), default=None)
        if best is not None and common_length(best.ids, ids) > self.cache.common_prefix(ids):
            self.cache.restore(best)

    def step(self, token: int) -> NDArray[np.float32]:
        """Append one token; the next position's logits, float32 [vocabulary]. Raises ``SessionError`` when full."""
        if self.cache.length >= self.capacity:
            raise SessionError(f"The context of {self.capacity} tokens is full.", "Shorten history or persona.")
        return self._run([token])

    def _run(self, ids: Sequence[int]) -> NDArray[np.float32]:
        if self._embedding is None:
            raise SessionError("The decoder is not loaded.", "Call load() first.")
        cache = self.cache
        total = cache.length + len(ids)
        binding = self._binding
        binding.bind_cpu_input("embeds", self._embedding.rows(ids)[None])
        binding.bind_cpu_input("last_past", np.array([total - 1], np.int32))
        binding.bind_cpu_input("total", np.array(total, np.int32))
        try:
            self.session.native.run_with_iobinding(binding)
        except Exception as error:  # onnxruntime raises its own classes, all derived from Exception
            raise SessionFailure(
                f"The language model failed on {len(ids)} tokens at {cache.length}: {error}"
            ) from error
        cache.ids.extend(ids)
        # Outputs come in the order they were bound; logits were bound last.
        logits: NDArray[np.float32] = binding.get_outputs()[-1].numpy()[0, -1]
        return logits


def build_decoder(
    weights: DecoderWeights,
    embedding: dict[str, Any],
    folder: Path,
    *,
    capacity: int,
    progress: Callable[[float], None],
    keep_floats: bool | None = None,
) -> None:
    """Write ``decoder.onnx``, ``decoder.data`` and ``decoder.json`` into ``folder``.

    ``embedding`` says where the table's blocks lie (``path``, ``type``, ``offset``, ``row_bytes``).
    """
    import onnx

    from engines.models.decoder_graph import DecoderGraph

    graph = DecoderGraph(weights, capacity, folder / "decoder.data", keep_floats=keep_floats)
    model = graph.build(progress)
    onnx.save(model, os.fspath(folder / "decoder.onnx"))
    document = {
        "builder": BUILDER_VERSION,
        "capacity": capacity,
        "config": asdict(weights.config),
        "embedding": embedding,
    }
    (folder / "decoder.json").write_text(json.dumps(document), encoding="utf-8")


def gguf_embedding(file: GgufFile) -> dict[str, Any]:
    """Where a GGUF file keeps its embedding table."""
    entry = file.tensors["token_embd.weight"]
    return {
        "path": str(file.path.resolve()),
        "type": entry.type_name,
        "offset": entry.offset,
        "row_bytes": entry.bytes // entry.shape[0],
    }
