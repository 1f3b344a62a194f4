"""A decoder on TensorRT: the same verbs as ``engines.models.decoder.Decoder``, its cache and its choice on the card.

Three engines: a layer of one token, a layer of many, the head (see ``decoder_layer``). A run queues a layer's engine
once per layer with other weights; runs of one token and of each size of chunk are captured, so that each is one CUDA
graph. The cache lies in one block, [2 · layers, kv heads, capacity, head size]; what a run adds is put behind it by one
strided copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import Cancelled, ModelFileError, SessionError
from engines.models.decoder import Candidates, EmbeddingTable, HeldTokens, common_length
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_layer import (
    MASKED,
    head_graph,
    head_weights,
    layer_graph,
    layer_weights,
    rotary_scale,
    rotary_tables,
)
from engines.models.decoder_store import WeightStore
from engines.trt.build import Progress, ensure_plan
from engines.trt.device import Device
from engines.trt.driver import CudaGraph
from engines.trt.flavours import Card, Flavour, TensorRTError
from engines.trt.plans import BuildRequest, Profile
from engines.trt.session import TensorRTSession

LEVELS = {True: 3, False: 0}
"""Builder optimisation levels by ``Flavour.typed``: 8.6 takes minutes for a layer above 0, newer ones seconds."""
CHUNKS = (8, 16, 24, 32, 48, 64)
"""Rows a prefilling run may have: the least that holds what is left to prefill is taken, padded in front."""
_HALF = np.float16
_ALIGN = 256


def chunk_profile(config: DecoderConfig, capacity: int) -> Profile:
    """The sizes of prefilling runs."""
    least, best, most = CHUNKS[0], CHUNKS[1], CHUNKS[-1]
    row = ((least, config.head_size), (best, config.head_size), (most, config.head_size))
    return {
        "x": ((least, config.hidden), (best, config.hidden), (most, config.hidden)), "cos": row, "sin": row,
        "mask": ((least, capacity + least), (best, capacity + best), (most, capacity + most)),
    }  # fmt: skip


def plan_name(config: DecoderConfig) -> str:
    """How the names of a decoder's plans begin: by its sizes, since models of the same sizes share them."""
    return f"{config.architecture}-{config.hidden}x{config.intermediate}"


def decoder_requests(
    folder: Path, config: DecoderConfig, capacity: int, typed: bool = True, level: int | None = None
) -> tuple[BuildRequest, ...]:
    """The engines of a step's layer, of a prefilling layer and of the head; their graphs are written to ``folder``.
    Models of the same sizes share them.

    Raises ``ModelFileError`` when the graphs cannot be written.
    """
    requests = []
    for part, model, ranges in (
        (f"step-{capacity}", layer_graph(config, capacity, one=True), ()),
        (f"layer-{capacity}", layer_graph(config, capacity), (chunk_profile(config, capacity),)),
        ("head", head_graph(config), ()),
    ):
        path = folder / f"{part}.onnx"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            content = model.SerializeToString()
            if not path.exists() or path.read_bytes() != content:
                temporary = path.with_name(f"{path.name}.{os.getpid()}")
                temporary.write_bytes(content)
                temporary.replace(path)
        except OSError as error:
            raise ModelFileError(
                f"The graph {path} cannot be written: {error.strerror}.",
                "Free disk space, or name another place with IDOL_MODELS.",
            ) from error
        requests.append(
            BuildRequest(f"{plan_name(config)}-{part}", path, ranges, level=LEVELS[typed] if level is None else level)
        )
    return tuple(requests)


