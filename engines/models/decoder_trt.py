"""A decoder on TensorRT: the same verbs as ``engines.models.decoder.Decoder``, its cache and its choice on the card.

One engine, two contexts: one for single tokens, whose whole step (copies in, run, copies out) is one CUDA graph, and
one for prefilling up to ``CHUNK`` tokens a run. The cache lies in one block, [2 · layers, capacity, kv heads, head
size]; what a run adds to it is put behind it by one strided copy for all layers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from engines.errors import Cancelled, ModelFileError, SessionError
from engines.models.decoder import Candidates, EmbeddingTable, HeldTokens, common_length
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_plain import MASKED, PlainDecoderGraph, rotary_tables
from engines.models.decoder_weights import DecoderWeights
from engines.trt.build import Progress, ensure_plan
from engines.trt.device import Device
from engines.trt.driver import CudaGraph
from engines.trt.flavours import Card, Flavour, TensorRTError
from engines.trt.plans import BuildRequest, Profile
from engines.trt.session import TensorRTSession

PLAIN_VERSION = 1
"""Raised whenever the plain graph comes out differently."""
LEVEL = 1
"""Builder optimisation level: higher ones time for many minutes and gain little on products with one row."""
CHUNK = 64
"""Tokens per run while prefilling."""
_HALF = np.float16


def profiles(config: DecoderConfig, capacity: int) -> tuple[Profile, Profile]:
    """One token (two at most: a wholly static profile would keep a second copy of the weights), and prefilling."""

    def shapes(least: int, best: int, most: int) -> Profile:
        return {
            "embeds": ((least, config.hidden), (best, config.hidden), (most, config.hidden)),
            "cos": ((least, config.head_size), (best, config.head_size), (most, config.head_size)),
            "sin": ((least, config.head_size), (best, config.head_size), (most, config.head_size)),
            "mask": ((least, capacity + least), (best, capacity + best), (most, capacity + most)),
        }

    return shapes(1, 1, 2), shapes(1, min(24, CHUNK), CHUNK)


def build_plain(weights: DecoderWeights, folder: Path, capacity: int, step: Callable[[float], None]) -> Path:
    """Write ``plain.onnx``, ``plain.data``, ``plain.json`` into ``folder`` unless they are there; the graph's path."""
    target = folder / "plain.onnx"
    if plain_capacity(folder) == capacity:
        return target
    note, data = folder / "plain.json", folder / "plain.data"
    try:
        note.unlink(missing_ok=True)  # it vouches for the two others
        onnx.save(PlainDecoderGraph(weights, capacity, data).build(step), str(target))
        note.write_text(json.dumps({"version": PLAIN_VERSION, "capacity": capacity}), encoding="utf-8")
    except OSError as error:
        data.unlink(missing_ok=True)
        raise ModelFileError(
            f"The graph of the language model cannot be written in {folder}: {error.strerror}.",
            "Free disk space, or name another place with IDOL_MODELS.",
        ) from error
    except BaseException:
        data.unlink(missing_ok=True)
        raise
    return target


def plain_capacity(folder: Path) -> int:
    """For how many tokens the plain graph in ``folder`` is; 0 when there is none of this version."""
    try:
        note = json.loads((folder / "plain.json").read_text(encoding="utf-8"))
        here = (folder / "plain.onnx").exists() and (folder / "plain.data").exists()
        return int(note["capacity"]) if here and note["version"] == PLAIN_VERSION else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def build_request(name: str, graph: Path, config: DecoderConfig, capacity: int, level: int = LEVEL) -> BuildRequest:
    """The decoder's engine. Its weights lie beside the graph; their size and first bytes stand for them in the key."""
    data = graph.with_suffix(".data")
    with data.open("rb") as file:
        head = hashlib.sha256(file.read(1 << 20)).hexdigest()
    return BuildRequest(name, graph, profiles(config, capacity), level=level, identity=f"{data.stat().st_size}-{head}")


