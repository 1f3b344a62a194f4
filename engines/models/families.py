"""Which family a model file belongs to, and how it becomes a ready engine.

Built graphs are kept under ``built/``, one folder per source file, size, time and builder version; a folder appears
whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.catalogue import catalogue_title
from engines.errors import Cancelled, ModelFileError
from engines.models.chat_template import ChatTemplate
from engines.models.decoder import BUILDER_VERSION, Decoder, build_decoder, gguf_embedding, open_embedding
from engines.models.decoder_config import KNOWN_ARCHITECTURES, DecoderConfig
from engines.models.decoder_weights import (
    DecoderWeights,
    GgufWeights,
    SafetensorsWeights,
    gguf_config,
    hf_config,
)
from engines.models.gguf_file import GgufFile
from engines.models.tokenizer import Tokenizer, tokenizer_from_folder, tokenizer_from_gguf
from engines.remedies import mending
from engines.store import built_dir

if TYPE_CHECKING:
    from engines.models.decoder_trt import TensorRTDecoder
    from engines.trt.device import Device
    from engines.trt.plans import BuildRequest

Progress = Callable[[float, str], None]
Admit = Callable[[int], None]
"""Asked before memory is taken, with the bytes wanted; raises what says that there is no room."""


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What a model file is. ``parameters`` counts weights; ``context`` in tokens; ``bytes`` on disk."""

    name: str
    family: str
    architecture: str
    parameters: int
    quantisation: str
    context: int
    bytes: int


@dataclass(slots=True)
class ChatModel:
    """A decoder with its tokeniser and chat template, loaded."""

    summary: ModelSummary
    decoder: Decoder | TensorRTDecoder
    tokenizer: Tokenizer
    template: ChatTemplate

    def close(self) -> None:
        self.decoder.close()


def inspect_model(path: Path) -> ModelSummary:
    """Say what ``path`` (a GGUF file or an HF folder) is.

    Raises ``UnsupportedModelError`` naming what was found and what is known, and ``ModelFileError`` for damage.
    """
    with mending(path):
        return _inspect(path)


def _inspect(path: Path) -> ModelSummary:
    if path.is_dir():
        config = hf_config(path)
        weights = SafetensorsWeights(path)
        weights.close()
        files = list(path.glob("*.safetensors"))
        size = sum(file.stat().st_size for file in files)
        tokenizer_from_folder(path)
        name, quantisation, parameters = path.name, "16- or 32-bit", size // 2
    else:
        if not path.exists():
            raise ModelFileError(f"{path} does not exist.", "Check the path.")
        with GgufFile(path) as file:
            config = gguf_config(file)
            tokenizer_from_gguf(file)
            counts: dict[str, int] = {}
            parameters = 0
            for entry in file.tensors.values():
                weights_here = 1
                for dimension in entry.shape:
                    weights_here *= dimension
                parameters += weights_here
                if len(entry.shape) > 1:
                    counts[entry.type_name] = counts.get(entry.type_name, 0) + weights_here
            quantisation = max(counts, key=lambda kind: counts[kind]) if counts else "none"
            name, size = str(file.metadata.get("general.name") or path.stem), path.stat().st_size
    return ModelSummary(
        name=name,
        family=KNOWN_ARCHITECTURES[config.architecture],
        architecture=config.architecture,
        parameters=parameters,
        quantisation=quantisation,
        context=config.context,
        bytes=size,
    )


