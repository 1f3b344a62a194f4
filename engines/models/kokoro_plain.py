"""What is special in Kokoro's graphs: adaptive instance normalisation, the inverse STFT's tail.

AdaIN (Huang & Belongie 2017) normalises each channel over time. In plain graphs it is one InstanceNormalization, which
runtimes know and keep in fp32. On the CPU its means are weighted instead, so that silence at both ends of a clause
need not be decoded: a kept frame of silence can count for those cut off (``weighted_means``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engines.errors import FETCH_AGAIN, ModelFileError
from engines.models.graph_surgery import GraphEditor

RATES: tuple[int, ...] = (1, 2, 20, 120)
"""Steps per frame of D's stages; the last stage has one step more."""
FP16_OPERATORS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""What runs in fp16 in D. Its activations reach 6512: their squares do not fit fp16, nor do the phases they are for."""


def weights_name(rate: int) -> str:
    """Name of D's input with the time weights of the stage at ``rate`` steps per frame."""
    return f"weights_{rate}"


def weighted_means(model: Any) -> Any:
    """D with every mean over time taken by weights, float [steps, 1] per rate, each summing to 1, as new inputs."""
    from onnx import TensorProto, helper

    editor = GraphEditor(model)
    for node in editor.nodes:
        if node.op_type == "ReduceMean":
            weights = weights_name(_rate(node.name))
            editor.replace(
                node, [helper.make_node("MatMul", [node.input[0], weights], [node.output[0]], name=node.name)]
            )
    for rate in RATES:
        editor.inputs.append(helper.make_tensor_value_info(weights_name(rate), TensorProto.FLOAT, [f"steps_{rate}", 1]))
    return editor.finish()


def _rate(name: str) -> int:
    parts = name.strip("/").split("/")
    if "generator" in parts:
        block = parts[parts.index("generator") + 1]
        if block in ("resblocks.0", "resblocks.1", "resblocks.2", "noise_res.0"):
            return 20
        if block in ("resblocks.3", "resblocks.4", "resblocks.5", "noise_res.1"):
            return 120
    elif "decode.3" in parts and "norm2" in parts:
        return 2
    elif parts[:2] == ["decoder", "decoder"] and parts[2].split(".")[0] in ("encode", "decode"):
        return 1
    raise ModelFileError(f"The mean {name!r} is in no known stage of the decoder.", FETCH_AGAIN)


def instance_norms(model: Any) -> Any:
    """γ·(x − mean)/√(variance + ε) + β over the last axis as InstanceNormalization; other nodes stay."""
    from onnx import helper

    editor = GraphEditor(model)
    flat = editor.constant(np.array([-1], np.int64), "flat")
    for node in editor.nodes:
        if node.op_type != "Div":
            continue
        centred, deviation = (editor.producer.get(name) for name in node.input)
        if centred is None or deviation is None or (centred.op_type, deviation.op_type) != ("Sub", "Sqrt"):
            continue
        summed = editor.producer[deviation.input[0]]
        epsilon = next(float(editor.array(name)) for name in summed.input if name in editor.initializers)
        for scaled in editor.readers(node.output[0]):
            shifted = editor.readers(scaled.output[0])
            if scaled.op_type != "Mul" or len(shifted) != 1 or shifted[0].op_type != "Add":
                raise ModelFileError(f"The norm {node.name!r} is of a form not known here.", FETCH_AGAIN)
            output = shifted[0].output[0]
            scale = next(name for name in scaled.input if name != node.output[0])
            shift = next(name for name in shifted[0].input if name != scaled.output[0])
            norm = helper.make_node(
                "InstanceNormalization",
                [centred.input[0], f"{output}_scale", f"{output}_shift"],
                [output],
                name=f"{output}_norm",
                epsilon=epsilon,
            )
            editor.replace(
                shifted[0],
                [
                    helper.make_node("Reshape", [scale, flat], [f"{output}_scale"], name=f"{output}_scale"),
                    helper.make_node("Reshape", [shift, flat], [f"{output}_shift"], name=f"{output}_shift"),
                    norm,
                ],
            )
    return editor.finish()


def plain_inverse(model: Any) -> Any:
    """D whose inverse STFT divides by the window sum's constant interior instead of scattering (the first 10 samples
    of the clause, which are silence, come out quieter)."""
    from onnx import helper

    editor = GraphEditor(model)
    scatter = _only(editor, "ScatterND")
    slices = [name for name in editor.initializers if name.endswith("window_sum")]
    if len(slices) != 1:
        raise ModelFileError("The inverse STFT has no window sum.", FETCH_AGAIN)
    total = editor.array(slices[0]).reshape(-1)
    interior = editor.constant(np.array(total[len(total) // 2], np.float32), "window_sum_interior")
    editor.replace(
        scatter, [helper.make_node("Div", [scatter.input[0], interior], [scatter.output[0]], name=scatter.name)]
    )
    return editor.finish()


def half_products(model: Any) -> Any:
    """D with its ``FP16_OPERATORS`` in fp16 and all else, residuals, norms and sines, in float32."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    wide = sorted({node.op_type for node in model.graph.node} - set(FP16_OPERATORS))
    return convert_float_to_float16(model, keep_io_types=True, op_block_list=wide, disable_shape_infer=False)


def _only(editor: GraphEditor, kind: str) -> Any:
    found = [node for node in editor.nodes if node.op_type == kind]
    if len(found) != 1:
        raise ModelFileError(f"{len(found)} {kind} operators, one was expected.", FETCH_AGAIN)
    return found[0]
