"""A decoder's layer and its head as plain opset-17 graphs for TensorRT, in every flavour; weights are inputs.

All layers of a decoder are alike but for their weights. So one small engine is built for a layer and one for the head,
and a step runs the first once per layer with other addresses. A build takes seconds instead of minutes, serves every
model of the same sizes, and one copy of the weights serves decoding and prefilling; captured as a CUDA graph, a step
costs what one engine of all layers costs.

A run takes ``n`` new tokens against a cache of fixed capacity C. The cache is only read: the new keys and values come
out, and whoever runs the graph copies them into the cache behind it. For one token there is a graph of its own: what
reorders rows is nothing there, and such a step is bound by the number of its kernels, not by what they compute.

Layer, 16-bit unless said otherwise: ``x`` float32 [n, hidden]; ``cos`` and ``sin`` [n, head size] (the rows of the
positions, both halves, times ``rotary_scale``: so queries and keys come out scaled for their product); ``mask``
[n, C + n], added to the scores (0 or ``MASKED``); ``past_key`` and ``past_value`` [kv heads, C, head size]; the weights
(``layer_weights``). Out: ``y`` float32 [n, hidden]; ``new_key`` and ``new_value`` [kv heads, n, head size].

Head: ``last`` float32 [1, hidden] and its weights (``head_weights``). Out: ``logits`` float32 [1, vocabulary];
``best_logits`` float32 and ``best_tokens`` int32 [1, k], the k largest of them.

Grouped queries are folded into rows (Ainslie et al. 2023, GQA), so that each product is one batched product over the
kv heads. The rotary embedding (Su et al. 2021) of a projection needs it with its halves exchanged as well; that is a
projection by turned weights, and costs a product instead of four copies. Names of nodes that must stay in 32 bits end
in ``_f32``: weakly typed builders read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from engines.models.block_quant import QuantisedMatrix
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_weights import DecoderWeights

MASKED = -30000.0
"""What is added to the score of a key that must not be seen: far below any score, and finite in 16 bits."""
CANDIDATES = 256
"""How many of the largest logits come out on their own: sampling looks at no others."""


@dataclass(frozen=True, slots=True)
class WeightSpec:
    """One weight of a layer or the head: its input's name, shape, type, and the file's tensors it is stacked from.

    ``{}`` in a source stands for the layer's prefix. Matrices are [outputs, inputs], as files keep them. ``turned``:
    half a head's rows; of each head the halves are exchanged, the one that comes first negated (``signed``).
    """

    name: str
    shape: tuple[int, ...]
    half: bool
    sources: tuple[str, ...]
    turned: int = 0
    signed: bool = True

    @property
    def dtype(self) -> type[np.generic]:
        return np.float16 if self.half else np.float32

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * (2 if self.half else 4)

    def read(self, weights: DecoderWeights, prefix: str) -> NDArray[np.generic]:
        """The weight in the graph's type, from the model file."""
        parts = []
        for source in self.sources:
            name = source.format(prefix)
            if len(self.shape) == 1:
                parts.append(weights.vector(name))
                continue
            matrix = weights.matrix(name)
            parts.append(matrix.dequantised() if isinstance(matrix, QuantisedMatrix) else matrix)
        whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
        if self.turned:
            halves = whole.reshape(-1, 2, self.turned, *whole.shape[1:])
            second = -halves[:, 1] if self.signed else halves[:, 1]
            whole = np.stack([second, halves[:, 0]], axis=1)
        return np.ascontiguousarray(whole.reshape(self.shape).astype(self.dtype))


def layer_weights(config: DecoderConfig) -> tuple[WeightSpec, ...]:
    """What a layer takes beside its activations, in the order in which it is kept."""
    hidden, size = config.hidden, config.head_size
    queries, keys = config.heads * size, config.kv_heads * size
    rows, half = queries + keys, size // 2
    qk, qk_bias = (tuple(f"{{}}.attn_{part}.{kind}" for part in "qk") for kind in ("weight", "bias"))
    found = [
        WeightSpec("attn_norm", (hidden,), False, ("{}.attn_norm.weight",)),
        WeightSpec("qk", (rows, hidden), True, qk),
        WeightSpec("qk_turned", (rows, hidden), True, qk, half),
        WeightSpec("v", (keys, hidden), True, ("{}.attn_v.weight",)),
        WeightSpec("attn_output", (hidden, queries), True, ("{}.attn_output.weight",)),
        WeightSpec("ffn_norm", (hidden,), False, ("{}.ffn_norm.weight",)),
        WeightSpec("gate", (config.intermediate, hidden), True, ("{}.ffn_gate.weight",)),
        WeightSpec("up", (config.intermediate, hidden), True, ("{}.ffn_up.weight",)),
        WeightSpec("down", (hidden, config.intermediate), True, ("{}.ffn_down.weight",)),
    ]
    if config.attention_bias:
        found += [
            WeightSpec("qk_bias", (rows,), True, qk_bias),
            WeightSpec("qk_turned_bias", (rows,), True, qk_bias, half),
            WeightSpec("v_bias", (keys,), True, ("{}.attn_v.bias",)),
        ]
    if config.qk_norm:
        for part in "qk":
            source = (f"{{}}.attn_{part}_norm.weight",)
            found.append(WeightSpec(f"{part}_norm", (size,), False, source))
            found.append(WeightSpec(f"{part}_norm_turned", (size,), False, source, half, signed=False))
    return tuple(found)


