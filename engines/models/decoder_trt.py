"""A decoder on TensorRT: the same verbs as ``engines.models.decoder.Decoder``, its cache and its choice on the card.

Five engines: the halves of a layer for one token and for many, and the head (see ``decoder_layer``). A run queues both
halves once per layer with other weights; runs of one token and of each size of chunk are captured, so that each is one
CUDA graph. The cache is a ``CardCache``; attention's engines are built for its length, so that a shorter context has
two engines of its own, and all else in common with the longer one.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from engines.errors import Cancelled, ModelFileError, SessionError
from engines.models.decoder import Candidates, EmbeddingTable
from engines.models.decoder_cache import CardCache, Rows
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_layer import (
    MASKED,
    SCRATCH,
    attend_graph,
    attend_weights,
    head_graph,
    head_weights,
    project_graph,
    project_weights,
    rotary_scale,
    rotary_tables,
)
from engines.models.decoder_store import HalfTable, WeightStore
from engines.trt.build import Progress, ensure_plan
from engines.trt.device import Device
from engines.trt.driver import CudaGraph, capture
from engines.trt.flavours import Card, Flavour, OutOfMemory, TensorRTError
from engines.trt.plans import BuildRequest, Profile
from engines.trt.session import TensorRTSession

log = logging.getLogger(__name__)
LEVEL = 3
"""Builder optimisation level: a half of a layer takes seconds at it, half a minute on 8.6."""
CHUNKS = (8, 16, 24, 32, 48, SCRATCH)
"""Rows a prefilling run may have: the least that holds what is left to prefill is taken, padded in front."""
_HALF = np.float16
_ALIGN = 256


def chunk_profiles(config: DecoderConfig, capacity: int) -> tuple[Profile, Profile]:
    """The sizes of prefilling runs, for both halves of a layer."""
    runs = CHUNKS[0], CHUNKS[1], CHUNKS[-1]

    def rows(width: int) -> Any:
        return tuple((count, width) for count in runs)

    group = config.heads // config.kv_heads
    queries = tuple((config.kv_heads, group * count, config.head_size) for count in runs)
    x = rows(config.hidden)
    project: Profile = {"x": x, "cos": rows(config.head_size), "sin": rows(config.head_size)}
    attend: Profile = {"x": x, "query": queries, "mask": rows(capacity + SCRATCH)}  # type: ignore[dict-item]
    return project, attend


def plan_name(config: DecoderConfig) -> str:
    """How the names of a decoder's plans begin: by its sizes, since models of the same sizes share them."""
    return f"{config.architecture}-{config.hidden}x{config.intermediate}"


def decoder_requests(
    folder: Path, config: DecoderConfig, capacity: int, level: int = LEVEL
) -> tuple[BuildRequest, ...]:
    """The engines of a layer's halves, for one token and for many, and of the head; their graphs are written to
    ``folder``. Models of the same sizes share them.

    Raises ``ModelFileError`` when the graphs cannot be written.
    """
    project, _ = chunk_profiles(config, capacity)
    step, chunk = _attention_requests(folder, config, capacity, level)
    return (
        _request(folder, config, "step-project", project_graph(config, one=True), (), level), step,
        _request(folder, config, "project", project_graph(config), (project,), level), chunk,
        _request(folder, config, "head", head_graph(config), (), level),
    )  # fmt: skip


def _attention_requests(
    folder: Path, config: DecoderConfig, capacity: int, level: int
) -> tuple[BuildRequest, BuildRequest]:
    """Of ``decoder_requests`` the two that depend on the length of the context: for one token, and for many."""
    _, ranges = chunk_profiles(config, capacity)
    return (
        _request(folder, config, f"step-attend-{capacity}", attend_graph(config, capacity, one=True), (), level),
        _request(folder, config, f"attend-{capacity}", attend_graph(config, capacity), (ranges,), level),
    )


def _request(
    folder: Path, config: DecoderConfig, part: str, model: onnx.ModelProto, ranges: tuple[Profile, ...], level: int
) -> BuildRequest:
    """What to build for one graph, which is written to ``folder`` where it is not there."""
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
    return BuildRequest(f"{plan_name(config)}-{part}", path, ranges, level=level)


