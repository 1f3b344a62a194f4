"""Where a decoder's weights come from: one interface over GGUF files and HF safetensors folders.

Names are GGUF's short ones (``blk.3.attn_q.weight``). Q and K rows come in HF's half-split order for rotary embedding;
the llama architecture's GGUF files interleave them, which is undone here.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engines.errors import FETCH_AGAIN, ModelFileError, UnsupportedModelError
from engines.models.block_quant import EXACT_TYPES, QuantisedMatrix, from_blocks
from engines.models.decoder_config import KNOWN_ARCHITECTURES, DecoderConfig
from engines.models.gguf_file import GgufFile

Floats = NDArray[np.float32]


class DecoderWeights(Protocol):
    """A source of weights. Matrices are [rows = outputs, columns = inputs]."""

    config: DecoderConfig

    def has(self, name: str) -> bool: ...

    def vector(self, name: str) -> Floats: ...

    def matrix(self, name: str) -> Floats | QuantisedMatrix:
        """Quantised where the file is (exact values), float32 otherwise."""
        ...

    def close(self) -> None: ...


def refuse_architecture(name: str, where: str) -> UnsupportedModelError:
    known = ", ".join(f"{key} ({label})" for key, label in KNOWN_ARCHITECTURES.items())
    return UnsupportedModelError(
        f"{where} is of architecture {name!r}, which has no engine here.", f"Known architectures: {known}."
    )


class GgufWeights:
    """Weights of a GGUF file."""

    def __init__(self, path: Path) -> None:
        self.file = GgufFile(path)
        try:
            self.config = gguf_config(self.file)
        except BaseException:
            self.file.close()
            raise

    def has(self, name: str) -> bool:
        return name in self.file.tensors

    def vector(self, name: str) -> Floats:
        self._need(name)
        values = self.file.dequantised(name).reshape(-1)
        if self._interleaved(name):
            values = values[self._order(name)]
        return np.ascontiguousarray(values)

    def matrix(self, name: str) -> Floats | QuantisedMatrix:
        self._need(name)
        kind = self.file.tensors[name].type_name
        raw = self.file.raw(name)
        if self._interleaved(name):
            raw = raw[self._order(name)]
        if kind in EXACT_TYPES:
            return from_blocks(raw, kind)
        from engines.models.gguf_file import dequantise

        return np.ascontiguousarray(dequantise(raw, kind).reshape(self.file.tensors[name].shape))

    def close(self) -> None:
        self.file.close()

    def _need(self, name: str) -> None:
        if name not in self.file.tensors:
            raise ModelFileError(f"{self.file.path.name} lacks the tensor {name!r}.", FETCH_AGAIN)

    def _interleaved(self, name: str) -> bool:
        return self.config.architecture == "llama" and (".attn_q." in name or ".attn_k." in name)

    def _order(self, name: str) -> NDArray[np.int64]:
        heads = self.config.heads if ".attn_q." in name else self.config.kv_heads
        size = self.config.head_size
        return np.arange(heads * size).reshape(heads, size // 2, 2).swapaxes(1, 2).reshape(-1)


def gguf_config(file: GgufFile) -> DecoderConfig:
    """Sizes from GGUF metadata. Raises ``UnsupportedModelError`` and ``ModelFileError``."""
    architecture = file.architecture
    if architecture not in KNOWN_ARCHITECTURES:
        raise refuse_architecture(architecture, file.path.name)
    if not file.tensors:
        raise UnsupportedModelError(
            f"{file.path.name} holds a vocabulary only, no weights.", "Choose the file of a whole chat model."
        )
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise ModelFileError(f"{file.path.name} lacks the tensor 'token_embd.weight'.", FETCH_AGAIN)
    heads = int(file.number("attention.head_count"))
    hidden = int(file.number("embedding_length"))
    if heads < 1 or hidden < 1:
        raise ModelFileError(f"{file.path.name} claims {heads} heads of a width of {hidden}.", FETCH_AGAIN)
    head_size = int(file.number("attention.key_length", hidden // heads))
    scaling = file.metadata.get(f"{architecture}.rope.scaling.type", "none")
    if scaling not in ("none", ""):
        raise UnsupportedModelError(
            f"{file.path.name} uses rotary scaling {scaling!r}, which is not done here.",
            "Choose the model without context extension.",
        )
    return DecoderConfig(
        architecture=architecture,
        layers=int(file.number("block_count")),
        hidden=hidden,
        heads=heads,
        kv_heads=int(file.number("attention.head_count_kv", heads)),
        head_size=head_size,
        intermediate=int(file.number("feed_forward_length")),
        vocabulary=embedding.shape[0],
        context=int(file.number("context_length")),
        rms_epsilon=float(file.number("attention.layer_norm_rms_epsilon")),
        rope_theta=float(file.number("rope.freq_base", 10000.0)),
        rope_size=int(file.number("rope.dimension_count", head_size)),
    )


_HF_ARCHITECTURES = {"LlamaForCausalLM": "llama", "Qwen2ForCausalLM": "qwen2", "Qwen3ForCausalLM": "qwen3"}
_HF_NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_SAFE_TYPES: dict[str, tuple[Any, int]] = {"F32": (np.float32, 4), "F16": (np.float16, 2), "BF16": (np.uint16, 2)}


class SafetensorsWeights:
    """Weights of an HF folder: ``config.json`` and one or more ``*.safetensors`` files (mapped, not copied)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = hf_config(folder)
        self._where: dict[str, tuple[Path, int, int, str, tuple[int, ...]]] = {}
        for path in sorted(folder.glob("*.safetensors")):
            self._index(path)
        if not self._where:
            raise ModelFileError(f"{folder.name} holds no .safetensors file.", "Choose the whole model folder.")
        if not self.has("token_embd.weight"):
            raise ModelFileError(f"{folder.name} lacks model.embed_tokens.weight.", FETCH_AGAIN)

    def has(self, name: str) -> bool:
        return _hf_name(name) in self._where

    def vector(self, name: str) -> Floats:
        return self._read(name).reshape(-1)

    def matrix(self, name: str) -> Floats | QuantisedMatrix:
        return self._read(name)

    def close(self) -> None:
        self._where.clear()

    def _index(self, path: Path) -> None:
        size = path.stat().st_size
        try:
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if not 2 <= length <= min(size - 8, 100_000_000):
                    raise ValueError(f"a header of {length} bytes in a file of {size}")
                header = json.loads(file.read(length))
            for name, entry in header.items():
                if name == "__metadata__":
                    continue
                start, end = entry["data_offsets"]
                shape = tuple(int(n) for n in entry["shape"])
                if entry["dtype"] not in _SAFE_TYPES:
                    raise ValueError(f"tensor {name!r} is of type {entry['dtype']!r}")
                if end - start != math.prod(shape) * _SAFE_TYPES[entry["dtype"]][1] or 8 + length + end > size:
                    raise ValueError(f"tensor {name!r} does not fit the file (truncated?)")
                self._where[name] = (path, 8 + length + start, end - start, entry["dtype"], shape)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(f"{path.name} is damaged or not safetensors: {error}.", FETCH_AGAIN) from error

    def _read(self, name: str) -> Floats:
        full = _hf_name(name)
        if full not in self._where:
            raise ModelFileError(f"{self.folder.name} lacks the tensor {full!r}.", FETCH_AGAIN)
        path, offset, size, kind, shape = self._where[full]
        dtype, width = _SAFE_TYPES[kind]
        raw = np.fromfile(path, dtype, size // width, offset=offset).reshape(shape)
        if kind == "BF16":
            return np.ascontiguousarray((raw.astype(np.uint32) << 16).view(np.float32))
        return np.ascontiguousarray(raw, np.float32)


def _hf_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem.startswith("blk."):
        _, layer, part = stem.split(".")
        return f"model.layers.{layer}.{_HF_NAMES[part]}.{kind}"
    return f"{_HF_NAMES.get(stem, stem)}.{kind}"


def hf_config(folder: Path) -> DecoderConfig:
    """Sizes from ``config.json``. Raises ``UnsupportedModelError`` and ``ModelFileError``."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        names = list(config.get("architectures") or [])
        architecture = next((_HF_ARCHITECTURES[name] for name in names if name in _HF_ARCHITECTURES), None)
        if architecture is None:
            raise refuse_architecture(", ".join(map(str, names)) or "unknown", folder.name)
        scaling = config.get("rope_scaling")
        if scaling:
            raise UnsupportedModelError(
                f"{folder.name} uses rotary scaling {scaling}, which is not done here.",
                "Choose the model without context extension.",
            )
        theta = config.get("rope_theta", (config.get("rope_parameters") or {}).get("rope_theta", 10000.0))
        heads = int(config["num_attention_heads"])
        head_size = int(config.get("head_dim") or config["hidden_size"] // heads)
        return DecoderConfig(
            architecture=architecture,
            layers=int(config["num_hidden_layers"]),
            hidden=int(config["hidden_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads", heads)),
            head_size=head_size,
            intermediate=int(config["intermediate_size"]),
            vocabulary=int(config["vocab_size"]),
            context=int(config.get("max_position_embeddings", 2048)),
            rms_epsilon=float(config.get("rms_norm_eps", 1e-6)),
            rope_theta=float(theta),
            rope_size=head_size,
        )
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise ModelFileError(
            f"{folder.name}: config.json is missing or damaged ({error!r}).", "Choose the whole model folder."
        ) from error