def head_weights(config: DecoderConfig, tied: bool) -> tuple[WeightSpec, ...]:
    """What the head takes; ``tied`` when the embedding table is its matrix."""
    source = "token_embd.weight" if tied else "output.weight"
    return (
        WeightSpec("output_norm", (config.hidden,), False, ("output_norm.weight",)),
        WeightSpec("output", (config.vocabulary, config.hidden), True, (source,)),
    )


class _Graph:
    """Nodes and constants being collected. ``half`` False makes a float32 graph of the same form, for references."""

    def __init__(self, config: DecoderConfig, capacity: int, half: bool) -> None:
        self._config = config
        self._capacity = capacity
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []
        self._known: set[str] = set()
        self._type = TensorProto.FLOAT16 if half else TensorProto.FLOAT
        self._float = np.float16 if half else np.float32
        self._constant("epsilon", np.asarray(config.rms_epsilon, np.float32))

    def model(self, name: str, inputs: list[Any], outputs: list[Any]) -> onnx.ModelProto:
        graph = helper.make_graph(self._nodes, name, inputs, outputs, self._initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="idol")
        model.ir_version = 8
        return model

    def weight_inputs(self, specs: tuple[WeightSpec, ...]) -> list[Any]:
        return [
            helper.make_tensor_value_info(spec.name, self._type if spec.half else TensorProto.FLOAT, list(spec.shape))
            for spec in specs
        ]

    def norm(self, value: str, weight: str, name: str) -> str:
        """RMS norm (Zhang & Sennrich 2019) in 32 bits."""
        square = self.add("Mul", [value, value], f"{name}.square_f32")
        mean = self.add("ReduceMean", [square], f"{name}.mean_f32", axes=[-1], keepdims=1)
        safe = self.add("Add", [mean, "epsilon"], f"{name}.safe_f32")
        root = self.add("Sqrt", [safe], f"{name}.root_f32")
        ratio = self.add("Div", [value, root], f"{name}.ratio_f32")
        scaled = self.add("Mul", [ratio, weight], f"{name}.scaled_f32")
        return self.cast(scaled, self._type, f"{name}.normed")

    def project(self, value: str, weight: str, output: str, bias: str = "") -> str:
        return self.add("Gemm", [value, weight, bias] if bias else [value, weight], output, transB=1)

    def cast(self, value: str, to: int, output: str) -> str:
        if self._type == TensorProto.FLOAT:  # a float32 graph has nothing to cast
            return self.add("Identity", [value], output)
        return self.add("Cast", [value], output, to=to)

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.node(kind, inputs, output, **attributes)
        return output

    def node(self, kind: str, inputs: list[str], *outputs: str, **attributes: Any) -> None:
        self._nodes.append(helper.make_node(kind, inputs, list(outputs), name=outputs[0], **attributes))

    def _constant(self, name: str, array: NDArray[np.generic]) -> None:
        if name not in self._known:
            self._known.add(name)
            self._initializers.append(numpy_helper.from_array(array, name))