class TensorRTDecoder:
    """``prefill`` a prompt, then ``step`` token by token. Used by one thread at a time that has ``device``'s context.

    Both give ``Candidates`` (see ``decoder_layer.CANDIDATES``), or all logits float32 [vocabulary] while
    ``full_logits`` is set. ``plans``: as of ``decoder_requests``. ``shorter``: other lengths of the context in tokens,
    each with attention's two plans for it (see ``resize``).
    """

    def __init__(
        self, config: DecoderConfig, plans: Sequence[Path], device: Device, embedding: EmbeddingTable | HalfTable,
        weights: WeightStore, *, capacity: int, frequencies: NDArray[np.float32] | None = None,
        shorter: Mapping[int, tuple[Path, Path]] | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        self._attends = {capacity: (plans[1], plans[3]), **(shorter or {})}
        self._full_logits = False
        self._device = device
        self._embedding = embedding
        self._weights = weights
        scale = rotary_scale(config.head_size)
        self._cos, self._sin = ((table * scale).astype(_HALF) for table in rotary_tables(config, capacity, frequencies))
        self._row = config.head_size * 2
        self._heads_of_one = config.heads + 2 * config.kv_heads
        self._staging: Any = None
        self._query = 0
        self._project = tuple(TensorRTSession("llm", plan, device, graphs=False) for plan in (plans[0], plans[2]))
        self._head = TensorRTSession("llm head", plans[4], device, graphs=False)
        self._chunks: tuple[int, ...] = CHUNKS
        self.cache: CardCache
        self._attend: tuple[TensorRTSession, ...]
        self._mask: NDArray[Any]
        self._masked_to: int
        self._prepare(capacity)
        self._blocks: list[Any] = []
        self._weight_at: dict[tuple[int, str], int] = {}
        self._stream_of: list[int] = []
        self._rows: NDArray[np.float32] = np.zeros(0, np.float32)
        self._graphs: dict[int, CudaGraph] = {}
        self._runs: dict[int, int] = {}
        self.graph_failure = ""
        self.keep_snapshots = True
        """Off: ``prime`` only prefills."""

    @property
    def capacity(self) -> int:
        """Tokens of the context now."""
        return self.cache.capacity

    @property
    def capacities(self) -> tuple[int, ...]:
        """Lengths of the context that ``resize`` takes, in tokens, shortest first."""
        return tuple(sorted(self._attends))

    @property
    def runtime(self) -> str:
        return self._head.runtime

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
        return self.cache.nbytes

    def load(self, step: Callable[[float], None] | None = None) -> None:
        """Take memory on the card and fill it. ``step`` gets the fraction, and may raise.

        Raises ``TensorRTError`` (``OutOfMemory`` where it is for lack of room) and ``ModelFileError``; nothing is kept
        then.
        """
        config, allocate = self.config, self._device.allocate
        tell = step or (lambda fraction: None)
        try:
            with self._device.within_memory("The language model", self._weights.nbytes):
                weights = self._kept(allocate(self._weights.nbytes))
                self._weights.upload(weights, self._device, lambda fraction: tell(0.8 * fraction))
                self._weight_at = {key: int(weights) + offset for key, offset in self._weights.offsets.items()}
                self._staging = self._kept(allocate(2 * max(self._stage(rows) for rows in CHUNKS)))
                widest = max(CHUNKS[-1] * config.heads, self._heads_of_one)
                self._query = int(self._kept(allocate(widest * self._row)))
                row = config.hidden * 4
                self._stream_of = [int(self._kept(allocate(CHUNKS[-1] * row))) for _ in range(2)]
                self._rows = self._device.pinned(CHUNKS[-1] * row).view(np.float32)
                self._head.fix(self._head_addresses(1))
                self._head.load()
                self._load_attention(self.cache, self._attend)
                for session in self._project:
                    session.fix(self._layer_addresses(0, 1)[0])
                    session.load(self._head.stream)
                for name, value in (("cos", 1.0), ("sin", 0.0)):
                    self._turns_of_one(name)[:] = value  # which the values keep
                self._begin_mask()
                self._warm(lambda fraction: tell(0.8 + 0.2 * fraction))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._drop_graphs()
        for session in (*self._project, *self._attend, self._head):
            session.close()
        for block in self._blocks:
            block.free()
        self._blocks.clear()
        self.cache.close()
        self._rows = self._mask = np.zeros(0, np.float32)  # page-locked memory goes back with the last view of it

    # -- less and more memory ------------------------------------------------------------------------------------

    def drop_snapshots(self) -> bool:
        """Forget the primed prompts that are kept on the card; they are prefilled again when they come. False when
        there are none."""
        return self.cache.drop_snapshots()

    def limit_chunk(self, rows: int) -> None:
        """Prefill at most ``rows`` tokens at once, one of ``CHUNKS``. The graphs of larger runs are given back; the
        engines' own work space stays what it was built for."""
        self._chunks = tuple(size for size in CHUNKS if size <= max(rows, CHUNKS[0]))
        for size in [size for size in self._graphs if size > self._chunks[-1]]:
            self._graphs.pop(size).close()
            self._runs.pop(size, None)

    @property
    def chunk(self) -> int:
        """The most tokens prefilled at once."""
        return self._chunks[-1]

    def resize(self, capacity: int) -> None:
        """Another length of the context, one of ``capacities``, on the same weights; what the cache held is forgotten.

        A longer one is made beside the one in use, which stays when there is no room. For a shorter one the longer is
        given back first; where even that fails the decoder is closed. Raises ``OutOfMemory`` and ``TensorRTError``.
        """
        self._need_loaded()
        if capacity not in self._attends:
            raise SessionError(f"No plans for a context of {capacity} tokens.", f"There are {self.capacities}.")
        if capacity == self.capacity:
            return
        longer = capacity > self.capacity
        old = self.cache, self._attend, self._mask, self._masked_to
        self._head.wait()
        if not longer:
            self._close_attention(*old[:2])
        try:
            with self._device.within_memory(f"A context of {capacity} tokens"):
                self._prepare(capacity)
                self._load_attention(self.cache, self._attend)
                self._begin_mask()
                if longer:
                    self._close_attention(*old[:2])
                self._warm(lambda fraction: None)
        except BaseException:
            self._close_attention(self.cache, self._attend)
            if longer and old[1][0].loaded:
                self.cache, self._attend, self._mask, self._masked_to = old
            else:
                self.close()
            raise

    def _prepare(self, capacity: int) -> None:
        """What depends on the length of the context, not loaded yet."""
        self.cache = CardCache(self.config, capacity, self._device)
        self._attend = tuple(
            TensorRTSession("llm", plan, self._device, graphs=False) for plan in self._attends[capacity]
        )
        self._mask = np.zeros(0, np.float32)
        self._masked_to = 0

    def _load_attention(self, cache: CardCache, sessions: Sequence[TensorRTSession]) -> None:
        cache.take(self._head.stream)
        for session in sessions:
            session.fix(self._layer_addresses(0, 1)[1])
            session.load(self._head.stream)

    def _close_attention(self, cache: CardCache, sessions: Sequence[TensorRTSession]) -> None:
        self._drop_graphs()
        for session in sessions:
            session.close()
        cache.close()

    def _begin_mask(self) -> None:
        self._mask = _view(self._attend[0], "mask", (1, self.cache.width))
        self._mask[:] = MASKED
        self._mask[0, self.capacity] = 0
        self._masked_to = 0

    # -- the verbs -----------------------------------------------------------------------------------------------

    def reusable(self, ids: Sequence[int]) -> int:
        """How many leading ids of ``ids`` need no prefill."""
        return min(self.cache.reusable(ids), len(ids) - 1)

    def prime(self, ids: Sequence[int], cancelled: Callable[[], bool] | None = None, keep: int = 4) -> None:
        """Prefill ``ids`` and keep a copy of the cache on the card: a prompt's constant beginning is run once.

        Raises ``OutOfMemory`` when there is no room for the copy; the cache holds ``ids`` all the same.
        """
        self.prefill(ids, cancelled)
        if self.keep_snapshots:
            self.cache.keep(ids, keep)

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
        self.cache.recall(ids)
        start = min(self.cache.common_prefix(ids), len(ids) - 1)
        self.cache.trim(start)
        most = self._chunks[-1]
        for first in range(start, len(ids), most):
            if cancelled is not None and cancelled():
                raise Cancelled("The prompt's prefill was cancelled.")
            self._run(ids[first : first + most])
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
        rows = 1 if count == 1 else next(size for size in self._chunks if size >= count)
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
            # After one plain run; without room on the card again after 2, 4, 8, … runs more.
            if (runs - 1).bit_count() == 1 and not self.graph_failure:
                self._capture(rows)
        self.cache.put(self.capacity + rows - count, count)
        self._head.wait()  # the pinned inputs are filled again by the next run
        self.cache.ids.extend(ids)

    def _queue(self, rows: int) -> None:
        """Copies in, every layer, the head, copies out: all on one stream."""
        project, attend = self._halves(rows)
        if rows != 1:
            self._shape(rows)
        cuda, stream, config = self._device.cuda, self._head.stream, self.config
        cuda.memcpy_htod_async(self._stream_of[0], self._rows[: rows * config.hidden], stream)
        turns = (self._heads_of_one if rows == 1 else rows) * config.head_size
        for session, name, values in (
            (project, "cos", turns), (project, "sin", turns), (attend, "mask", rows * self.cache.width)
        ):  # fmt: skip
            place = session.place(name)
            assert place.host is not None  # these inputs have buffers of the session's own
            cuda.memcpy_htod_async(place.device, place.host[: values * 2], stream)
        for layer in range(config.layers):
            first, second = self._layer_addresses(layer, rows)
            project.bind(first)
            project.execute()
            self._set_aside(layer, rows)
            attend.bind(second)
            attend.execute()
        self._head.bind(self._head_addresses(rows))
        self._head.execute()
        for name in ("best_logits", "best_tokens", "logits") if self.full_logits else ("best_logits", "best_tokens"):
            place = self._head.place(name)
            assert place.host is not None  # outputs have buffers
            cuda.memcpy_dtoh_async(place.host[: place.room], place.device, stream)

    def _fill_one(self) -> None:
        """Rotation and mask of one token; the mask is kept up to date, not written anew."""
        position, turned = self.cache.length, self.config.heads + self.config.kv_heads
        self._turns_of_one("cos")[:turned] = self._cos[position]
        self._turns_of_one("sin")[:turned] = self._sin[position]
        if position < self._masked_to:
            self._mask[0, position : self._masked_to] = MASKED
        else:
            self._mask[0, self._masked_to : position] = 0
        self._masked_to = position

    def _turns_of_one(self, name: str) -> NDArray[Any]:
        """The rotation of one token, a row for each head of queries, keys and values."""
        return _view(self._project[0], name, (self._heads_of_one, self.config.head_size))

    def _fill_many(self, count: int, rows: int) -> None:
        """The tokens stand at the end of the run's rows; what stands before them is not seen and not kept."""
        start, pad = self.cache.length, rows - count
        for name, table in (("cos", self._cos), ("sin", self._sin)):
            view = _view(self._project[1], name, (rows, self.config.head_size))
            view[:pad] = 0
            view[pad:] = table[start : start + count]
        mask = _view(self._attend[1], "mask", (rows, self.cache.width))
        mask[:] = MASKED
        mask[pad:, :start] = 0
        mask[pad:, self.capacity + pad : self.capacity + rows][np.tril_indices(count)] = 0

    def _halves(self, rows: int) -> tuple[TensorRTSession, TensorRTSession]:
        """The engines of a layer for a run of ``rows``."""
        return (self._project[0], self._attend[0]) if rows == 1 else (self._project[1], self._attend[1])

    def _layer_addresses(self, layer: int, rows: int) -> tuple[dict[str, int], dict[str, int]]:
        """Where a layer's halves read and write in a run of ``rows``: the two residual buffers take turns."""
        staging, x = int(self._staging), self._stream_of[layer % 2]
        project = {spec.name: self._weight_at[layer, spec.name] for spec in project_weights(self.config)}
        if rows == 1:
            project |= {"x": x, "qkv_rows": self._query}
        else:
            project |= {"x": x, "query": self._query, "new_key": staging, "new_value": staging + self._stage(rows)}
        attend = {spec.name: self._weight_at[layer, spec.name] for spec in attend_weights(self.config)}
        attend |= {"x": x, "query": self._query, "y": self._stream_of[1 - layer % 2]}
        attend |= {"key": self.cache.plane(2 * layer), "value": self.cache.plane(2 * layer + 1)}
        return project, attend

    def _set_aside(self, layer: int, rows: int) -> None:
        """Queue the copy of a layer's new keys and values behind its cache, where its second half reads them."""
        config, cache = self.config, self.cache
        if rows == 1:
            staged = Rows(self._query + config.heads * self._row, self._row, config.kv_heads)
        else:
            staged = Rows(self._staging, rows * self._row, self._staged_heads(rows))
        at = self.capacity * self._row
        behind = Rows(cache.plane(2 * layer), cache.width * self._row, self.config.kv_heads, at)
        cache.copy(staged, behind, rows, 2)

    def _stage(self, rows: int) -> int:
        """Bytes from the new keys to the new values: addresses that engines are given are multiples of 256."""
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
        config = self.config
        project, attend = self._halves(rows)
        for name, width in (("x", config.hidden), ("cos", config.head_size), ("sin", config.head_size)):
            project.set_shape(name, (rows, width))
        group = config.heads // config.kv_heads
        attend.set_shape("x", (rows, config.hidden))
        attend.set_shape("query", (config.kv_heads, group * rows, config.head_size))
        attend.set_shape("mask", (rows, self.cache.width))

    def _capture(self, rows: int) -> None:
        graph = CudaGraph(self._head.stream.handle)
        try:
            capture(graph, partial(self._queue, rows))
        except OutOfMemory:
            pass  # there may be room later
        except TensorRTError as error:
            self.graph_failure = str(error)
        else:
            self._graphs[rows] = graph

    def _warm(self, tell: Callable[[float], None]) -> None:
        """Every size of run twice before the first word: kernels are loaded, graphs are captured."""
        sizes = (1, *(size for size in self._chunks if size <= self.capacity))
        for done, rows in enumerate(sizes):
            tell(done / len(sizes))
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
    return values.reshape(shape) if -1 in shape else values[: math.prod(shape)].reshape(shape)


def shorter_context(capacity: int) -> int:
    """The length of context that a decoder with ``capacity`` tokens can go down to: half, a multiple of 16."""
    return max(16, capacity // 32 * 16)


def shorter_requests(folder: Path, config: DecoderConfig, capacity: int) -> tuple[BuildRequest, ...]:
    """Attention's two engines for the shorter context, as of ``decoder_requests``; none where there is no shorter."""
    shorter = shorter_context(capacity)
    if shorter >= capacity:
        return ()
    return _attention_requests(folder, config, shorter, LEVEL)


def shorter_plans(
    folder: Path, config: DecoderConfig, capacity: int, flavour: Flavour, card: Card | None,
    progress: Progress | None = None, cancelled: Callable[[], bool] | None = None,
) -> dict[int, tuple[Path, Path]]:  # fmt: skip
    """Attention's plans for the shorter context, by its length, built where they are missing; none when that fails:
    the decoder runs without them."""
    requests = shorter_requests(folder, config, capacity)
    try:
        plans = [ensure_plan(request, flavour, card, progress, cancelled) for request in requests]
    except TensorRTError as error:
        log.warning("the context cannot be shortened: %s", error)
        return {}
    return {shorter_context(capacity): (plans[0], plans[1])} if plans else {}


def decoder_plans(
    folder: Path, config: DecoderConfig, capacity: int, flavour: Flavour, card: Card | None,
    progress: Progress | None = None, cancelled: Callable[[], bool] | None = None,
) -> tuple[Path, ...]:  # fmt: skip
    """The plans of a decoder, built where they are missing."""
    tell = progress or (lambda fraction, text: None)
    plans = []
    requests = decoder_requests(folder, config, capacity)
    for index, request in enumerate(requests):

        def part(fraction: float, text: str, done: int = index) -> None:
            tell((done + fraction) / len(requests), text)

        plans.append(ensure_plan(request, flavour, card, part, cancelled))
    return tuple(plans)
