"""Sizes of a published model of each decoder family.

They stand for a family in build checks where no model of it is on the machine: TensorRT's graphs depend on sizes alone.
"""

from __future__ import annotations

from engines.models.decoder_config import DecoderConfig

PUBLISHED: dict[str, tuple[str, DecoderConfig]] = {
    "llama": (
        "SmolLM2-135M",
        DecoderConfig(
            architecture="llama", layers=30, hidden=576, heads=9, kv_heads=3, head_size=64, intermediate=1536,
            vocabulary=49152, context=8192, rms_epsilon=1e-5, rope_theta=1e5, rope_size=64,
        ),
    ),
    "qwen2": (
        "Qwen2.5-0.5B",
        DecoderConfig(
            architecture="qwen2", layers=24, hidden=896, heads=14, kv_heads=2, head_size=64, intermediate=4864,
            vocabulary=151936, context=32768, rms_epsilon=1e-6, rope_theta=1e6, rope_size=64,
        ),
    ),
    "qwen3": (
        "Qwen3-0.6B",
        DecoderConfig(
            architecture="qwen3", layers=28, hidden=1024, heads=16, kv_heads=8, head_size=128, intermediate=3072,
            vocabulary=151936, context=40960, rms_epsilon=1e-6, rope_theta=1e6, rope_size=128,
        ),
    ),
}  # fmt: skip
"""By architecture: the model's name and its sizes, from the ``config.json`` its makers published."""
