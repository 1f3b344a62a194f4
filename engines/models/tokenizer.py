"""Byte-level BPE tokenisers, from GGUF metadata or an HF folder's ``tokenizer.json``.

Text of users is encoded with control tokens switched off: someone who types ``<|im_end|>`` has typed ten characters,
not ended the message. Only the chat template's own text may hold control tokens. The splitting rules by name
(``tokenizer.ggml.pre``) follow llama.cpp's vocabulary loader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engines.errors import FETCH_AGAIN, ModelFileError, UnsupportedModelError
from engines.models.gguf_file import GgufFile

_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = _QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_CONTROL, _USER_DEFINED = 3, 4


class Tokenizer:
    """Text to ids and back. ``eos_ids`` end a generation."""

    def __init__(self, backend: Any, control: frozenset[int], eos_ids: frozenset[int]) -> None:
        self._backend = backend
        self.control = control
        self.eos_ids = eos_ids
        self._control_pattern: tuple[re.Pattern[str], dict[str, int]] | None = None

    @property
    def vocabulary_size(self) -> int:
        return int(self._backend.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, *, control: bool = False) -> list[int]:
        """Ids of ``text``; control tokens in it are recognised only when ``control`` is True."""
        self._backend.encode_special_tokens = not control
        return list(self._backend.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``; bytes that end inside a character become U+FFFD."""
        return str(self._backend.decode(list(ids), skip_special_tokens=False))

    def id_of(self, token: str) -> int | None:
        """The id of a whole token such as ``<|im_end|>``, None when there is none."""
        found = self._backend.token_to_id(token)
        return None if found is None else int(found)

    def split_control(self, text: str) -> list[int | str]:
        """``text`` cut at its control tokens: their ids, and the text between them."""
        if self._control_pattern is None:
            names = {str(self._backend.id_to_token(token)): token for token in self.control}
            longest_first = sorted(names, key=len, reverse=True)
            self._control_pattern = re.compile("|".join(map(re.escape, longest_first)) if names else r"(?!)"), names
        pattern, names = self._control_pattern
        parts: list[int | str] = []
        at = 0
        for found in pattern.finditer(text):
            parts += [text[at : found.start()], names[found[0]]]
            at = found.end()
        return [part for part in (*parts, text[at:]) if part != ""]

    def save(self, path: Path) -> None:
        """Backend and special ids in one JSON file, which loads far faster than GGUF metadata."""
        document = {
            "tokenizer": json.loads(self._backend.to_str()),
            "control": sorted(self.control),
            "eos": sorted(self.eos_ids),
        }
        path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        from tokenizers import Tokenizer as Backend

        text = path.read_text(encoding="utf-8")
        # Megabytes of vocabulary are for the library to parse. Python would hold up all threads for as long again.
        opening, middle = '{"tokenizer": ', text.rindex(', "control": ')
        backend = Backend.from_str(text[len(opening) : middle])
        document = json.loads("{" + text[middle + 2 :])
        return cls(backend, frozenset(document["control"]), frozenset(document["eos"]))


def tokenizer_from_gguf(file: GgufFile) -> Tokenizer:
    """Raises ``UnsupportedModelError`` for other kinds than byte-level BPE, ``ModelFileError`` for damaged lists."""
    from tokenizers import AddedToken, decoders, models, pre_tokenizers
    from tokenizers import Tokenizer as Backend

    metadata = file.metadata
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2":
        raise UnsupportedModelError(
            f"{file.path.name} has a tokeniser of kind {kind!r}.", "Byte-level BPE ('gpt2') is the kind known here."
        )
    tokens, merges = metadata.get("tokenizer.ggml.tokens"), metadata.get("tokenizer.ggml.merges")
    if not isinstance(tokens, list) or not isinstance(merges, list):
        raise ModelFileError(f"{file.path.name} lacks the tokeniser's lists.", FETCH_AGAIN)
    types = metadata.get("tokenizer.ggml.token_type")
    types = [1] * len(tokens) if types is None else [int(number) for number in types]
    if len(types) != len(tokens):
        raise ModelFileError(
            f"{file.path.name}: the tokeniser's lists are damaged: {len(tokens)} tokens, {len(types)} types.",
            FETCH_AGAIN,
        )
    vocabulary = {token: index for index, token in enumerate(tokens)}
    try:
        pairs = [(left, right) for left, right in (merge.split(" ", 1) for merge in merges)]
        backend = Backend(models.BPE(vocab=vocabulary, merges=pairs, fuse_unk=False, byte_fallback=False))
    except Exception as error:  # the Rust library raises plain Exception
        raise ModelFileError(f"{file.path.name}: the tokeniser's lists are damaged: {error}.", FETCH_AGAIN) from error
    backend.pre_tokenizer = _pre_tokenizer(pre, pre_tokenizers, file.path.name)
    backend.decoder = decoders.ByteLevel()
    special = [AddedToken(tokens[i], special=True, normalized=False) for i, t in enumerate(types) if t == _CONTROL]
    plain = [AddedToken(tokens[i], special=False, normalized=False) for i, t in enumerate(types) if t == _USER_DEFINED]
    backend.add_special_tokens(special)
    backend.add_tokens(plain)
    control = frozenset(index for index, number in enumerate(types) if number == _CONTROL)
    eos = {int(metadata["tokenizer.ggml.eos_token_id"])} if "tokenizer.ggml.eos_token_id" in metadata else set()
    return Tokenizer(backend, control, _end_ids(backend, eos))


def tokenizer_from_folder(folder: Path) -> Tokenizer:
    """From ``tokenizer.json`` and ``generation_config.json`` / ``config.json``. Raises ``ModelFileError``."""
    from tokenizers import Tokenizer as Backend

    try:
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        backend = Backend.from_str(text)
        added = json.loads(text).get("added_tokens", [])
    except Exception as error:  # the Rust library raises plain Exception
        raise ModelFileError(
            f"{folder.name}: tokenizer.json is missing or damaged ({error}).", "Choose the whole model folder."
        ) from error
    eos: set[int] = set()
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        if path.exists():
            value = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id")
            eos.update(value if isinstance(value, list) else [] if value is None else [value])
    control = frozenset(int(token["id"]) for token in added if token.get("special"))
    return Tokenizer(backend, control, _end_ids(backend, eos))


def _end_ids(backend: Any, eos: set[int]) -> frozenset[int]:
    """The declared end, and the ends of a message that chat models use besides."""
    for token in ("<|im_end|>", "<|eot_id|>", "<|end_of_turn|>", "<end_of_turn>", "<|endoftext|>"):
        found = backend.token_to_id(token)
        if found is not None:
            eos.add(int(found))
    return frozenset(eos)


def _pre_tokenizer(name: str, library: Any, file: str) -> Any:
    from tokenizers import Regex

    byte_level = library.ByteLevel(add_prefix_space=False, use_regex=False)
    if name == "smollm":
        return library.Sequence(
            [library.Digits(individual_digits=True), library.ByteLevel(add_prefix_space=False, use_regex=True)]
        )
    if name in ("qwen2", "deepseek-r1-qwen"):
        return library.Sequence([library.Split(Regex(_QWEN2), "isolated"), byte_level])
    if name in ("llama-bpe", "llama3", "llama-v3"):
        return library.Sequence([library.Split(Regex(_LLAMA3), "isolated"), byte_level])
    if name in ("gpt-2", "default"):
        return library.ByteLevel(add_prefix_space=False, use_regex=True)
    raise UnsupportedModelError(
        f"{file} splits text by the rule {name!r}.", "Known rules: smollm, qwen2, llama-bpe, gpt-2."
    )
