"""Kokoro-82M (StyleTTS 2 with an ISTFTNet decoder) cut into three graphs, so that a clause can be driven step by step.

Parts, as the whole graph runs them: A text → durations and encodings; B prosody → F0 and energy; D decoder → sound. The
source between B and D, F0 → harmonic excitation, is ``kokoro_source``; its constants are kept beside the graphs.
Between A and B each token's encoding is repeated by its duration, which the whole graph does with a product by a 0/1
matrix; here it is ``numpy.repeat`` on the host, exactly the same. A frame is 600 samples at 24 kHz.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engines.errors import FETCH_AGAIN, ModelFileError
from engines.models import kokoro_plain
from engines.models.dequantise_graph import dequantise
from engines.models.graph_surgery import plain_operators
from engines.models.kokoro_source import HarmonicSource

BUILDER_VERSION = 5
"""Raised whenever the graphs come out differently: built graphs are kept under this number."""

Kind = Literal["int8", "fp32", "mixed"]
Report = Callable[[float, str], None]
"""(fraction done 0..1, what is being done)."""

SOURCE_FILE = "source.npz"

DURATIONS = "/encoder/Clip_output_0"
PROSODY_ENCODING = "/encoder/predictor/text_encoder/Concat_4_output_0"
TEXT_ENCODING = "/encoder/text_encoder/Transpose_2_output_0"
PROSODY_FRAMES = "/encoder/MatMul_output_0"
F0 = "/encoder/Reshape_output_0"
ENERGY = "/encoder/Reshape_1_output_0"
SOURCE = "/decoder/decoder/generator/Concat_3_output_0"
TEXT_FRAMES = "/encoder/MatMul_1_output_0"
AUDIO = "audio"


@dataclass(frozen=True, slots=True)
class Part:
    """One graph: the tensors it takes (with shapes for the inputs that the whole graph makes inside) and gives."""

    name: str
    inputs: tuple[tuple[str, str, tuple[int | str, ...]], ...]
    outputs: tuple[str, ...]


_SHAPES: dict[str, tuple[int | str, ...]] = {
    DURATIONS: (1, "n"), PROSODY_ENCODING: (1, "n", 640), TEXT_ENCODING: (1, 512, "n"), F0: (1, "F"),
    ENERGY: (1, "F"), SOURCE: (1, 22, "S"), AUDIO: ("samples",),
}  # fmt: skip
_TOKENS = ("tokens", "int64", (1, "n"))
_STYLE = ("style", "float", (1, 256))
PARTS: tuple[Part, ...] = (
    Part("A", (_TOKENS, _STYLE, ("speed", "float", (1,))), (DURATIONS, PROSODY_ENCODING, TEXT_ENCODING)),
    Part("B", ((PROSODY_FRAMES, "float", (1, 640, "T")), _STYLE), (F0, ENERGY)),
    Part(
        "D",
        (
            (TEXT_FRAMES, "float", (1, 512, "T")),
            (F0, "float", (1, "F")),
            (ENERGY, "float", (1, "F")),
            (SOURCE, "float", (1, 22, "S")),
            _STYLE,
        ),
        (AUDIO,),
    ),
)

_SOURCE_PART = Part("source", ((F0, "float", (1, "F")),), (SOURCE,))


def complete(folder: Path) -> bool:
    """Whether ``build`` has made everything in ``folder``."""
    return all((folder / f"{part.name}.onnx").exists() for part in PARTS) and (folder / SOURCE_FILE).exists()


def build(source: Path, folder: Path, kind: Kind = "int8", report: Report | None = None) -> None:
    """Cut the whole graph at ``source`` into ``A.onnx``, ``B.onnx``, ``D.onnx`` and ``source.npz`` in ``folder``, which
    appears whole or not at all.

    ``int8`` keeps the file's integer products (for the CPU; D takes time weights, see ``kokoro_plain``); ``fp32`` and
    ``mixed`` are plain opset-17 graphs, ``mixed`` with D's products in fp16. The other parts stay in float32: they
    decide pitch and phase, and rounding there is heard (0.6 to 0.9 dB log-mel with B in fp16).

    Raises ``ModelFileError`` for another file or a full disk.
    """
    import onnx

    tell = report or (lambda fraction, text: None)
    tell(0.0, "reading the voice model")
    try:
        model = onnx.load(str(source))
    except Exception as error:  # protobuf's own class
        raise ModelFileError(f"{source.name} is no ONNX file ({error}).", FETCH_AGAIN) from error
    working: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        working = folder.with_name(f"{folder.name}.part-{os.getpid()}")
        working.mkdir()
        for index, part in enumerate(PARTS):
            tell(0.2 + 0.25 * index, f"preparing the voice, part {part.name}")
            onnx.save(_shaped(_extract(model, part, source.name), part, kind), str(working / f"{part.name}.onnx"))
        HarmonicSource.from_graph(_extract(model, _SOURCE_PART, source.name)).save(working / SOURCE_FILE)
        shutil.rmtree(folder, ignore_errors=True)
        working.replace(folder)
    except OSError as error:
        raise ModelFileError(
            f"The voice could not be prepared in {folder.parent}: {error}.",
            "Free disk space, or name another place with IDOL_MODELS.",
        ) from error
    finally:
        if working is not None:
            shutil.rmtree(working, ignore_errors=True)
    tell(1.0, "the voice is prepared")


def _shaped(model: Any, part: Part, kind: Kind) -> Any:
    if kind == "int8":
        return kokoro_plain.weighted_means(model) if part.name == "D" else model
    model = dequantise(model)
    if part.name == "D":
        model = kokoro_plain.plain_inverse(model)
    model = plain_operators(kokoro_plain.instance_norms(model))
    return kokoro_plain.half_products(model) if kind == "mixed" and part.name == "D" else model


def _extract(model: Any, part: Part, file: str) -> Any:
    from onnx import TensorProto, helper

    kinds = {"float": TensorProto.FLOAT, "int64": TensorProto.INT64}
    graph = model.graph
    producer = {output: node for node in graph.node for output in node.output}
    given = {name for name, _, _ in part.inputs}
    missing = [name for name in part.outputs if name not in producer]
    if missing:
        raise ModelFileError(f"{file} lacks the tensor {missing[0]!r}.", FETCH_AGAIN)
    needed: set[str] = set()
    wanted = list(part.outputs)
    while wanted:
        name = wanted.pop()
        node = producer.get(name)
        if name in given or node is None or node.output[0] in needed:
            continue
        needed.add(node.output[0])
        wanted.extend(value for value in node.input if value)
    nodes = [node for node in graph.node if node.output[0] in needed]
    used = {value for node in nodes for value in node.input}
    unknown = used & {value.name for value in graph.input} - given
    if unknown:
        raise ModelFileError(f"{file}: part {part.name} needs {sorted(unknown)} besides.", FETCH_AGAIN)
    return helper.make_model(
        helper.make_graph(
            nodes,
            f"kokoro_{part.name}",
            [helper.make_tensor_value_info(name, kinds[kind], list(shape)) for name, kind, shape in part.inputs],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(_SHAPES[name])) for name in part.outputs],
            [tensor for tensor in graph.initializer if tensor.name in used],
        ),
        opset_imports=_used_domains(model, nodes),
        ir_version=model.ir_version,
        producer_name="idol",
    )


def _used_domains(model: Any, nodes: Iterable[Any]) -> list[Any]:
    used = {node.domain for node in nodes} | {""}
    return [opset for opset in model.opset_import if opset.domain in used]
