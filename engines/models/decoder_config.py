"""What a decoder model is: sizes, rotary constants, special tokens, chat template. One form for GGUF and HF folders."""

from __future__ import annotations

from dataclasses import dataclass

KNOWN_ARCHITECTURES: dict[str, str] = {"llama": "Llama", "qwen2": "Qwen2 / Qwen2.5", "qwen3": "Qwen3"}
"""Architecture names as GGUF spells them, and how people know them."""


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Sizes in elements; ``rope_theta`` as in RoFormer; ``context`` is what the model was trained for, in tokens."""

    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int
    context: int
    rms_epsilon: float
    rope_theta: float
    rope_size: int

    @property
    def attention_bias(self) -> bool:
        """Qwen2 adds a bias to q, k and v."""
        return self.architecture == "qwen2"

    @property
    def qk_norm(self) -> bool:
        """Qwen3 normalises each head of q and k before the rotation."""
        return self.architecture == "qwen3"
