"""The decoder as a plain opset-17 graph for TensorRT, in every flavour: static KV cache, no vendor operators.

One run takes ``n`` new tokens against a cache of fixed capacity C. The cache is only read: the new keys and values come
out, and whoever runs the graph copies them into the cache behind it. So all layers' caches keep their addresses, a step
of one token has nothing but static shapes (it can be captured as a CUDA graph), and no flavour needs in-place updates.

Inputs, 16-bit unless said otherwise: ``embeds`` [n, hidden]; ``cos`` and ``sin`` [n, head size] (the rows of the
positions, both halves); ``mask`` [n, C + n], added to the scores (0 or ``MASKED``); per layer ``past_key_i`` and
``past_value_i`` [C, kv heads, head size]. Outputs: ``logits`` float32 [1, vocabulary] of the last token;
``best_logits`` float32 and ``best_tokens`` int32 [1, k], the k largest of them; ``logits_norm`` float32 [1, 1], their
log-sum-exp; per layer ``new_key_i`` and ``new_value_i`` [n, kv heads, head size].

Grouped queries are folded into rows (Ainslie et al. 2023, GQA), so that each product is one batched product over the
kv heads. Names of nodes that must stay in 32 bits end in ``_f32``: weakly typed builders read them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from engines.models.block_quant import QuantisedMatrix
from engines.models.decoder_weights import DecoderWeights

MASKED = -30000.0
"""What is added to the score of a key that must not be seen: far below any score, and finite in 16 bits."""
CANDIDATES = 256
"""How many of the largest logits come out on their own: sampling looks at no others."""


class PlainDecoderGraph:
    """Builds the graph layer by layer; weights go to ``data`` as they are read.

    ``half`` False makes a float32 graph of the same form, for the tests.
    """

    def __init__(self, weights: DecoderWeights, capacity: int, data: Path, *, half: bool = True) -> None:
        self._weights = weights
        self._config = weights.config
        self._capacity = capacity
        self._data = data
        self._file = data.open("wb")
        self._known: set[str] = set()
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []
        self._float = np.float16 if half else np.float32
        self._type = TensorProto.FLOAT16 if half else TensorProto.FLOAT

    def build(self, step: Callable[[float], None]) -> onnx.ModelProto:
        """The model, with external data in the file given. ``step`` gets the fraction done and may raise to cancel."""
        config = self._config
        try:
            self._constants()
            residual = self._cast("embeds", TensorProto.FLOAT, "residual_f32")
            for layer in range(config.layers):
                residual = self._layer(layer, residual)
                step((layer + 1) / (config.layers + 1))
            last = self._add("Slice", [residual, "last", "end", "first_axis"], "residual_last_f32")
            normed = self._norm(last, "output_norm.weight", "final")
            head = "output.weight" if self._weights.has("output.weight") else "token_embd.weight"
            product = self._project(normed, [head], "head")
            logits = self._cast(product, TensorProto.FLOAT, "logits")
            self._candidates(logits)
            step(1.0)
            return self._model()
        finally:
            self._file.close()

    # -- pieces --------------------------------------------------------------------------------------------------

    def _constants(self) -> None:
        config = self._config
        heads, kv, size = config.heads, config.kv_heads, config.head_size
        group = heads // kv
        for name, value in (
            ("last", [-1]), ("end", [np.iinfo(np.int64).max]), ("first_axis", [0]), ("last_axis", [-1]),
            ("query_rows", [-1, kv, group, size]), ("key_rows", [-1, kv, size]), ("row_shape", [-1, heads * size]),
            ("grouped", [kv, -1, size]),
            ("rotary_halves", [size // 2, size // 2]), ("heads_axis", [1]), ("groups_axis", [1, 2]),
            ("mask_axes", [0, 1]),
        ):  # fmt: skip
            self._constant(name, np.asarray(value, np.int64))
        self._constant("epsilon", np.asarray(config.rms_epsilon, np.float32))
        self._constant("scale", np.asarray(size**-0.5, self._float))
        self._add("Unsqueeze", ["mask", "mask_axes"], "mask_4d")
        for name in ("cos", "sin"):
            self._add("Unsqueeze", [name, "heads_axis"], f"{name}_key")
            self._add("Unsqueeze", [name, "groups_axis"], f"{name}_query")

    def _layer(self, layer: int, residual: str) -> str:
        config, prefix = self._config, f"blk.{layer}"
        normed = self._norm(residual, f"{prefix}.attn_norm.weight", f"{prefix}.attn")
        attended = self._attention(layer, normed)
        out = self._project(attended, [f"{prefix}.attn_output.weight"], f"{prefix}.attn_out")
        residual = self._join(residual, out, f"{prefix}.a")
        normed = self._norm(residual, f"{prefix}.ffn_norm.weight", f"{prefix}.ffn")
        both = self._project(normed, [f"{prefix}.ffn_gate.weight", f"{prefix}.ffn_up.weight"], f"{prefix}.gate_up")
        if "gate_up_halves" not in self._known:
            self._constant("gate_up_halves", np.asarray([config.intermediate] * 2, np.int64))
        gate, up = f"{prefix}.gate", f"{prefix}.up"
        self._node("Split", [both, "gate_up_halves"], gate, up, axis=-1)
        sigmoid = self._add("Sigmoid", [gate], f"{prefix}.sigmoid")
        silu = self._add("Mul", [gate, sigmoid], f"{prefix}.silu")
        gated = self._add("Mul", [silu, up], f"{prefix}.gated")
        out = self._project(gated, [f"{prefix}.ffn_down.weight"], f"{prefix}.ffn_out")
        return self._join(residual, out, f"{prefix}.f")

    def _join(self, residual: str, value: str, name: str) -> str:
        wide = self._cast(value, TensorProto.FLOAT, f"{name}.wide_f32")
        return self._add("Add", [residual, wide], f"{name}.sum_f32")

    def _norm(self, value: str, weight: str, name: str) -> str:
        """RMS norm (Zhang & Sennrich 2019) in 32 bits."""
        self._constant(weight, self._weights.vector(weight).astype(np.float32))
        square = self._add("Mul", [value, value], f"{name}.square_f32")
        mean = self._add("ReduceMean", [square], f"{name}.mean_f32", axes=[-1], keepdims=1)
        safe = self._add("Add", [mean, "epsilon"], f"{name}.safe_f32")
        root = self._add("Sqrt", [safe], f"{name}.root_f32")
        ratio = self._add("Div", [value, root], f"{name}.ratio_f32")
        scaled = self._add("Mul", [ratio, weight], f"{name}.scaled_f32")
        return self._cast(scaled, self._type, f"{name}.normed")

    def _attention(self, layer: int, normed: str) -> str:
        config, prefix = self._config, f"blk.{layer}"
        heads, kv, size = config.heads, config.kv_heads, config.head_size
        qkv = self._project(normed, [f"{prefix}.attn_{part}.weight" for part in "qkv"], f"{prefix}.qkv")
        if "qkv_sizes" not in self._known:
            self._constant("qkv_sizes", np.asarray([heads * size, kv * size, kv * size], np.int64))
        flat = [f"{prefix}.{part}_flat" for part in "qkv"]
        self._node("Split", [qkv, "qkv_sizes"], *flat, axis=-1)
        query = self._add("Reshape", [flat[0], "query_rows"], f"{prefix}.q")
        key = self._add("Reshape", [flat[1], "key_rows"], f"{prefix}.k")
        value = f"new_value_{layer}"
        self._add("Reshape", [flat[2], "key_rows"], value)
        if config.qk_norm:
            query, key = (
                self._norm(self._cast(x, TensorProto.FLOAT, f"{x}_wide_f32"), f"{prefix}.attn_{part}_norm.weight", x)
                for x, part in ((query, "q"), (key, "k"))
            )
        query = self._rotate(query, "query", f"{prefix}.q_rotated")
        key = self._rotate(key, "key", f"new_key_{layer}")
        query = self._add("Mul", [query, "scale"], f"{prefix}.q_scaled")
        # [n, kv, group, size] → [kv, group · n, size]
        query = self._add("Transpose", [query], f"{prefix}.q_grouped", perm=[1, 2, 0, 3])
        query = self._add("Reshape", [query, "grouped"], f"{prefix}.q_rows")
        old = self._add("Transpose", [f"past_key_{layer}"], f"{prefix}.old_keys", perm=[1, 2, 0])
        new = self._add("Transpose", [key], f"{prefix}.new_keys", perm=[1, 2, 0])
        keys = self._add("Concat", [old, new], f"{prefix}.keys", axis=2)
        scores = self._add("MatMul", [query, keys], f"{prefix}.scores")
        if "grouped_scores" not in self._known:
            self._shape_of_scores()
        scores = self._add("Reshape", [scores, "grouped_scores"], f"{prefix}.scores_4d")
        seen = self._add("Add", [scores, "mask_4d"], f"{prefix}.seen")
        wide = self._cast(seen, TensorProto.FLOAT, f"{prefix}.seen_f32")
        share = self._add("Softmax", [wide], f"{prefix}.share_f32", axis=-1)
        share = self._cast(share, self._type, f"{prefix}.share")
        share = self._add("Reshape", [share, "flat_scores"], f"{prefix}.share_rows")
        old = self._add("Transpose", [f"past_value_{layer}"], f"{prefix}.old_values", perm=[1, 0, 2])
        new = self._add("Transpose", [value], f"{prefix}.new_values", perm=[1, 0, 2])
        values = self._add("Concat", [old, new], f"{prefix}.values", axis=1)
        mixed = self._add("MatMul", [share, values], f"{prefix}.mixed")
        mixed = self._add("Reshape", [mixed, "split_groups"], f"{prefix}.mixed_4d")
        rows = self._add("Transpose", [mixed], f"{prefix}.mixed_rows", perm=[2, 0, 1, 3])
        return self._add("Reshape", [rows, "row_shape"], f"{prefix}.attended")

    def _shape_of_scores(self) -> None:
        """[kv, group, n, C + n] and [kv, group · n, C + n] as shape tensors: both lengths depend on n."""
        config = self._config
        kv, group, size = config.kv_heads, config.heads // config.kv_heads, config.head_size
        for name, value in (
            ("kv", [kv]), ("kv_group", [kv, group]), ("any_rows", [-1]),
        ):  # fmt: skip
            self._constant(name, np.asarray(value, np.int64))
        self._constant("split_groups", np.asarray([kv, group, -1, size], np.int64))
        self._add("Shape", ["mask"], "mask_shape")
        self._constant("width_index", np.asarray([1], np.int64))
        self._add("Gather", ["mask_shape", "width_index"], "width", axis=0)
        self._add("Concat", ["kv_group", "any_rows", "width"], "grouped_scores", axis=0)
        self._add("Concat", ["kv", "any_rows", "width"], "flat_scores", axis=0)
        self._known.add("grouped_scores")

    def _rotate(self, value: str, kind: str, output: str) -> str:
        """Rotary embedding (Su et al. 2021) in the half-split order."""
        first, second = f"{value}_first", f"{value}_second"
        self._node("Split", [value, "rotary_halves"], first, second, axis=-1)
        negative = self._add("Neg", [second], f"{value}_negative")
        turned = self._add("Concat", [negative, first], f"{value}_turned", axis=-1)
        straight = self._add("Mul", [value, f"cos_{kind}"], f"{value}_cos")
        across = self._add("Mul", [turned, f"sin_{kind}"], f"{value}_sin")
        return self._add("Add", [straight, across], output)

    def _project(self, value: str, names: list[str], output: str) -> str:
        weight = f"{names[0]}+" if len(names) > 1 else names[0]
        matrices = []
        for name in names:
            matrix = self._weights.matrix(name)
            matrices.append(matrix.dequantised() if isinstance(matrix, QuantisedMatrix) else matrix)
        whole = np.concatenate(matrices) if len(matrices) > 1 else matrices[0]
        self._constant(weight, np.ascontiguousarray(whole.T.astype(self._float)))
        biases = [name.replace(".weight", ".bias") for name in names]
        if not any(self._weights.has(bias) for bias in biases):
            return self._add("MatMul", [value, weight], output)
        bias = np.concatenate([self._weights.vector(name) for name in biases]).astype(self._float)
        self._constant(f"{output}.bias", bias)
        product = self._add("MatMul", [value, weight], f"{output}.product")
        return self._add("Add", [product, f"{output}.bias"], output)

    def _candidates(self, logits: str) -> None:
        count = min(CANDIDATES, self._config.vocabulary)
        self._constant("candidates", np.asarray([count], np.int64))
        self._node("TopK", [logits, "candidates"], "best_logits", "best_tokens_64", axis=-1, largest=1, sorted=1)
        self._add("Cast", ["best_tokens_64"], "best_tokens", to=TensorProto.INT32)
        self._add("Slice", ["best_logits", "zero_place", "one_place", "last_axis"], "largest_f32")
        self._constant("zero_place", np.asarray([0], np.int64))
        self._constant("one_place", np.asarray([1], np.int64))
        shifted = self._add("Sub", [logits, "largest_f32"], "shifted_f32")
        powers = self._add("Exp", [shifted], "powers_f32")
        total = self._add("ReduceSum", [powers, "last_axis"], "total_f32", keepdims=1)
        log = self._add("Log", [total], "log_total_f32")
        self._add("Add", [log, "largest_f32"], "logits_norm")

    # -- writing -------------------------------------------------------------------------------------------------

    def _cast(self, value: str, to: int, output: str) -> str:
        if self._type == TensorProto.FLOAT:  # a float32 graph has nothing to cast
            return self._add("Identity", [value], output)
        return self._add("Cast", [value], output, to=to)

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._node(kind, inputs, output, **attributes)
        return output

    def _node(self, kind: str, inputs: list[str], *outputs: str, **attributes: Any) -> None:
        self._nodes.append(helper.make_node(kind, inputs, list(outputs), name=outputs[0], **attributes))

    def _constant(self, name: str, array: NDArray[np.generic]) -> None:
        if name in self._known:
            return
        self._known.add(name)
        if array.nbytes < 1024:
            self._initializers.append(numpy_helper.from_array(array, name))
            return
        offset = (self._file.tell() + 4095) // 4096 * 4096
        self._file.seek(offset)
        self._file.write(array.tobytes())
        tensor = TensorProto(
            name=name, dims=list(array.shape), data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            data_location=TensorProto.EXTERNAL,
        )  # fmt: skip
        for key, value in (("location", self._data.name), ("offset", offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self._initializers.append(tensor)

    def _model(self) -> onnx.ModelProto:
        config, half = self._config, self._type
        kv, size, capacity = config.kv_heads, config.head_size, self._capacity
        count = min(CANDIDATES, config.vocabulary)
        info = helper.make_tensor_value_info
        inputs = [
            info("embeds", half, ["n", config.hidden]),
            info("cos", half, ["n", size]),
            info("sin", half, ["n", size]),
            info("mask", half, ["n", "width"]),
        ]
        outputs = [
            info("logits", TensorProto.FLOAT, [1, config.vocabulary]),
            info("best_logits", TensorProto.FLOAT, [1, count]),
            info("best_tokens", TensorProto.INT32, [1, count]),
            info("logits_norm", TensorProto.FLOAT, [1, 1]),
        ]
        for layer in range(config.layers):
            for part in ("key", "value"):
                inputs.append(info(f"past_{part}_{layer}", half, [capacity, kv, size]))
                outputs.append(info(f"new_{part}_{layer}", half, ["n", kv, size]))
        graph = helper.make_graph(self._nodes, "decoder", inputs, outputs, self._initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="idol")
        model.ir_version = 8
        return model


def rotary_tables(
    config: Any, capacity: int, frequencies: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosines and sines [capacity, head size], both halves alike. ``frequencies`` divides them (Llama 3's scaling)."""
    inverse = 1.0 / config.rope_theta ** (np.arange(0, config.rope_size, 2, dtype=np.float64) / config.rope_size)
    if frequencies is not None:
        inverse = inverse / frequencies.astype(np.float64)
    angles = np.arange(capacity, dtype=np.float64)[:, None] * inverse
    whole = np.concatenate([angles, angles], axis=1)
    return np.cos(whole).astype(np.float32), np.sin(whole).astype(np.float32)
