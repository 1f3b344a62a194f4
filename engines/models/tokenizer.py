"""Byte-level BPE tokenisers, from GGUF metadata or an HF folder's ``tokenizer.json``.

Text of users is encoded with control tokens switched off: someone who types ``<|im_end|>`` has typed ten characters,
not ended the message. Only the chat template's own text may hold control tokens. The splitting rules by name
(``tokenizer.ggml.pre``) follow llama.cpp's vocabulary loader.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from engines.errors import FETCH_AGAIN, ModelFileError, UnsupportedModelError
from engines.models.gguf_file import GgufFile

_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = _QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_CONTROL, _USER_DEFINED = 3, 4
_PIECE = 4096
"""Tokens or merges in a line of a saved tokeniser: read in a millisecond or two."""
_BPE_OPTIONS = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges",
)  # fmt: skip
_ADDED_OPTIONS = ("content", "single_word", "lstrip", "rstrip", "normalized")


def _pair(merge: Any) -> Any:
    """A merge as [left, right]; older files have "left right"."""
    return merge.split(" ", 1) if isinstance(merge, str) else merge


def _pieces(values: list[Any]) -> list[list[Any]]:
    return [values[start : start + _PIECE] for start in range(0, len(values), _PIECE)]


class Tokenizer:
    """Text to ids and back. ``eos_ids`` end a generation."""

    def __init__(self, backend: Any, control: frozenset[int], eos_ids: frozenset[int]) -> None:
        self._backend = backend
        self.control = control
        self.eos_ids = eos_ids
        self._control_pattern: tuple[re.Pattern[str], dict[str, int]] | None = None
        self._lock = threading.Lock()

    @property
    def vocabulary_size(self) -> int:
        return int(self._backend.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, *, control: bool = False) -> list[int]:
        """Ids of ``text``; control tokens in it are recognised only when ``control`` is True."""
        with self._lock:  # two models may share it, one of them on the thread that loads
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
        """To a file of JSON lines: first everything but the vocabulary, then its tokens and its merges in pieces.

        The library holds up every thread while it reads a vocabulary in one piece; most of that time goes into JSON.
        """
        whole = json.loads(self._backend.to_str())
        model = whole["model"]
        opening = {"control": sorted(self.control), "eos": sorted(self.eos_ids), "backend": whole}
        lines: list[Any] = [opening]
        if model["type"] == "BPE":
            tokens, merges = list(model["vocab"].items()), [_pair(merge) for merge in model["merges"]]
            opening["backend"] = {**whole, "model": {**model, "vocab": {}, "merges": []}}
            opening["tokens"] = -(-len(tokens) // _PIECE)
            lines += [*_pieces(tokens), *_pieces(merges)]
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """What ``save`` wrote. Models with the same vocabulary share one tokeniser as long as one of them is there.

        Raises ``ModelFileError`` for a damaged file.
        """
        try:
            lines = path.read_bytes().splitlines()
            digest = hashlib.sha256(b"\n".join(lines)).digest()
            with _known_lock:
                known = _known.get(digest)
                if known is None:
                    known = _known[digest] = cls._from_lines(lines)
            return known
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read: {error.strerror}.", "Start again.") from error
        except Exception as error:  # the Rust library raises plain Exception
            raise ModelFileError(f"{path} is damaged ({error}).", f"Remove {path.parent}, and start again.") from error

    @classmethod
    def _from_lines(cls, lines: list[bytes]) -> Tokenizer:
        from tokenizers import AddedToken, models
        from tokenizers import Tokenizer as Backend

        opening = json.loads(lines[0])
        backend = Backend.from_str(json.dumps(opening["backend"]))
        if "tokens" in opening:
            vocabulary: dict[str, int] = {}
            for line in lines[1 : 1 + opening["tokens"]]:
                vocabulary.update(json.loads(line))
            merges = [(left, right) for line in lines[1 + opening["tokens"] :] for left, right in json.loads(line)]
            model = opening["backend"]["model"]
            options = {name: model[name] for name in _BPE_OPTIONS if model.get(name) is not None}
            bare, backend = backend, Backend(models.BPE(vocab=vocabulary, merges=merges, **options))
            for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
                if (value := getattr(bare, part)) is not None:
                    setattr(backend, part, value)
            for row in opening["backend"]["added_tokens"]:  # in the order of their numbers
                token = AddedToken(**{name: row[name] for name in _ADDED_OPTIONS}, special=row["special"])
                (backend.add_special_tokens if row["special"] else backend.add_tokens)([token])
                if backend.token_to_id(row["content"]) != row["id"]:
                    raise ValueError(f"the token {row['content']!r} has another number")
        return cls(backend, frozenset(opening["control"]), frozenset(opening["eos"]))


_known: WeakValueDictionary[bytes, Tokenizer] = WeakValueDictionary()
"""Those in use, by the digest of what they were loaded from."""
_known_lock = threading.Lock()


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
