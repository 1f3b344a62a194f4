"""llama.cpp, in this process (package ``xllamacpp``), as the peer our engine is held against."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class LlamaCpp:
    """One GGUF file in llama.cpp's server, reached over the loopback interface. A context manager.

    ``exact`` keeps keys and values as float32 and leaves flash attention off, so that only the order of sums differs
    from another float32 implementation.
    """

    def __init__(self, path: Path, *, threads: int = 1, context: int = 512, exact: bool = False) -> None:
        import xllamacpp

        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.n_ctx = context
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = threads
        parameters.cpuparams_batch.n_threads = threads
        parameters.warmup = False
        parameters.fit_params = False
        parameters.verbosity = -1
        if exact:
            parameters.cache_type_k = parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
            parameters.flash_attn_type = 0
        self._server: Any = xllamacpp.Server(parameters)
        self._address = self._server.listening_address.rstrip("/")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server and give its memory back."""
        self._server = None

    def tokens(self, text: str) -> list[int]:
        """Ids of ``text`` as a user's words: control tokens in it are text."""
        return self._post("/tokenize", content=text, add_special=False, parse_special=False)["tokens"]

    def marked_tokens(self, text: str) -> list[int]:
        """Ids of ``text`` as a template's: control tokens in it are themselves."""
        return self._post("/tokenize", content=text, add_special=False, parse_special=True)["tokens"]

    def rendered(self, messages: Sequence[dict[str, str]]) -> str:
        """The chat template's text for ``messages``, open for the reply."""
        return self._post("/apply-template", messages=list(messages))["prompt"]

    def complete(self, ids: Sequence[int], count: int, **options: Any) -> dict[str, Any]:
        """Greedy continuation: the server's answer, with ``tokens`` and ``timings`` (``prompt_ms``, ...)."""
        return self._post(
            "/completion", prompt=list(ids), n_predict=count, temperature=0, ignore_eos=True, return_tokens=True,
            cache_prompt=False, **options,
        )  # fmt: skip

    def _post(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            self._address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())


def as_float32(source: Path, target: Path) -> Path:
    """Write ``source`` again with every tensor dequantised to F32 (by package ``gguf``), metadata as it was."""
    import gguf

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, str(reader.fields["general.architecture"].contents()))
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in (
            "general.architecture",
            "general.file_type",
            "general.quantization_version",
        ):
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=inner)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, values.reshape([int(n) for n in tensor.shape[::-1]]).astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target
