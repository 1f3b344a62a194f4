"""The keys and values of a decoder on the card: one block, and copies of what a prompt's beginning left in it.

The block is [2 · layers, kv heads, capacity + ``SCRATCH``, head size] fp16, the keys and the values of a layer one
after the other; a run's own rows stand behind the others until they are put in their place. Copies are queued on the
stream given at ``take``; nothing here waits for the card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engines.models.decoder import HeldTokens, common_length
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_layer import SCRATCH
from engines.trt.device import Device


@dataclass(frozen=True, slots=True)
class Rows:
    """One side of a copy: a block or an address, bytes from head to head, heads from plane to plane, bytes skipped."""

    block: Any
    pitch: int
    heads: int
    skip: int = 0


def cache_bytes(config: DecoderConfig, capacity: int) -> int:
    """Bytes of keys and values for a context of ``capacity`` tokens."""
    return 2 * config.layers * config.kv_heads * (capacity + SCRATCH) * config.head_size * 2


class CardCache(HeldTokens):
    """Room for ``capacity`` tokens and, with ``keep``, snapshots. ``row`` is the bytes of a token in one head."""

    def __init__(self, config: DecoderConfig, capacity: int, device: Device) -> None:
        super().__init__()
        self.capacity = capacity
        self.width = capacity + SCRATCH
        self.row = config.head_size * 2
        self._config = config
        self._device = device
        self._planes = 2 * config.layers * config.kv_heads
        self._block: Any = None
        self._stream: Any = None
        self._snapshots: list[tuple[tuple[int, ...], Any]] = []

    @property
    def nbytes(self) -> int:
        return cache_bytes(self._config, self.capacity)

    def take(self, stream: Any) -> None:
        """Take the memory and clear it. Raises ``OutOfMemory``."""
        self._block = self._device.allocate(self.nbytes)
        self._stream = stream
        self._device.cuda.memset_d8_async(int(self._block), 0, self.nbytes, stream)

    def plane(self, index: int) -> int:
        """Address of the keys or the values of a layer."""
        return int(self._block) + index * self._config.kv_heads * self.width * self.row

    def put(self, first: int, count: int) -> None:
        """Queue the move of ``count`` rows of a run, which begin at row ``first``, behind what is held."""
        self._copy_rows((self._block, self.width, first), (self._block, self.width, self.length), count)

    def reusable(self, ids: Sequence[int]) -> int:
        """How many leading ids are held here or in a snapshot."""
        return max([self.common_prefix(ids), *(common_length(known, ids) for known, _ in self._snapshots)])

    def keep(self, ids: Sequence[int], most: int) -> None:
        """Keep a copy of what is held, which are ``ids``, among at most ``most``. Raises ``OutOfMemory``."""
        kept = []
        for known, block in self._snapshots:
            if known == tuple(ids):
                block.free()
            else:
                kept.append((known, block))
        self._snapshots = kept
        block = self._device.allocate(self._planes * self.length * self.row)
        self._copy_rows((self._block, self.width, 0), (block, self.length, 0), self.length)
        kept.append((tuple(ids), block))
        while len(kept) > most:
            kept.pop(0)[1].free()

    def recall(self, ids: Sequence[int]) -> None:
        """Go back to a snapshot when it holds more of ``ids`` than what is held."""
        best = max(self._snapshots, key=lambda snapshot: common_length(snapshot[0], ids), default=None)
        if best is not None and common_length(best[0], ids) > self.common_prefix(ids):
            count = len(best[0])
            self._copy_rows((best[1], count, 0), (self._block, self.width, 0), count)
            self.ids[:] = best[0]

    def drop_snapshots(self) -> bool:
        """Give the snapshots' memory back. False when there were none."""
        dropped, self._snapshots = self._snapshots, []
        for _, block in dropped:
            block.free()
        return bool(dropped)

    def copy(self, source: Rows, target: Rows, count: int, layers: int) -> None:
        """Queue the copy of ``count`` token rows of every head; keys and values of a layer are two of ``layers``."""
        copy = self._device.cuda.Memcpy3D()
        copy.set_src_device(source.block)
        copy.src_pitch, copy.src_height, copy.src_x_in_bytes = source.pitch, source.heads, source.skip
        copy.set_dst_device(target.block)
        copy.dst_pitch, copy.dst_height, copy.dst_x_in_bytes = target.pitch, target.heads, target.skip
        copy.width_in_bytes, copy.height, copy.depth = count * self.row, self._config.kv_heads, layers
        copy(self._stream)

    def close(self) -> None:
        """Give everything back; ``take`` begins anew."""
        self.drop_snapshots()
        if self._block is not None:
            self._block.free()
        self._block = self._stream = None
        self.reset()

    def _copy_rows(self, source: tuple[Any, int, int], target: tuple[Any, int, int], count: int) -> None:
        """Copy ``count`` token rows of every head of every layer. ``source`` and ``target``: block, rows per plane,
        rows to skip in each."""
        first, second = (
            Rows(block, rows * self.row, self._config.kv_heads, skip * self.row)
            for block, rows, skip in (source, target)
        )
        self.copy(first, second, count, 2 * self._config.layers)
