"""A decoder of a family in miniature: its real layers and head sizes, few and narrow, with random weights.

It stands for a family in build checks where no model of that family is on the machine; it says nothing sensible.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from engines.models.decoder_config import KNOWN_ARCHITECTURES, DecoderConfig
from engines.models.decoder_weights import refuse_architecture

_HEAD_SIZES = {"qwen3": 128}
"""Of the families' published models; 64 in the small ones of the others."""


def miniature_config(architecture: str) -> DecoderConfig:
    """Two layers, grouped queries 4 : 2, 512 tokens of vocabulary. Raises ``UnsupportedModelError``."""
    if architecture not in KNOWN_ARCHITECTURES:
        raise refuse_architecture(architecture, "miniature")
    size = _HEAD_SIZES.get(architecture, 64)
    return DecoderConfig(
        architecture=architecture, layers=2, hidden=256, heads=4, kv_heads=2, head_size=size, intermediate=512,
        vocabulary=512, context=256, rms_epsilon=1e-6, rope_theta=1e6, rope_size=size,
    )  # fmt: skip


class MiniatureWeights:
    """Implements ``DecoderWeights``; the same numbers every time."""

    def __init__(self, architecture: str) -> None:
        self.config = miniature_config(architecture)

    def has(self, name: str) -> bool:
        kind = name.rpartition(".")[0].rpartition(".")[2]
        if name.endswith(".bias"):
            return self.config.attention_bias and kind in ("attn_q", "attn_k", "attn_v")
        if kind in ("attn_q_norm", "attn_k_norm"):
            return self.config.qk_norm
        return name != "output.weight" and name != "rope_freqs.weight"  # the head shares the embedding's table

    def vector(self, name: str) -> NDArray[np.float32]:
        kind = name.rpartition(".")[0].rpartition(".")[2]
        if name.endswith(".bias"):
            return self._random(name, (self._heads(kind) * self.config.head_size,))
        width = self.config.head_size if kind in ("attn_q_norm", "attn_k_norm") else self.config.hidden
        return np.float32(1) + self._random(name, (width,))

    def matrix(self, name: str) -> NDArray[np.float32]:
        config = self.config
        kind = name.rpartition(".")[0].rpartition(".")[2]
        inner = config.heads * config.head_size
        shapes = {
            "attn_output": (config.hidden, inner), "ffn_gate": (config.intermediate, config.hidden),
            "ffn_up": (config.intermediate, config.hidden), "ffn_down": (config.hidden, config.intermediate),
            "token_embd": (config.vocabulary, config.hidden),
        }  # fmt: skip
        shape = shapes.get(kind) or (self._heads(kind) * config.head_size, config.hidden)
        return self._random(name, shape)

    def close(self) -> None: ...

    def _heads(self, kind: str) -> int:
        return self.config.heads if kind == "attn_q" else self.config.kv_heads

    def _random(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        return (generator.standard_normal(shape) * 0.05).astype(np.float32)
