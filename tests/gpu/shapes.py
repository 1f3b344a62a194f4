"""Weights of a shape alone: a Llama-2-7B-sized decoder whose numbers are random, for timing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_store import WeightStore

LLAMA_7B = DecoderConfig(
    architecture="llama", layers=32, hidden=4096, heads=32, kv_heads=32, head_size=128, intermediate=11008,
    vocabulary=32000, context=4096, rms_epsilon=1e-5, rope_theta=10000.0, rope_size=128,
)  # fmt: skip
_POOL = 64 << 20


class RandomStore(WeightStore):
    """Weights of any shape made on the card. Small values, so that 16 bits neither overflow nor lose them."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__(config, Path())
        self._norms = [key for key in self.offsets if key[1].endswith("_norm")]
        self._hidden = config.hidden

    def upload(self, block: Any, device: Any, step: Any = None) -> None:
        cuda = device.cuda
        pool = (np.random.default_rng(0).standard_normal(_POOL // 2) * 0.02).astype(np.float16)
        for first in range(0, self.nbytes, _POOL):
            size = min(_POOL, self.nbytes - first)
            if first == 0:
                cuda.memcpy_htod(int(block), pool.view(np.uint8)[:size])
            else:
                cuda.memcpy_dtod(int(block) + first, int(block), size)
        ones = np.ones(self._hidden, np.float32)
        for key in self._norms:
            cuda.memcpy_htod(int(block) + self.offsets[key], ones)


class RandomEmbedding:
    """Rows for token ids, without a file."""

    def __init__(self, config: DecoderConfig) -> None:
        self._rows = (np.random.default_rng(1).standard_normal((256, config.hidden)) * 0.02).astype(np.float32)

    def rows(self, ids: list[int]) -> NDArray[np.float32]:
        return self._rows[np.asarray(ids) % 256]
