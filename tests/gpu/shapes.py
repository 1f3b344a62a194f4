"""Weights of a shape alone: a Llama-2-7B-sized decoder whose numbers are random, for timing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engines.models.decoder_config import DecoderConfig

LLAMA_7B = DecoderConfig(
    architecture="llama", layers=32, hidden=4096, heads=32, kv_heads=32, head_size=128, intermediate=11008,
    vocabulary=32000, context=4096, rms_epsilon=1e-5, rope_theta=10000.0, rope_size=128,
)  # fmt: skip


class RandomWeights:
    """``DecoderWeights`` of any shape. Small values, so that 16 bits neither overflow nor lose them."""

    def __init__(self, config: DecoderConfig) -> None:
        self.config = config
        self._pool = (np.random.default_rng(0).standard_normal(1 << 22) * 0.02).astype(np.float32)

    def has(self, name: str) -> bool:
        return name == "output.weight" or (name.endswith(".bias") and self.config.attention_bias and "attn_" in name)

    def vector(self, name: str) -> NDArray[np.float32]:
        if name.endswith(".bias"):
            rows = self.config.heads if "attn_q" in name else self.config.kv_heads
            return np.zeros(rows * self.config.head_size, np.float32)
        return np.ones(self.config.hidden, np.float32)

    def matrix(self, name: str) -> NDArray[np.float32]:
        c = self.config
        kind = name.split(".")[-2]
        shape = {
            "attn_q": (c.heads * c.head_size, c.hidden), "attn_k": (c.kv_heads * c.head_size, c.hidden),
            "attn_v": (c.kv_heads * c.head_size, c.hidden), "attn_output": (c.hidden, c.heads * c.head_size),
            "ffn_gate": (c.intermediate, c.hidden), "ffn_up": (c.intermediate, c.hidden),
            "ffn_down": (c.hidden, c.intermediate), "output": (c.vocabulary, c.hidden),
            "token_embd": (c.vocabulary, c.hidden),
        }[kind]  # fmt: skip
        count = shape[0] * shape[1]
        return np.resize(self._pool, count).reshape(shape)

    def close(self) -> None: ...


class RandomEmbedding:
    """Rows for token ids, without a file."""

    def __init__(self, config: DecoderConfig) -> None:
        self._rows = (np.random.default_rng(1).standard_normal((256, config.hidden)) * 0.02).astype(np.float32)

    def rows(self, ids: list[int]) -> NDArray[np.float32]:
        return self._rows[np.asarray(ids) % 256]
