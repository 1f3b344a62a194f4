"""A decoder's layer, in two halves, and its head as plain opset-17 graphs for TensorRT; weights are inputs.

All layers of a decoder are alike but for their weights. So one small engine is built for each half of a layer and one
for the head, and a step runs the first two once per layer with other addresses. A build takes seconds instead of
minutes, serves every model of the same sizes, and one copy of the weights serves decoding and prefilling; captured as a
CUDA graph, a step costs what one engine of all layers costs.

A run takes ``n`` new tokens. The cache of one layer holds W = C + ``SCRATCH`` rows a head: C for the tokens so far, the
others for the tokens of the run. Between the halves whoever runs them copies the new keys and values there, so that
attention reads one block; afterwards it copies them behind the others. For one token there are graphs of their own:
what reorders rows is nothing there, and such a step is bound by the number of its kernels, not by what they compute.

Shapes, 16-bit unless said otherwise; G = heads / kv heads. ``project``: ``x`` float32 [n, hidden]; ``cos`` and ``sin``
[n, head size] (the rows of the positions, both halves, times ``rotary_scale``: so queries and keys come out scaled for
their product). Out: ``query`` [kv heads, G · n, head size]; ``new_key`` and ``new_value`` [kv heads, n, head size].
For one token ``cos`` and ``sin`` have a row for every head of queries, keys and values, ones and zeros for the last,
and what comes out is one tensor ``qkv_rows`` [heads + 2 · kv heads, head size], which begins with ``query``: a copy
that takes a tensor apart is a kernel. ``attend``: ``x`` and ``query``; ``mask`` [n, W], added to the scores (0 or
``MASKED``); ``key`` and ``value`` [kv heads, W, head size]. Out: ``y`` float32 [n, hidden]. Both take the weights of
``layer_weights`` that they use.

Head: ``last`` float32 [1, hidden] and its weights (``head_weights``). Out: ``logits`` float32 [1, vocabulary];
``best_logits`` float32 and ``best_tokens`` int32 [1, k], the k largest of them: the largest of all for certain, of
every hundred tokens or so (those whose numbers leave the same rest) at most ``_OF_A_GROUP``.

Grouped queries are folded into rows (Ainslie et al. 2023, GQA), so that each product is one batched product over the
kv heads. What has the same factor is one product: queries, keys and values; the gate and what it gates. The rotary
embedding (Su et al. 2021) needs each head with its halves exchanged and one of them negated: a product with a
constant matrix, exact and one kernel instead of four. Names of nodes that must stay in 32 bits end in
``_f32``: weakly typed builders read them.
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
SCRATCH = 64
"""Rows of a cache for the tokens of one run, and so the most tokens of one."""
CANDIDATES = 256
"""How many of the largest logits come out on their own: sampling looks at no others."""
_GROUP, _OF_A_GROUP = 128, 8
"""The largest are sought in groups of tokens first: one search through a vocabulary takes longer than all else of the
head. With a thousand groups, more than eight of the 256 in one are a matter of 1 in 10¹²."""


@dataclass(frozen=True, slots=True)
class WeightSpec:
    """One weight of a layer or the head: its input's name, shape, type, and the file's tensors it is stacked from.

    ``{}`` in a source stands for the layer's prefix. Matrices are [outputs, inputs], as files keep them.
    """

    name: str
    shape: tuple[int, ...]
    half: bool
    sources: tuple[str, ...]

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
        return np.ascontiguousarray(whole.reshape(self.shape).astype(self.dtype))


def layer_weights(config: DecoderConfig) -> tuple[WeightSpec, ...]:
    """What a layer takes beside its activations, in the order in which it is kept."""
    hidden, size = config.hidden, config.head_size
    queries, keys = config.heads * size, config.kv_heads * size
    qkv = tuple(f"{{}}.attn_{part}" for part in "qkv")
    found = [
        WeightSpec("attn_norm", (hidden,), False, ("{}.attn_norm.weight",)),
        WeightSpec("qkv", (queries + 2 * keys, hidden), True, tuple(f"{part}.weight" for part in qkv)),
        WeightSpec("attn_output", (hidden, queries), True, ("{}.attn_output.weight",)),
        WeightSpec("ffn_norm", (hidden,), False, ("{}.ffn_norm.weight",)),
        WeightSpec("gate_up", (2 * config.intermediate, hidden), True, ("{}.ffn_gate.weight", "{}.ffn_up.weight")),
        WeightSpec("down", (hidden, config.intermediate), True, ("{}.ffn_down.weight",)),
    ]
    if config.attention_bias:
        found.append(WeightSpec("qkv_bias", (queries + 2 * keys,), True, tuple(f"{part}.bias" for part in qkv)))
    if config.qk_norm:
        found += [WeightSpec(f"{part}_norm", (size,), False, (f"{{}}.attn_{part}_norm.weight",)) for part in "qk"]
    return tuple(found)


def head_weights(config: DecoderConfig, tied: bool) -> tuple[WeightSpec, ...]:
    """What the head takes; ``tied`` when the embedding table is its matrix."""
    source = "token_embd.weight" if tied else "output.weight"
    return (
        WeightSpec("output_norm", (config.hidden,), False, ("output_norm.weight",)),
        WeightSpec("output", (config.vocabulary, config.hidden), True, (source,)),
    )


_PROJECTING = ("attn_norm", "qkv", "qkv_bias", "q_norm", "k_norm")


def project_weights(config: DecoderConfig) -> tuple[WeightSpec, ...]:
    """What the first half of a layer takes."""
    return tuple(spec for spec in layer_weights(config) if spec.name in _PROJECTING)


def attend_weights(config: DecoderConfig) -> tuple[WeightSpec, ...]:
    """What the second half takes."""
    return tuple(spec for spec in layer_weights(config) if spec.name not in _PROJECTING)


class _Graph:
    """Nodes and constants being collected. ``half`` False makes a float32 graph of the same form, for references."""

    def __init__(self, config: DecoderConfig, half: bool) -> None:
        self._config = config
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


class _Project(_Graph):
    """The first half of a layer: norm, projections, rotation."""

    def build(self, one: bool) -> onnx.ModelProto:
        config = self._config
        self._constant("turn", _turn(config.head_size).astype(self._float))
        normed = self.norm("x", "attn_norm", "attn")
        whole = self.project(normed, "qkv", "qkv_flat", "qkv_bias" if config.attention_bias else "")
        return self._one(whole) if one else self._many(whole)

    def _one(self, whole: str) -> onnx.ModelProto:
        config, half = self._config, self._type
        size, heads = config.head_size, config.heads + 2 * config.kv_heads
        self._constant("rows_of_heads", np.asarray([heads, size], np.int64))
        rows = self.add("Reshape", [whole, "rows_of_heads"], "rows")
        if config.qk_norm:
            self._constant("heads_of", np.asarray([config.heads, config.kv_heads, config.kv_heads], np.int64))
            self.node("Split", [rows, "heads_of"], "q_raw", "k_raw", "v_raw", axis=0)
            rows = self.add("Concat", [*self._normed_heads(), "v_raw"], "rows_normed", axis=0)
        turned = self.add("MatMul", [rows, "turn"], "turned")
        straight, across = self.add("Mul", [rows, "cos"], "straight"), self.add("Mul", [turned, "sin"], "across")
        self.add("Add", [straight, across], "qkv_rows")
        info = helper.make_tensor_value_info
        inputs = [
            info("x", TensorProto.FLOAT, [1, config.hidden]),
            info("cos", half, [heads, size]), info("sin", half, [heads, size]),
            *self.weight_inputs(project_weights(config)),
        ]  # fmt: skip
        return self.model("project", inputs, [info("qkv_rows", half, [heads, size])])

    def _many(self, whole: str) -> onnx.ModelProto:
        config, half = self._config, self._type
        kv, size = config.kv_heads, config.head_size
        group, heads = config.heads // kv, config.heads + kv
        for name, shape in (
            ("rows", [-1, size]), ("rows_of_heads", [-1, heads, size]), ("heads_of", [config.heads, kv]),
            ("groups", [-1, kv, group, size]), ("grouped", [kv, -1, size]), ("key_rows", [-1, kv, size]),
            ("row_axis", [1]), ("qkv_sizes", [heads * size, kv * size]),
        ):  # fmt: skip
            self._constant(name, np.asarray(shape, np.int64))
        self.node("Split", [whole, "qkv_sizes"], "qk_flat", "v_flat", axis=1)
        rows = self.add("Reshape", ["qk_flat", "rows_of_heads"], "qk_rows")
        if config.qk_norm:
            self.node("Split", [rows, "heads_of"], "q_raw", "k_raw", axis=1)
            rows = self.add("Concat", self._normed_heads(), "qk_normed", axis=1)
        flat = self.add("Reshape", [rows, "rows"], "qk_of_size")
        turned = self.add("Reshape", [self.add("MatMul", [flat, "turn"], "turned"), "rows_of_heads"], "turned_rows")
        for name in ("cos", "sin"):
            self.add("Unsqueeze", [name, "row_axis"], f"{name}_heads")
        straight = self.add("Mul", [rows, "cos_heads"], "straight")
        across = self.add("Mul", [turned, "sin_heads"], "across")
        self.node("Split", [self.add("Add", [straight, across], "rotated"), "heads_of"], "q", "k", axis=1)
        value = self.add("Reshape", ["v_flat", "key_rows"], "v_rows")
        query = self.add("Reshape", ["q", "groups"], "q_groups")
        query = self.add("Transpose", [query], "q_grouped", perm=[1, 2, 0, 3])
        self.add("Reshape", [query, "grouped"], "query")
        self.add("Transpose", ["k"], "new_key", perm=[1, 0, 2])
        self.add("Transpose", [value], "new_value", perm=[1, 0, 2])
        info = helper.make_tensor_value_info
        inputs = [
            info("x", TensorProto.FLOAT, ["n", config.hidden]),
            info("cos", half, ["n", size]), info("sin", half, ["n", size]),
            *self.weight_inputs(project_weights(config)),
        ]  # fmt: skip
        outputs = [
            info("query", half, [kv, "queries", size]),
            info("new_key", half, [kv, "n", size]), info("new_value", half, [kv, "n", size]),
        ]  # fmt: skip
        return self.model("project", inputs, outputs)

    def _normed_heads(self) -> list[str]:
        """``q_raw`` and ``k_raw`` each normed by head, as Qwen3 has them."""
        wide = {part: self.cast(f"{part}_raw", TensorProto.FLOAT, f"{part}_wide_f32") for part in "qk"}
        return [self.norm(wide[part], f"{part}_norm", part) for part in "qk"]


class _Attend(_Graph):
    """The second half: attention over the cache, its output, the feed-forward part."""

    def build(self, capacity: int, one: bool) -> onnx.ModelProto:
        config, half = self._config, self._type
        kv, size, width = config.kv_heads, config.head_size, capacity + SCRATCH
        group = config.heads // kv
        for name, value in (
            ("by_group", [kv, group, -1, width]), ("by_head", [kv, -1, width]), ("split_groups", [kv, group, -1, size]),
            ("row_shape", [-1, config.heads * size]), ("gate_sizes", [config.intermediate] * 2),
        ):  # fmt: skip
            self._constant(name, np.asarray(value, np.int64))
        scores = self.add("MatMul", ["query", self.add("Transpose", ["key"], "keys", perm=[0, 2, 1])], "scores")
        if one:
            seen = self.add("Add", [scores, "mask"], "seen")
            share = self.add("Softmax", [seen], "share", axis=-1)
        else:
            seen = self.add("Add", [self.add("Reshape", [scores, "by_group"], "scores_4d"), "mask"], "seen")
            share = self.add("Reshape", [self.add("Softmax", [seen], "share_4d", axis=-1), "by_head"], "share")
        mixed = self.add("MatMul", [share, "value"], "mixed")
        if not one:
            mixed = self.add("Reshape", [mixed, "split_groups"], "mixed_4d")
            mixed = self.add("Transpose", [mixed], "mixed_rows", perm=[2, 0, 1, 3])
        attended = self.add("Reshape", [mixed, "row_shape"], "attended")
        residual = self._join("x", self.project(attended, "attn_output", "attn_out"), "attn_sum_f32")
        normed = self.norm(residual, "ffn_norm", "ffn")
        both = self.project(normed, "gate_up", "gate_up_out")
        self.node("Split", [both, "gate_sizes"], "gate_out", "up_out", axis=1)
        silu = self.add("Mul", ["gate_out", self.add("Sigmoid", ["gate_out"], "sigmoid")], "silu")
        gated = self.add("Mul", [silu, "up_out"], "gated")
        self._join(residual, self.project(gated, "down", "ffn_out"), "y")
        info = helper.make_tensor_value_info
        n: str | int = 1 if one else "n"
        inputs = [
            info("x", TensorProto.FLOAT, [n, config.hidden]),
            info("query", half, [kv, group if one else "queries", size]),
            info("mask", half, [n, width]),
            info("key", half, [kv, width, size]), info("value", half, [kv, width, size]),
            *self.weight_inputs(attend_weights(config)),
        ]  # fmt: skip
        return self.model("attend", inputs, [info("y", TensorProto.FLOAT, [n, config.hidden])])

    def _join(self, residual: str, value: str, output: str) -> str:
        wide = self.cast(value, TensorProto.FLOAT, f"{output}.wide_f32")
        self._nodes.append(
            helper.make_node("Add", [residual, wide], [output], name=f"{output.removesuffix('_f32')}_f32")
        )
        return output


def _turn(size: int) -> NDArray[np.float32]:
    """[size, size]: a head times this has its halves exchanged, the one that comes first negated."""
    half = np.eye(size // 2, dtype=np.float32)
    nothing = np.zeros_like(half)
    return np.block([[nothing, half], [-half, nothing]])


class _Head(_Graph):
    def build(self) -> onnx.ModelProto:
        config = self._config
        normed = self.norm("last", "output_norm", "final")
        self.cast(self.project(normed, "output", "product"), TensorProto.FLOAT, "logits")
        count = self._best()
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

    def _best(self) -> int:
        """Make ``best_logits`` and ``best_tokens``; how many. A group are the tokens with the same rest by the number
        of groups: neighbours in a vocabulary resemble one another."""
        vocabulary = self._config.vocabulary
        count, groups = min(CANDIDATES, vocabulary), -(-vocabulary // _GROUP)
        self._constant("candidates", np.asarray([count], np.int64))
        if groups * _OF_A_GROUP < 2 * count:
            self.node("TopK", ["logits", "candidates"], "best_logits", "best_64", axis=-1, largest=1, sorted=1)
        else:
            flat = "logits"
            if missing := groups * _GROUP - vocabulary:
                self._constant("nothing", np.full((1, missing), -1e30, np.float32))
                flat = self.add("Concat", ["logits", "nothing"], "whole_groups", axis=1)
            self._constant("of_groups", np.asarray([_GROUP, groups], np.int64))
            self._constant("of_a_group", np.asarray([_OF_A_GROUP], np.int64))
            self._constant("row", np.asarray([1, -1], np.int64))
            self._constant("flat", np.asarray([-1], np.int64))
            self._constant("first_of_groups", np.arange(groups, dtype=np.int64)[None])
            self._constant("groups", np.asarray(groups, np.int64))
            table = self.add("Reshape", [flat, "of_groups"], "in_groups")
            self.node("TopK", [table, "of_a_group"], "group_logits", "group_places", axis=0, largest=1, sorted=0)
            steps = self.add("Mul", ["group_places", "groups"], "group_steps")
            tokens = self.add("Add", [steps, "first_of_groups"], "group_tokens")
            tokens = self.add("Reshape", [tokens, "flat"], "tokens")
            logits = self.add("Reshape", ["group_logits", "row"], "some_logits")
            self.node("TopK", [logits, "candidates"], "best_logits", "best_places", axis=-1, largest=1, sorted=1)
            self.add("Gather", [tokens, "best_places"], "best_64", axis=0)
        self.add("Cast", ["best_64"], "best_tokens", to=TensorProto.INT32)
        return count


def project_graph(config: DecoderConfig, *, one: bool = False, half: bool = True) -> onnx.ModelProto:
    """The first half of a layer, for ``one`` token or for any number."""
    return _Project(config, half).build(one)


def attend_graph(config: DecoderConfig, capacity: int, *, one: bool = False, half: bool = True) -> onnx.ModelProto:
    """The second half, against a cache of ``capacity`` tokens."""
    return _Attend(config, half).build(capacity, one)


def rotary_scale(head_size: int) -> float:
    """What the rotary tables are multiplied by: squared, the scale of attention's scores."""
    return float(head_size**-0.25)


def head_graph(config: DecoderConfig, *, half: bool = True) -> onnx.ModelProto:
    """From the last token's residual to its logits and candidates."""
    return _Head(config, half).build()


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