def load_chat_model(
    path: Path,
    *,
    threads: int = 0,
    context: int = 2048,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    keep_floats: bool | None = None,
) -> ChatModel:
    """Build what is not built yet and load. ``context`` in tokens, at most what the model was trained for."""
    report = progress or (lambda fraction, text: None)
    summary = inspect_summary(path)
    with mending(path):
        folder = _ensure_built(path, summary, context, report, cancelled or (lambda: False), keep_floats)
    document = json.loads((folder / "chat.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.load(folder / "tokenizer.jsonl")
    decoder = Decoder(folder, capacity=context, threads=threads)
    report(0.95, "loading weights")
    decoder.load()
    template = ChatTemplate(document["template"], tokenizer, bos=document["bos"], eos=document["eos"])
    return ChatModel(_titled(ModelSummary(**document["summary"]), path), decoder, tokenizer, template)


def load_trt_chat_model(
    path: Path,
    device: Device,
    *,
    context: int = 2048,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    admit: Admit | None = None,
) -> ChatModel:
    """As ``load_chat_model``, on TensorRT. The CPU's graph is prepared as well: it is the spare.

    ``admit`` is asked twice: before anything is built, and with the plans' sizes before anything is loaded. Raises
    ``TensorRTError`` when the engine cannot be built or loaded, ``OutOfMemory`` where that is for lack of room. Call it
    on a thread that has ``device``'s context.
    """
    from engines.models.decoder_store import store_weights
    from engines.models.decoder_trt import TensorRTDecoder, decoder_plans, shorter_plans
    from engines.models.footprint import decoder_footprint

    if admit is not None:
        config = model_config(path)
        admit(decoder_footprint(config, card_context(context, config.context)))
    report, stopped = progress or (lambda fraction, text: None), cancelled or (lambda: False)
    with mending(path):
        folder = _ensure_built(
            path, inspect_summary(path), context, lambda f, text: report(0.3 * f, text), stopped, None
        )
    built = json.loads((folder / "decoder.json").read_text(encoding="utf-8"))
    document = json.loads((folder / "chat.json").read_text(encoding="utf-8"))
    summary = _titled(ModelSummary(**document["summary"]), path)
    capacity = card_context(context, summary.context)

    def step(fraction: float) -> None:
        if stopped():
            raise Cancelled(f"Preparing {summary.name} was cancelled.")
        report(0.6 + 0.2 * fraction, f"preparing {summary.name} (once)")

    def loading(fraction: float) -> None:
        if stopped():
            raise Cancelled(f"Loading {summary.name} was cancelled.")
        report(0.8 + 0.19 * fraction, "loading weights")

    weights: DecoderWeights = SafetensorsWeights(path) if path.is_dir() else GgufWeights(path)
    try:
        config = weights.config
        plans = decoder_plans(
            trt_folder(config), config, capacity, device.flavour, device.card,
            lambda f, text: report(0.3 + 0.25 * f, text), cancelled,
        )  # fmt: skip
        shorter = shorter_plans(
            trt_folder(config), config, capacity, device.flavour, device.card,
            lambda f, text: report(0.55 + 0.05 * f, text), cancelled,
        )  # fmt: skip
        store = store_weights(weights, folder, step)
        table = store.table() or open_embedding(folder, built["embedding"], config)
        frequencies = weights.vector("rope_freqs.weight") if weights.has("rope_freqs.weight") else None
    finally:
        weights.close()
    decoder = TensorRTDecoder(
        config, plans, device, table, store, capacity=capacity, frequencies=frequencies, shorter=shorter,
    )  # fmt: skip
    if admit is not None:
        admit(decoder_footprint(config, capacity, plans))
    tokenizer = Tokenizer.load(folder / "tokenizer.jsonl")
    template = ChatTemplate(document["template"], tokenizer, bos=document["bos"], eos=document["eos"])
    decoder.load(loading)
    return ChatModel(summary, decoder, tokenizer, template)


def card_context(wanted: int, greatest: int) -> int:
    """Tokens a cache on the card holds: a multiple of 16, so that every head's plane begins at a good address."""
    return max(16, min(wanted, greatest) // 16 * 16)


def trt_folder(config: DecoderConfig) -> Path:
    """Where the graphs of a decoder's parts lie: models of the same sizes share them."""
    key = hashlib.sha256(repr(config).encode()).hexdigest()[:12]
    return built_dir() / f"decoder-{config.architecture}-{key}"


def trt_requests(path: Path, *, context: int = 2048) -> tuple[BuildRequest, ...]:
    """What the model's engines are built from, exactly as ``load_trt_chat_model`` asks for it; needs no card.

    ``context`` in tokens. Raises ``ModelFileError`` and ``UnsupportedModelError``.
    """
    from engines.models.decoder_trt import decoder_requests

    config = model_config(path)
    return decoder_requests(trt_folder(config), config, card_context(context, config.context))


def shorter_trt_requests(path: Path, *, context: int = 2048) -> tuple[BuildRequest, ...]:
    """As ``trt_requests``: attention's engines for the context that a card short of memory goes down to. They are built
    when the model is loaded."""
    from engines.models.decoder_trt import shorter_requests

    config = model_config(path)
    return shorter_requests(trt_folder(config), config, card_context(context, config.context))


def model_config(path: Path) -> DecoderConfig:
    """Sizes of the model at ``path``, without its weights."""
    if not path.exists():
        raise ModelFileError(f"{path} does not exist.", "Check the path.")
    with mending(path):
        if path.is_dir():
            return hf_config(path)
        with GgufFile(path) as file:
            return gguf_config(file)


def inspect_summary(path: Path) -> ModelSummary | None:
    """The summary kept with the built graph, or None when there is none yet (``inspect_model`` reads the file)."""
    document = _built_folder(path) / "chat.json"
    if not document.exists():
        return None
    try:
        return ModelSummary(**json.loads(document.read_text(encoding="utf-8"))["summary"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _titled(summary: ModelSummary, path: Path) -> ModelSummary:
    """A file of the catalogue goes by the catalogue's name: those inside the files are odd ones."""
    return replace(summary, name=catalogue_title(path) or summary.name)


def _built_folder(path: Path) -> Path:
    try:
        newest = max(file.stat().st_mtime_ns for file in ([path] if path.is_file() else path.glob("*")))
        size = sum(file.stat().st_size for file in ([path] if path.is_file() else path.glob("*")))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} does not exist or is empty.", "Check the path, or fetch it again.") from error
    key = f"{path.resolve()}|{size}|{newest}|{BUILDER_VERSION}"
    return built_dir() / f"{path.stem[:40]}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _ensure_built(
    path: Path,
    summary: ModelSummary | None,
    context: int,
    report: Progress,
    cancelled: Callable[[], bool],
    keep_floats: bool | None,
) -> Path:
    folder = _built_folder(path)
    if summary is not None:
        built = json.loads((folder / "decoder.json").read_text(encoding="utf-8"))
        if built["capacity"] >= min(context, summary.context):
            return folder
    summary = _titled(inspect_model(path), path)
    working = folder.with_name(folder.name + ".part")
    shutil.rmtree(working, ignore_errors=True)
    try:
        working.mkdir(parents=True)

        def step(fraction: float) -> None:
            if cancelled():
                raise Cancelled(f"Preparing {summary.name} was cancelled.")
            report(0.05 + 0.9 * fraction, f"preparing {summary.name} (once)")

        step(0.0)
        weights, embedding, tokenizer, chat = _open(path, working)
        try:
            build_decoder(
                weights, embedding, working, capacity=min(context, summary.context), progress=step,
                keep_floats=keep_floats,
            )  # fmt: skip
        finally:
            weights.close()
        tokenizer.save(working / "tokenizer.jsonl")
        chat["summary"] = {name: getattr(summary, name) for name in ModelSummary.__slots__}
        (working / "chat.json").write_text(json.dumps(chat), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        working.replace(folder)
    except OSError as error:
        shutil.rmtree(working, ignore_errors=True)
        raise ModelFileError(
            f"{summary.name} could not be prepared in {folder.parent}: {error}.",
            "Free disk space, or name another place with IDOL_MODELS.",
        ) from error
    except BaseException:
        shutil.rmtree(working, ignore_errors=True)
        raise
    return folder


def _open(path: Path, working: Path) -> tuple[DecoderWeights, dict[str, Any], Tokenizer, dict[str, Any]]:
    if path.is_dir():
        folder = SafetensorsWeights(path)
        tokenizer = tokenizer_from_folder(path)
        table = folder.matrix("token_embd.weight")
        table.astype("float16").tofile(working / "embedding.bin")  # type: ignore[union-attr]
        embedding = {"path": "embedding.bin", "type": "F16", "offset": 0, "row_bytes": folder.config.hidden * 2}
        return folder, embedding, tokenizer, _folder_chat(path)
    gguf = GgufWeights(path)
    try:
        tokenizer = tokenizer_from_gguf(gguf.file)
    except BaseException:
        gguf.close()
        raise
    return gguf, gguf_embedding(gguf.file), tokenizer, _gguf_chat(gguf.file)


def chat_text(path: Path) -> tuple[Tokenizer, ChatTemplate]:
    """How the model at ``path`` turns messages into tokens, without its weights. Raises ``ModelFileError`` and
    ``UnsupportedModelError``."""
    with mending(path):
        if path.is_dir():
            tokenizer, chat = tokenizer_from_folder(path), _folder_chat(path)
        else:
            with GgufFile(path) as file:
                tokenizer, chat = tokenizer_from_gguf(file), _gguf_chat(file)
    return tokenizer, ChatTemplate(chat["template"], tokenizer, bos=chat["bos"], eos=chat["eos"])


def _gguf_chat(file: GgufFile) -> dict[str, Any]:
    metadata = file.metadata
    tokens = metadata["tokenizer.ggml.tokens"]

    def token(key: str) -> str:
        number = metadata.get(key)
        return tokens[number] if isinstance(number, int) and 0 <= number < len(tokens) else ""

    template = metadata.get("tokenizer.chat_template")
    return {
        "template": template if isinstance(template, str) else None,
        "bos": token("tokenizer.ggml.bos_token_id"),
        "eos": token("tokenizer.ggml.eos_token_id"),
    }


def _folder_chat(folder: Path) -> dict[str, Any]:
    chat: dict[str, Any] = {"template": None, "bos": "", "eos": ""}
    path = folder / "tokenizer_config.json"
    if path.exists():
        config = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(config.get("chat_template"), str):
            chat["template"] = config["chat_template"]
        for key in ("bos", "eos"):
            value = config.get(f"{key}_token")
            chat[key] = value.get("content", "") if isinstance(value, dict) else value or ""
    template = folder / "chat_template.jinja"
    if template.exists():
        chat["template"] = template.read_text(encoding="utf-8")
    return chat