class _Layer(_Graph):
    """``one`` token, or any number of them."""

    def build(self, one: bool) -> onnx.ModelProto:
        config, half = self._config, self._type
        self._constants(one)
        normed = self.norm("x", "attn_norm", "attn")
        attended = (self._attend_one if one else self._attend)(normed)
        residual = self._join("x", self.project(attended, "attn_output", "attn_out"), "attn_sum_f32")
        normed = self.norm(residual, "ffn_norm", "ffn")
        gate, up = self.project(normed, "gate", "gate_out"), self.project(normed, "up", "up_out")
        sigmoid = self.add("Sigmoid", [gate], "sigmoid")
        silu = self.add("Mul", [gate, sigmoid], "silu")
        gated = self.add("Mul", [silu, up], "gated")
        self._join(residual, self.project(gated, "down", "ffn_out"), "y")
        info = helper.make_tensor_value_info
        n: str | int = 1 if one else "n"
        cache = [config.kv_heads, self._capacity, config.head_size]
        new: list[str | int | None] = [config.kv_heads, n, config.head_size]
        inputs = [
            info("x", TensorProto.FLOAT, [n, config.hidden]),
            info("cos", half, [n, config.head_size]),
            info("sin", half, [n, config.head_size]),
            info("mask", half, [n, self._capacity + 1 if one else "width"]),
            info("past_key", half, cache),
            info("past_value", half, cache),
            *self.weight_inputs(layer_weights(config)),
        ]
        outputs = [
            info("y", TensorProto.FLOAT, [n, config.hidden]), info("new_key", half, new), info("new_value", half, new)
        ]  # fmt: skip
        return self.model("layer", inputs, outputs)

    def _constants(self, one: bool) -> None:
        config = self._config
        heads, kv, size = config.heads, config.kv_heads, config.head_size
        group = heads // kv
        shared = {
            "head_rows": [-1, heads + kv, size], "heads_of": [heads, kv], "row_shape": [-1, heads * size],
            "kept": [self._capacity, 1], "key_rows": [-1, kv, size],
        }  # fmt: skip
        many = {
            "query_rows": [-1, kv, group, size], "grouped": [kv, -1, size], "heads_axis": [1], "mask_axes": [0, 1],
            "kv_group": [kv, group], "kv": [kv], "any_rows": [-1], "split_groups": [kv, group, -1, size],
            "row_index": [0], "zero": [0], "last_axis": [-1], "old_end": [self._capacity],
            "far_end": [np.iinfo(np.int64).max], "old_scores": [kv, group, -1, self._capacity],
            "old_shares": [kv, -1, self._capacity],
        }  # fmt: skip
        single = {"single_query": [kv, group, size], "single_row": [kv, 1, size], "single_head": [1, heads * size]}
        for name, value in (shared | (single if one else many)).items():
            self._constant(name, np.asarray(value, np.int64))

    def _join(self, residual: str, value: str, output: str) -> str:
        wide = self.cast(value, TensorProto.FLOAT, f"{output}.wide_f32")
        self._nodes.append(
            helper.make_node("Add", [residual, wide], [output], name=f"{output.removesuffix('_f32')}_f32")
        )
        return output

    def _rotated(self, normed: str, cos: str, sin: str) -> tuple[str, str]:
        """Queries [n, heads, head size] and keys [n, kv heads, head size], rotated."""
        config = self._config
        parts = []
        for name, factor in (("qk", cos), ("qk_turned", sin)):
            bias = f"{name}_bias" if config.attention_bias else ""
            flat = self.project(normed, name, f"{name}_flat", bias)
            rows = self.add("Reshape", [flat, "head_rows"], f"{name}_rows")
            if config.qk_norm:
                rows = self._normed_heads(rows, name.removeprefix("qk"))
            parts.append(self.add("Mul", [rows, factor], f"{name}_part"))
        self.node("Split", [self.add("Add", parts, "qk_rotated"), "heads_of"], "q", "k", axis=1)
        return "q", "k"

    def _normed_heads(self, rows: str, suffix: str) -> str:
        """Queries and keys each normed by head, as Qwen3 has them."""
        self.node("Split", [rows, "heads_of"], f"{rows}_q", f"{rows}_k", axis=1)
        wide = {part: self.cast(f"{rows}_{part}", TensorProto.FLOAT, f"{rows}_{part}_wide_f32") for part in "qk"}
        normed = [self.norm(wide[part], f"{part}_norm{suffix}", f"{rows}_{part}") for part in "qk"]
        return self.add("Concat", normed, f"{rows}_normed", axis=1)

    def _value(self, normed: str) -> str:
        return self.project(normed, "v", "v_flat", "v_bias" if self._config.attention_bias else "")

    def _attend_one(self, normed: str) -> str:
        query, key = self._rotated(normed, "cos", "sin")
        query = self.add("Reshape", [query, "single_query"], "q_rows")
        key = self.add("Reshape", [key, "single_row"], "new_key")
        value = self.add("Reshape", [self._value(normed), "single_row"], "new_value")
        scores = []
        for age, keys in (("old", "past_key"), ("new", key)):
            turned = self.add("Transpose", [keys], f"{age}_keys", perm=[0, 2, 1])
            scores.append(self.add("MatMul", [query, turned], f"{age}_scores"))
        seen = self.add("Add", [self.add("Concat", scores, "scores", axis=2), "mask"], "seen")
        self.node("Split", [self.add("Softmax", [seen], "share", axis=-1), "kept"], "old_share", "new_share", axis=2)
        old = self.add("MatMul", ["old_share", "past_value"], "old_mixed")
        mixed = self.add("Add", [old, self.add("Mul", ["new_share", value], "new_mixed")], "mixed")
        return self.add("Reshape", [mixed, "single_head"], "attended")

    def _attend(self, normed: str) -> str:
        self.add("Unsqueeze", ["mask", "mask_axes"], "mask_4d")
        for name in ("cos", "sin"):
            self.add("Unsqueeze", [name, "heads_axis"], f"{name}_heads")
        # [kv, group, n, n] and [kv, group · n, n] as shape tensors: two sizes depend on n.
        self.add("Shape", ["mask"], "mask_shape")
        self.add("Gather", ["mask_shape", "row_index"], "rows", axis=0)
        self.add("Concat", ["kv_group", "any_rows", "rows"], "new_scores", axis=0)
        self.add("Concat", ["kv", "any_rows", "rows"], "new_shares", axis=0)
        query, key = self._rotated(normed, "cos_heads", "sin_heads")
        value = self.add("Reshape", [self._value(normed), "key_rows"], "v_rows")
        key = self.add("Transpose", [key], "new_key", perm=[1, 0, 2])
        value = self.add("Transpose", [value], "new_value", perm=[1, 0, 2])
        # [n, kv, group, size] → [kv, group · n, size]
        query = self.add("Reshape", [query, "query_rows"], "q_heads")
        query = self.add("Transpose", [query], "q_grouped", perm=[1, 2, 0, 3])
        query = self.add("Reshape", [query, "grouped"], "q_rows")
        # The cache is read where it lies: only scores of old and new keys are put side by side.
        scores = []
        for age, keys in (("old", "past_key"), ("new", key)):
            turned = self.add("Transpose", [keys], f"{age}_keys", perm=[0, 2, 1])
            product = self.add("MatMul", [query, turned], f"{age}_product")
            scores.append(self.add("Reshape", [product, f"{age}_scores"], f"{age}_scores_4d"))
        seen = self.add("Add", [self.add("Concat", scores, "scores", axis=3), "mask_4d"], "seen")
        share = self.add("Softmax", [seen], "share", axis=-1)
        mixed = []
        for age, first, end, values in (
            ("old", "zero", "old_end", "past_value"), ("new", "old_end", "far_end", value)
        ):  # fmt: skip
            part = self.add("Slice", [share, first, end, "last_axis"], f"{age}_share")
            rows = self.add("Reshape", [part, f"{age}_shares"], f"{age}_share_rows")
            mixed.append(self.add("MatMul", [rows, values], f"{age}_mixed"))
        both = self.add("Reshape", [self.add("Add", mixed, "mixed"), "split_groups"], "mixed_4d")
        rows = self.add("Transpose", [both], "mixed_rows", perm=[2, 0, 1, 3])
        return self.add("Reshape", [rows, "row_shape"], "attended")