class TensorRTDecoder:
    """``prefill`` a prompt, then ``step`` token by token. Used by the thread that opened ``device``.

    Both give ``Candidates`` (see ``decoder_plain.CANDIDATES``), or all logits float32 [vocabulary] while
    ``full_logits`` is set.
    """

    def __init__(
        self, config: DecoderConfig, plan: Path, device: Device, embedding: EmbeddingTable, *, capacity: int,
        frequencies: NDArray[np.float32] | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        self.capacity = capacity
        self._full_logits = False
        self.cache = HeldTokens()
        self.session = TensorRTSession("llm", plan, device, graphs=False)
        self._plan = plan
        self._device = device
        self._embedding = embedding
        cos, sin = rotary_tables(config, capacity, frequencies)
        self._cos, self._sin = cos.astype(_HALF), sin.astype(_HALF)
        self._row = config.kv_heads * config.head_size * 2
        self._many: TensorRTSession | None = None
        self._blocks: list[Any] = []
        self._snapshots: list[tuple[tuple[int, ...], Any]] = []
        self._cache_block: Any = None
        self._graph: CudaGraph | None = None
        self._steps = 0
        self.graph_failure = ""

    @property
    def full_logits(self) -> bool:
        return self._full_logits

    @full_logits.setter
    def full_logits(self, wanted: bool) -> None:
        if wanted != self._full_logits:
            self._full_logits = wanted
            self._drop_graph()  # what it copies out has changed

    @property
    def cache_bytes(self) -> int:
        return 2 * self.config.layers * self.capacity * self._row

    def load(self) -> None:
        """Take memory on the card. Raises ``TensorRTError``."""
        layers = 2 * self.config.layers
        self._cache_block = self._device.allocate(self.cache_bytes)
        one, many = (self._device.allocate(layers * count * self._row) for count in (2, CHUNK))
        self._blocks = [self._cache_block, one, many]
        self._device.cuda.memset_d8(int(self._cache_block), 0, self.cache_bytes)
        self._staging = {2: one, CHUNK: many}
        try:
            self.session._fixed = self._addresses(one, 2)
            self.session.load()
            self._many = TensorRTSession(
                "llm", self._plan, self._device, graphs=False, profile=1, sharing=self.session,
                fixed=self._addresses(many, CHUNK),
            )  # fmt: skip
            self._many.load()
            self._shape(self.session, 1)
            self._mask = _view(self.session, "mask", (1, self.capacity + 1))
            self._mask[:] = MASKED
            self._masked_to = 0
            # Two runs before the first word: kernels are loaded, the step is captured.
            self.prefill([0, 0])
            for _ in range(3):
                self.step(0)
            self.cache.reset()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._drop_graph()
        if self._many is not None:
            self._many.close()
            self._many = None
        self.session.close()
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
        self._snapshots = [*(old for old in self._snapshots if old[0] != tuple(ids)), (tuple(ids), self._save())]
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
        if self._many is None:
            raise SessionError("The decoder is not loaded.", "Call load() first.")
        self._recall(ids)
        start = min(self.cache.common_prefix(ids), len(ids) - 1)
        self.cache.trim(start)
        for first in range(start, len(ids), CHUNK):
            if cancelled is not None and cancelled():
                raise Cancelled("The prompt's prefill was cancelled.")
            self._run_many(self._many, ids[first : first + CHUNK])
        return self._result(self._many)

    def step(self, token: int) -> Candidates | NDArray[np.float32]:
        """Append one token; the next position's candidates. Raises ``SessionError`` when the context is full."""
        position = self.cache.length
        if position >= self.capacity:
            raise SessionError(f"The context of {self.capacity} tokens is full.", "Shorten history or persona.")
        _view(self.session, "embeds", (1, self.config.hidden))[:] = self._embedding.rows([token])
        _view(self.session, "cos", (1, self.config.head_size))[:] = self._cos[position]
        _view(self.session, "sin", (1, self.config.head_size))[:] = self._sin[position]
        if position < self._masked_to:
            self._mask[0, position : self._masked_to] = MASKED
        else:
            self._mask[0, self._masked_to : position] = 0
        self._masked_to = position
        self._mask[0, -1] = 0
        if self._graph is not None:
            self._graph.launch()
        else:
            self._queue_step()
            if self._steps == 1 and not self.graph_failure:
                self._capture()
            self._steps += 1
        self._append(2, 1)
        self.cache.ids.append(token)
        self.session.wait()
        return self._read(self.session)

    # -- inside --------------------------------------------------------------------------------------------------

    def _save(self) -> Any:
        """A copy of what the cache holds: [2 · layers, tokens, kv heads, head size] in a block of its own."""
        block = self._device.allocate(2 * self.config.layers * self.cache.length * self._row)
        self._strided(self._cache_block, self.capacity, block, self.cache.length, self.cache.length)
        return block

    def _recall(self, ids: Sequence[int]) -> None:
        """Go back to a snapshot when it holds more of ``ids`` than the cache does."""
        best = max(self._snapshots, key=lambda snapshot: common_length(snapshot[0], ids), default=None)
        if best is not None and common_length(best[0], ids) > self.cache.common_prefix(ids):
            count = len(best[0])
            self._strided(best[1], count, self._cache_block, self.capacity, count)
            self.cache.ids[:] = best[0]

    def _strided(self, source: Any, source_rows: int, target: Any, target_rows: int, count: int, at: int = 0) -> None:
        """Copy ``count`` token rows of every layer from one block to another, behind ``at`` rows."""
        copy = self._device.cuda.Memcpy2D()
        copy.set_src_device(source)
        copy.set_dst_device(target)
        copy.src_pitch = source_rows * self._row
        copy.dst_pitch = target_rows * self._row
        copy.dst_x_in_bytes = at * self._row
        copy.width_in_bytes = count * self._row
        copy.height = 2 * self.config.layers
        copy(self.session.stream)

    def _drop_graph(self) -> None:
        if self._graph is not None:
            self._graph.close()
            self._graph = None
        self._steps = 0

    def _addresses(self, staging: Any, count: int) -> dict[str, int]:
        """Where each layer's cache is read and its new rows are written."""
        found = {}
        for index in range(2 * self.config.layers):
            name = f"{('key', 'value')[index % 2]}_{index // 2}"
            found[f"past_{name}"] = int(self._cache_block) + index * self.capacity * self._row
            found[f"new_{name}"] = int(staging) + index * count * self._row
        return found

    def _shape(self, session: TensorRTSession, count: int) -> None:
        config = self.config
        session.set_shape("embeds", (count, config.hidden))
        session.set_shape("cos", (count, config.head_size))
        session.set_shape("sin", (count, config.head_size))
        session.set_shape("mask", (count, self.capacity + count))

    def _copy_in(self, session: TensorRTSession, count: int) -> None:
        config = self.config
        widths = {
            "embeds": config.hidden, "cos": config.head_size, "sin": config.head_size, "mask": self.capacity + count,
        }  # fmt: skip
        for name, width in widths.items():
            place = session.place(name)
            assert place.host is not None  # inputs are not fixed
            self._device.cuda.memcpy_htod_async(place.device, place.host[: count * width * 2], session.stream)

    def _copy_out(self, session: TensorRTSession) -> None:
        names = ("best_logits", "best_tokens", "logits") if self.full_logits else ("best_logits", "best_tokens")
        for name in names:
            place = session.place(name)
            assert place.host is not None  # these outputs are not fixed
            self._device.cuda.memcpy_dtoh_async(place.host[: place.room], place.device, session.stream)

    def _queue_step(self) -> None:
        self._copy_in(self.session, 1)
        self.session.execute()
        self._copy_out(self.session)

    def _capture(self) -> None:
        graph = CudaGraph(self.session.stream.handle)
        try:
            graph.begin()
            try:
                self._queue_step()
            except BaseException:
                graph.abandon()
                raise
            graph.end()
        except TensorRTError as error:
            self.graph_failure = str(error)
            graph.close()
            return
        self._graph = graph

    def _append(self, staged: int, count: int) -> None:
        """The new rows of all layers behind the cache, in one strided copy."""
        self._strided(self._staging[staged], staged, self._cache_block, self.capacity, count, self.cache.length)

    def _run_many(self, session: TensorRTSession, ids: Sequence[int]) -> None:
        count, start = len(ids), self.cache.length
        self._shape(session, count)
        _view(session, "embeds", (count, self.config.hidden))[:] = self._embedding.rows(ids)
        _view(session, "cos", (count, self.config.head_size))[:] = self._cos[start : start + count]
        _view(session, "sin", (count, self.config.head_size))[:] = self._sin[start : start + count]
        mask = _view(session, "mask", (count, self.capacity + count))
        mask[:] = MASKED
        mask[:, :start] = 0
        mask[:, self.capacity :][np.tril_indices(count)] = 0
        self._copy_in(session, count)
        session.execute()
        self._copy_out(session)
        self._append(CHUNK, count)
        session.wait()  # the pinned inputs are filled again by the next chunk
        self.cache.ids.extend(ids)

    def _result(self, session: TensorRTSession) -> Candidates | NDArray[np.float32]:
        session.wait()
        return self._read(session)

    def _read(self, session: TensorRTSession) -> Candidates | NDArray[np.float32]:
        if self.full_logits:
            return _view(session, "logits", (self.config.vocabulary,)).copy()
        logits, tokens = (_view(session, name, (-1,)) for name in ("best_logits", "best_tokens"))
        if not np.isfinite(logits[0]):
            raise TensorRTError("The language model gave logits that are not numbers.", "The spare engine takes over.")
        return Candidates(tokens.astype(np.int64), logits.copy())


def _view(session: TensorRTSession, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The page-locked bytes of a tensor as an array of ``shape``."""
    place = session.place(name)
    assert place.host is not None  # only called for tensors with buffers
    values = place.host.view(place.dtype)
    return values.reshape(shape) if -1 in shape else values[: int(np.prod(shape))].reshape(shape)


def decoder_plan(
    name: str, weights: DecoderWeights, folder: Path, capacity: int, flavour: Flavour, card: Card | None,
    progress: Progress | None = None, cancelled: Callable[[], bool] | None = None, level: int = LEVEL,
) -> Path:  # fmt: skip
    """The plan of a decoder, with graph and plan built where they are missing."""
    tell = progress or (lambda fraction, text: None)
    stopped = cancelled or (lambda: False)

    def step(fraction: float) -> None:
        if stopped():
            raise Cancelled(f"Preparing {name} was cancelled.")
        tell(0.3 * fraction, f"preparing {name} (once)")

    graph = build_plain(weights, folder, capacity, step)
    request = build_request(name, graph, weights.config, capacity, level)
    return ensure_plan(request, flavour, card, lambda f, text: tell(0.3 + 0.7 * f, text), cancelled)