class TensorRTDecoder:
    """``prefill`` a prompt, then ``step`` token by token. Used by the thread that opened ``device``.

    Both give ``Candidates`` (see ``decoder_layer.CANDIDATES``), or all logits float32 [vocabulary] while
    ``full_logits`` is set. ``plans``: as of ``decoder_requests``.
    """

    def __init__(
        self, config: DecoderConfig, plans: Sequence[Path], device: Device, embedding: EmbeddingTable,
        weights: WeightStore, *, capacity: int, frequencies: NDArray[np.float32] | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        self.capacity = capacity
        self._full_logits = False
        self.cache = HeldTokens()
        self._device = device
        self._embedding = embedding
        self._weights = weights
        scale = rotary_scale(config.head_size)
        self._cos, self._sin = ((table * scale).astype(_HALF) for table in rotary_tables(config, capacity, frequencies))
        self._row = config.head_size * 2
        self._planes = 2 * config.layers * config.kv_heads
        self._staging: Any = None
        self.session = TensorRTSession("llm", plans[0], device, graphs=False)
        self._many = TensorRTSession("llm", plans[1], device, graphs=False)
        self._head = TensorRTSession("llm head", plans[2], device, graphs=False)
        self._blocks: list[Any] = []
        self._weight_at: dict[tuple[int, str], int] = {}
        self._stream_of: list[int] = []
        self._snapshots: list[tuple[tuple[int, ...], Any]] = []
        self._cache_block: Any = None
        self._graphs: dict[int, CudaGraph] = {}
        self._runs: dict[int, int] = {}
        self.graph_failure = ""

    @property
    def full_logits(self) -> bool:
        return self._full_logits

    @full_logits.setter
    def full_logits(self, wanted: bool) -> None:
        if wanted != self._full_logits:
            self._full_logits = wanted
            self._drop_graphs()  # what they copy out has changed

    @property
    def cache_bytes(self) -> int:
        return self._planes * self.capacity * self._row

    def load(self) -> None:
        """Take memory on the card and fill it. Raises ``TensorRTError`` and ``ModelFileError``."""
        config, allocate = self.config, self._device.allocate
        try:
            weights = self._kept(allocate(self._weights.nbytes))
            self._weights.upload(weights, self._device)
            self._weight_at = {key: int(weights) + offset for key, offset in self._weights.offsets.items()}
            self._cache_block = self._kept(allocate(self.cache_bytes))
            self._device.cuda.memset_d8(int(self._cache_block), 0, self.cache_bytes)
            self._staging = self._kept(allocate(2 * config.layers * max(self._stage(rows) for rows in (1, *CHUNKS))))
            row = config.hidden * 4
            self._stream_of = [int(self._kept(allocate(CHUNKS[-1] * row))) for _ in range(2)]
            self._rows = self._device.pinned(CHUNKS[-1] * row).view(np.float32)
            first = self._layer_addresses(0, 1)
            self._head.fix(self._head_addresses(1))
            for session in (self.session, self._many):
                session.fix(first)
            self.session.load()
            for session in (self._many, self._head):
                session.load(self.session.stream)
            self._mask = _view(self.session, "mask", (1, self.capacity + 1))
            self._mask[:] = MASKED
            self._masked_to = 0
            self._warm()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._drop_graphs()
        for session in (self._head, self._many, self.session):
            session.close()
        for block in [*self._blocks, *(block for _, block in self._snapshots)]:
            block.free()
        self._blocks.clear()
        self._snapshots.clear()
        self._cache_block = None
        self.cache.reset()

    def reusable(self, ids: Sequence[int]) -> int:
        """How many leading ids of ``ids`` need no prefill."""
        held = [self.cache.common_prefix(ids), *(common_length(known, ids) for known, _ in self._snapshots)]
        return min(max(held), len(ids) - 1)

    def prime(self, ids: Sequence[int], cancelled: Callable[[], bool] | None = None, keep: int = 4) -> None:
        """Prefill ``ids`` and keep a copy of the cache on the card: a prompt's constant beginning is run once."""
        self.prefill(ids, cancelled)
        kept = []
        for known, block in self._snapshots:
            if known == tuple(ids):
                block.free()
            else:
                kept.append((known, block))
        self._snapshots = [*kept, (tuple(ids), self._save())]
        for _, block in self._snapshots[:-keep]:
            block.free()
        self._snapshots = self._snapshots[-keep:]

    def prefill(
        self, ids: Sequence[int], cancelled: Callable[[], bool] | None = None
    ) -> Candidates | NDArray[np.float32]:
        """Bring the cache to ``ids``; the last position's candidates. At least the last id is run again."""
        if not ids:
            raise SessionError("An empty prompt cannot be prefilled.", "Give at least one token.")
        if len(ids) > self.capacity:
            raise SessionError(
                f"The prompt has {len(ids)} tokens, the context holds {self.capacity}.", "Shorten history or persona."
            )
        self._need_loaded()
        self._recall(ids)
        start = min(self.cache.common_prefix(ids), len(ids) - 1)
        self.cache.trim(start)
        for first in range(start, len(ids), CHUNKS[-1]):
            if cancelled is not None and cancelled():
                raise Cancelled("The prompt's prefill was cancelled.")
            self._run(ids[first : first + CHUNKS[-1]])
        return self._read()

    def step(self, token: int) -> Candidates | NDArray[np.float32]:
        """Append one token; the next position's candidates. Raises ``SessionError`` when the context is full."""
        self._need_loaded()
        if self.cache.length >= self.capacity:
            raise SessionError(f"The context of {self.capacity} tokens is full.", "Shorten history or persona.")
        self._run([token])
        return self._read()

    # -- one run -------------------------------------------------------------------------------------------------

    def _run(self, ids: Sequence[int]) -> None:
        """Run ``ids`` behind the cache and put their keys and values there. Waits for the card."""
        count = len(ids)
        rows = 1 if count == 1 else next(size for size in CHUNKS if size >= count)
        if rows == 1:
            self._fill_one()
        else:
            self._fill_many(count, rows)
        table = self._rows[: rows * self.config.hidden].reshape(rows, -1)
        table[: rows - count] = 0.0
        table[rows - count :] = self._embedding.rows(ids)
        graph = self._graphs.get(rows)
        if graph is not None:
            graph.launch()
        else:
            self._queue(rows)
            runs = self._runs[rows] = self._runs.get(rows, 0) + 1
            if runs == 2 and not self.graph_failure:
                self._capture(rows)
        self._copy_rows(
            (self._staging, rows, rows - count), (self._cache_block, self.capacity, self.cache.length), count
        )
        self._head.wait()  # the pinned inputs are filled again by the next run
        self.cache.ids.extend(ids)

    def _queue(self, rows: int) -> None:
        """Copies in, every layer, the head, copies out: all on one stream."""
        session = self.session if rows == 1 else self._many
        if rows != 1:
            self._shape(rows)
        cuda, stream, config = self._device.cuda, session.stream, self.config
        cuda.memcpy_htod_async(self._stream_of[0], self._rows[: rows * config.hidden], stream)
        for name, width in (("cos", config.head_size), ("sin", config.head_size), ("mask", self.capacity + rows)):
            place = session.place(name)
            assert place.host is not None  # these inputs have buffers of the session's own
            cuda.memcpy_htod_async(place.device, place.host[: rows * width * 2], stream)
        for layer in range(config.layers):
            session.bind(self._layer_addresses(layer, rows))
            session.execute()
        self._head.bind(self._head_addresses(rows))
        self._head.execute()
        for name in ("best_logits", "best_tokens", "logits") if self.full_logits else ("best_logits", "best_tokens"):
            place = self._head.place(name)
            assert place.host is not None  # outputs have buffers
            cuda.memcpy_dtoh_async(place.host[: place.room], place.device, stream)

    def _fill_one(self) -> None:
        """Rotation and mask of one token; the mask is kept up to date, not written anew."""
        position, session = self.cache.length, self.session
        _view(session, "cos", (1, self.config.head_size))[:] = self._cos[position]
        _view(session, "sin", (1, self.config.head_size))[:] = self._sin[position]
        if position < self._masked_to:
            self._mask[0, position : self._masked_to] = MASKED
        else:
            self._mask[0, self._masked_to : position] = 0
        self._masked_to = position
        self._mask[0, -1] = 0

    def _fill_many(self, count: int, rows: int) -> None:
        """The tokens stand at the end of the run's rows; what stands before them is not seen and not kept."""
        start, session, pad = self.cache.length, self._many, rows - count
        for name, table in (("cos", self._cos), ("sin", self._sin)):
            view = _view(session, name, (rows, self.config.head_size))
            view[:pad] = 0
            view[pad:] = table[start : start + count]
        mask = _view(session, "mask", (rows, self.capacity + rows))
        mask[:] = MASKED
        mask[pad:, :start] = 0
        mask[pad:, self.capacity + pad :][np.tril_indices(count)] = 0

    def _layer_addresses(self, layer: int, rows: int) -> dict[str, int]:
        """Where a layer reads and writes in a run of ``rows``: the two residual buffers take turns."""
        cache, staging = int(self._cache_block), int(self._staging)
        found = {spec.name: self._weight_at[layer, spec.name] for spec in layer_weights(self.config)}
        found |= {"x": self._stream_of[layer % 2], "y": self._stream_of[1 - layer % 2]}
        for part, index in (("key", 2 * layer), ("value", 2 * layer + 1)):
            found[f"past_{part}"] = cache + index * self.config.kv_heads * self.capacity * self._row
            found[f"new_{part}"] = staging + index * self._stage(rows)
        return found

    def _stage(self, rows: int) -> int:
        """Bytes from one layer's new rows to the next one's: addresses that engines are given are multiples of 256."""
        return self._staged_heads(rows) * rows * self._row

    def _staged_heads(self, rows: int) -> int:
        """Planes kept for the kv heads of one layer: as many, or a few more for the sake of alignment."""
        heads = self.config.kv_heads
        while heads * rows * self._row % _ALIGN:
            heads += 1
        return heads

    def _head_addresses(self, rows: int) -> dict[str, int]:
        found = {spec.name: self._weight_at[-1, spec.name] for spec in head_weights(self.config, True)}
        found["last"] = self._stream_of[self.config.layers % 2] + (rows - 1) * self.config.hidden * 4
        return found

    def _shape(self, rows: int) -> None:
        widths = {"x": self.config.hidden, "cos": self.config.head_size, "sin": self.config.head_size}
        for name, width in (widths | {"mask": self.capacity + rows}).items():
            self._many.set_shape(name, (rows, width))

    def _capture(self, rows: int) -> None:
        graph = CudaGraph(self.session.stream.handle)
        try:
            graph.begin()
            try:
                self._queue(rows)
            except BaseException:
                graph.abandon()
                raise
            graph.end()
        except TensorRTError as error:
            self.graph_failure = str(error)
            graph.close()
            return
        self._graphs[rows] = graph

    def _warm(self) -> None:
        """Every size of run twice before the first word: kernels are loaded, graphs are captured."""
        for rows in (1, *(size for size in CHUNKS if size <= self.capacity)):
            for _ in range(2):
                self.cache.reset()
                self._run([0] * rows)
        self.cache.reset()

    # -- inside --------------------------------------------------------------------------------------------------

    def _kept(self, block: Any) -> Any:
        self._blocks.append(block)
        return block

    def _need_loaded(self) -> None:
        if not self._head.loaded:
            raise SessionError("The decoder is not loaded.", "Call load() first.")

    def _save(self) -> Any:
        """A copy of what the cache holds: [2 · layers, kv heads, tokens, head size] in a block of its own."""
        block = self._device.allocate(self._planes * self.cache.length * self._row)
        self._copy_rows((self._cache_block, self.capacity, 0), (block, self.cache.length, 0), self.cache.length)
        return block

    def _recall(self, ids: Sequence[int]) -> None:
        """Go back to a snapshot when it holds more of ``ids`` than the cache does."""
        best = max(self._snapshots, key=lambda snapshot: common_length(snapshot[0], ids), default=None)
        if best is not None and common_length(best[0], ids) > self.cache.common_prefix(ids):
            count = len(best[0])
            self._copy_rows((best[1], count, 0), (self._cache_block, self.capacity, 0), count)
            self.cache.ids[:] = best[0]

    def _copy_rows(self, source: tuple[Any, int, int], target: tuple[Any, int, int], count: int) -> None:
        """Copy ``count`` token rows of every head of every layer. ``source`` and ``target``: block, rows per plane,
        rows to skip in each; planes of ``source`` may be more than there are heads (see ``_staged_heads``)."""
        config = self.config
        copy = self._device.cuda.Memcpy3D()
        copy.set_src_device(source[0])
        copy.src_pitch = source[1] * self._row
        copy.src_height = self._staged_heads(source[1]) if source[0] is self._staging else config.kv_heads
        copy.src_x_in_bytes = source[2] * self._row
        copy.set_dst_device(target[0])
        copy.dst_pitch = target[1] * self._row
        copy.dst_height = config.kv_heads
        copy.dst_x_in_bytes = target[2] * self._row
        copy.width_in_bytes, copy.height, copy.depth = count * self._row, config.kv_heads, 2 * config.layers
        copy(self.session.stream)

    def _drop_graphs(self) -> None:
        for graph in self._graphs.values():
            graph.close()
        self._graphs.clear()
        self._runs.clear()

    def _read(self) -> Candidates | NDArray[np.float32]:
        if self.full_logits:
            return _view(self._head, "logits", (self.config.vocabulary,)).copy()
        logits, tokens = (_view(self._head, name, (-1,)) for name in ("best_logits", "best_tokens"))
        if not np.isfinite(logits[0]):
            raise TensorRTError("The language model gave logits that are not numbers.", "The spare engine takes over.")
        return Candidates(tokens.astype(np.int64), logits.copy())


def _view(session: TensorRTSession, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The page-locked bytes of a tensor as an array of ``shape``."""
    place = session.place(name)
    assert place.host is not None  # only called for tensors with buffers
    values = place.host.view(place.dtype)[: place.room // place.dtype.itemsize]
    return values.reshape(shape) if -1 in shape else values[: int(np.prod(shape))].reshape(shape)


def decoder_plans(
    folder: Path, config: DecoderConfig, capacity: int, flavour: Flavour, card: Card | None,
    progress: Progress | None = None, cancelled: Callable[[], bool] | None = None,
) -> tuple[Path, ...]:  # fmt: skip
    """The plans of a decoder, built where they are missing."""
    tell = progress or (lambda fraction, text: None)
    plans = []
    requests = decoder_requests(folder, config, capacity, flavour.typed)
    for index, request in enumerate(requests):

        def part(fraction: float, text: str, done: int = index) -> None:
            tell((done + fraction) / len(requests), text)

        plans.append(ensure_plan(request, flavour, card, part, cancelled))
    return tuple(plans)
