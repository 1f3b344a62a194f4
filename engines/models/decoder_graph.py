"""The decoder as an ONNX graph for ONNX Runtime's CPU kernels: GroupQueryAttention on a static KV cache.

Inputs: ``embeds`` float32 [1, s, hidden] (rows of the embedding table, looked up outside), ``last_past`` int32 [1]
(tokens after this run, less one), ``total`` int32 scalar (tokens after this run), and per layer ``past_key_i`` and
``past_value_i`` float32 [1, kv heads, capacity, head size]. Outputs: ``logits`` float32 [1, 1, vocabulary] of the
last position, and ``present_key_i``, ``present_value_i``, which share the inputs' buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from engines.models.block_quant import QuantisedMatrix, coarsened, quantise_8bit, stack_rows
from engines.models.decoder_weights import DecoderWeights

Floats = NDArray[np.float32]
_MS = "com.microsoft"
_FLOAT_LIMIT = 200_000_000
"""A file with 16- or 32-bit weights of more elements than this is rounded to 8 bits; smaller ones stay float32."""


class DecoderGraph:
    """Builds the graph layer by layer and writes its weights beside it as it goes, so that memory stays small."""

    def __init__(self, weights: DecoderWeights, capacity: int, data: Path, *, keep_floats: bool | None = None) -> None:
        self._weights = weights
        self._config = weights.config
        self._capacity = capacity
        self._data = data
        self._file = data.open("wb")
        self._known: set[str] = set()
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []
        config = weights.config
        size = config.layers * (config.hidden * config.intermediate * 3 + config.hidden**2 * 2)
        self._keep_floats = size < _FLOAT_LIMIT if keep_floats is None else keep_floats

    def build(self, step: Callable[[float], None]) -> onnx.ModelProto:
        """The model, with external data in the file given. ``step`` gets the fraction done and may raise to cancel."""
        config = self._config
        try:
            self._rotary()
            hidden, residual = "embeds", ""
            for layer in range(config.layers):
                hidden, residual = self._layer(layer, hidden, residual)
                step((layer + 1) / (config.layers + 1))
            self._constant("last", np.array([-1], np.int64))
            self._constant("end", np.array([np.iinfo(np.int64).max], np.int64))
            self._constant("axis", np.array([1], np.int64))
            for name in (hidden, residual):
                self._node("Slice", [name, "last", "end", "axis"], f"{name}_last")
            normed, _ = self._add_norm(f"{hidden}_last", f"{residual}_last", "output_norm.weight", "final")
            head = "output.weight" if self._weights.has("output.weight") else "token_embd.weight"
            self._project(normed, [head], "logits")
            step(1.0)
            return self._model()
        finally:
            self._file.close()

    # -- pieces --------------------------------------------------------------------------------------------------

    def _layer(self, layer: int, hidden: str, residual: str) -> tuple[str, str]:
        config, prefix = self._config, f"blk.{layer}"
        normed, residual = self._add_norm(hidden, residual, f"{prefix}.attn_norm.weight", f"{prefix}.a")
        attended = self._attention(layer, normed)
        self._project(attended, [f"{prefix}.attn_output.weight"], f"{prefix}.attended")
        normed, residual = self._add_norm(f"{prefix}.attended", residual, f"{prefix}.ffn_norm.weight", f"{prefix}.f")
        self._project(normed, [f"{prefix}.ffn_gate.weight", f"{prefix}.ffn_up.weight"], f"{prefix}.gate_up")
        if "half" not in self._known:
            self._constant("half", np.array([config.intermediate] * 2, np.int64))
        self._node("Split", [f"{prefix}.gate_up", "half"], f"{prefix}.gate", f"{prefix}.up", axis=-1)
        self._node("QuickGelu", [f"{prefix}.gate"], f"{prefix}.silu", domain=_MS, alpha=1.0)
        self._node("Mul", [f"{prefix}.silu", f"{prefix}.up"], f"{prefix}.gated")
        self._project(f"{prefix}.gated", [f"{prefix}.ffn_down.weight"], f"{prefix}.out")
        return f"{prefix}.out", residual

    def _attention(self, layer: int, normed: str) -> str:
        config, prefix = self._config, f"blk.{layer}"
        names = [f"{prefix}.attn_{part}.weight" for part in "qkv"]
        sizes = [config.heads, config.kv_heads, config.kv_heads]
        if config.qk_norm:
            self._project(normed, names, f"{prefix}.qkv")
            key = "qkv_split"
            if key not in self._known:
                self._constant(key, np.array([n * config.head_size for n in sizes], np.int64))
            parts = [f"{prefix}.{part}" for part in "qkv"]
            self._node("Split", [f"{prefix}.qkv", key], *parts, axis=-1)
            operands = [
                self._head_norm(parts[0], f"{prefix}.attn_q_norm.weight", config.heads),
                self._head_norm(parts[1], f"{prefix}.attn_k_norm.weight", config.kv_heads),
                parts[2],
            ]
        else:
            self._project(normed, names, f"{prefix}.qkv")
            operands = [f"{prefix}.qkv", "", ""]
        self._node(
            "GroupQueryAttention",
            [*operands, f"past_key_{layer}", f"past_value_{layer}", "last_past", "total", "cos", "sin"],
            f"{prefix}.heads",
            f"present_key_{layer}",
            f"present_value_{layer}",
            domain=_MS,
            num_heads=config.heads,
            kv_num_heads=config.kv_heads,
            do_rotary=1,
            rotary_interleaved=0,
            scale=float(config.head_size**-0.5),
        )
        return f"{prefix}.heads"

    def _head_norm(self, value: str, weight: str, heads: int) -> str:
        size = self._config.head_size
        for name, shape in ((f"split_{heads}", [0, 0, heads, size]), (f"join_{heads}", [0, 0, heads * size])):
            if name not in self._known:
                self._constant(name, np.array(shape, np.int64))
        self._constant(weight, self._weights.vector(weight))
        self._node("Reshape", [value, f"split_{heads}"], f"{value}.h")
        self._node(
            "SimplifiedLayerNormalization", [f"{value}.h", weight], f"{value}.n", axis=-1,
            epsilon=self._config.rms_epsilon,
        )  # fmt: skip
        self._node("Reshape", [f"{value}.n", f"join_{heads}"], f"{value}.r")
        return f"{value}.r"

    def _add_norm(self, hidden: str, residual: str, weight: str, name: str) -> tuple[str, str]:
        """RMS norm of hidden + residual; returns (normed, sum)."""
        self._constant(weight, self._weights.vector(weight))
        epsilon = self._config.rms_epsilon
        if not residual:
            self._node("SimplifiedLayerNormalization", [hidden, weight], f"{name}.n", axis=-1, epsilon=epsilon)
            return f"{name}.n", hidden
        self._node(
            "SkipSimplifiedLayerNormalization", [hidden, residual, weight], f"{name}.n", "", "", f"{name}.s",
            domain=_MS, epsilon=epsilon,
        )  # fmt: skip
        return f"{name}.n", f"{name}.s"

    def _project(self, value: str, names: list[str], output: str) -> None:
        """One product for all of ``names`` where their block forms agree, else one each, side by side."""
        matrices = [self._matrix(name) for name in names]
        biases = [name.replace(".weight", ".bias") for name in names]
        has_bias = any(self._weights.has(bias) for bias in biases)
        fused: Floats | QuantisedMatrix | None = None
        quantised = [matrix for matrix in matrices if isinstance(matrix, QuantisedMatrix)]
        if len(quantised) == len(matrices):
            fused = stack_rows(quantised)
        elif not quantised:
            fused = np.concatenate([matrix for matrix in matrices if not isinstance(matrix, QuantisedMatrix)])
        product = f"{output}.p" if has_bias else output
        if fused is not None:
            self._product(value, fused, names[0], product)
        else:
            parts = []
            for name, matrix in zip(names, matrices, strict=True):
                parts.append(f"{name}.y")
                self._product(value, matrix, name, parts[-1])
            self._node("Concat", parts, product, axis=-1)
        if has_bias:
            bias = np.concatenate([self._weights.vector(name) for name in biases])
            self._constant(f"{output}.b", bias)
            self._node("Add", [product, f"{output}.b"], output)

    def _matrix(self, name: str) -> Floats | QuantisedMatrix:
        matrix = self._weights.matrix(name)
        if isinstance(matrix, QuantisedMatrix):
            return coarsened(matrix)
        if self._keep_floats or matrix.shape[1] % 32:
            return matrix
        return quantise_8bit(matrix)

    def _product(self, value: str, matrix: Floats | QuantisedMatrix, name: str, output: str) -> None:
        if not isinstance(matrix, QuantisedMatrix):
            self._constant(name, np.ascontiguousarray(matrix.T))
            self._node("MatMul", [value, name], output)
            return
        self._constant(f"{name}.q", matrix.packed)
        self._constant(f"{name}.s", matrix.scales)
        main = output if matrix.minimums is None else f"{output}.q"
        self._node(
            "MatMulNBits", [value, f"{name}.q", f"{name}.s"], main, domain=_MS, K=matrix.columns, N=matrix.rows,
            bits=matrix.bits, block_size=matrix.block, accuracy_level=4,
        )  # fmt: skip
        if matrix.minimums is not None:
            sums = self._block_sums(value, matrix.columns // matrix.block, matrix.block)
            self._constant(f"{name}.m", np.ascontiguousarray(matrix.minimums.T))
            self._node("MatMul", [sums, f"{name}.m"], f"{output}.m")
            self._node("Add", [main, f"{output}.m"], output)

    def _block_sums(self, value: str, blocks: int, block: int) -> str:
        sums = f"{value}.sum{block}"
        if sums not in self._known:
            shape = f"blocks_{blocks}_{block}"
            if shape not in self._known:
                self._constant(shape, np.array([0, 0, blocks, block], np.int64))
            if "last_axis" not in self._known:
                self._constant("last_axis", np.array([-1], np.int64))
            self._node("Reshape", [value, shape], f"{sums}.r")
            self._node("ReduceSum", [f"{sums}.r", "last_axis"], sums, keepdims=0)
            self._known.add(sums)
        return sums

    def _rotary(self) -> None:
        """Cosines and sines [capacity, rotary size / 2] (Su et al. 2021, RoFormer)."""
        config = self._config
        inverse = 1.0 / config.rope_theta ** (np.arange(0, config.rope_size, 2, dtype=np.float64) / config.rope_size)
        if self._weights.has("rope_freqs.weight"):
            inverse = inverse / self._weights.vector("rope_freqs.weight").astype(np.float64)
        angles = np.arange(self._capacity, dtype=np.float64)[:, None] * inverse
        self._constant("cos", np.cos(angles).astype(np.float32))
        self._constant("sin", np.sin(angles).astype(np.float32))

    # -- writing -------------------------------------------------------------------------------------------------

    def _node(self, kind: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any) -> None:
        self._nodes.append(helper.make_node(kind, inputs, list(outputs), domain=domain, **attributes))

    def _constant(self, name: str, array: NDArray[np.generic]) -> None:
        if name in self._known:
            return
        self._known.add(name)
        if array.nbytes < 1024:
            self._initializers.append(numpy_helper.from_array(array, name))
            return
        offset = (self._file.tell() + 4095) // 4096 * 4096
        self._file.seek(offset)
        array = np.ascontiguousarray(array)
        self._file.write(array.tobytes())
        tensor = TensorProto(
            name=name, dims=list(array.shape), data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            data_location=TensorProto.EXTERNAL,
        )  # fmt: skip
        for key, value in (("location", self._data.name), ("offset", offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self._initializers.append(tensor)

    def _model(self) -> onnx.ModelProto:
        config = self._config
        floats, ints = TensorProto.FLOAT, TensorProto.INT32
        cache = [1, config.kv_heads, self._capacity, config.head_size]
        inputs = [
            helper.make_tensor_value_info("embeds", floats, [1, "s", config.hidden]),
            helper.make_tensor_value_info("last_past", ints, [1]),
            helper.make_tensor_value_info("total", ints, []),
        ]
        outputs = [helper.make_tensor_value_info("logits", floats, [1, 1, config.vocabulary])]
        for layer in range(config.layers):
            for part in ("key", "value"):
                inputs.append(helper.make_tensor_value_info(f"past_{part}_{layer}", floats, cache))
                outputs.append(helper.make_tensor_value_info(f"present_{part}_{layer}", floats, cache))
        graph = helper.make_graph(self._nodes, "decoder", inputs, outputs, self._initializers)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(_MS, 1)], producer_name="idol"
        )
        model.ir_version = 10
        return model