class _Head(_Graph):
    def build(self) -> onnx.ModelProto:
        config = self._config
        count = min(CANDIDATES, config.vocabulary)
        normed = self.norm("last", "output_norm", "final")
        self.cast(self.project(normed, "output", "product"), TensorProto.FLOAT, "logits")
        self._constant("candidates", np.asarray([count], np.int64))
        self.node("TopK", ["logits", "candidates"], "best_logits", "best_tokens_64", axis=-1, largest=1, sorted=1)
        self.add("Cast", ["best_tokens_64"], "best_tokens", to=TensorProto.INT32)
        info = helper.make_tensor_value_info
        inputs = [
            info("last", TensorProto.FLOAT, [1, config.hidden]), *self.weight_inputs(head_weights(config, tied=True))
        ]  # fmt: skip
        outputs = [
            info("logits", TensorProto.FLOAT, [1, config.vocabulary]),
            info("best_logits", TensorProto.FLOAT, [1, count]),
            info("best_tokens", TensorProto.INT32, [1, count]),
        ]
        return self.model("head", inputs, outputs)


def layer_graph(config: DecoderConfig, capacity: int, *, one: bool = False, half: bool = True) -> onnx.ModelProto:
    """One layer against a cache of ``capacity`` tokens, for ``one`` new token or for any number."""
    return _Layer(config, capacity, half).build(one)


def rotary_scale(head_size: int) -> float:
    """What the rotary tables are multiplied by: squared, the scale of attention's scores."""
    return float(head_size**-0.25)


def head_graph(config: DecoderConfig, *, half: bool = True) -> onnx.ModelProto:
    """From the last token's residual to its logits and candidates."""
    return _Head(config, 0, half).build()


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
