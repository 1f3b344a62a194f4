"""GGUF files are read without trust."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engines.errors import EngineError, ModelFileError, UnsupportedModelError
from engines.models.families import inspect_model
from engines.models.gguf_file import GgufFile

TINY = Path(__file__).parent.parent / "data/llm/tiny_llama_f16.gguf"


def test_a_whole_file_is_read() -> None:
    with GgufFile(TINY) as file:
        assert file.architecture == "llama"
        assert len(file.tensors) == 21
        assert file.dequantised("token_embd.weight").shape == (512, 64)


def test_a_vocabulary_is_not_a_chat_model() -> None:
    with pytest.raises(UnsupportedModelError, match="'gpt2'.*llama"):
        inspect_model(TINY.parent / "vocab_only_gpt2.gguf")


def test_summary_names_what_it_is() -> None:
    summary = inspect_model(TINY)
    assert (summary.architecture, summary.quantisation, summary.parameters) == ("llama", "F16", 139584)
    folder = inspect_model(TINY.parent / "tiny_llama_hf")
    assert (folder.architecture, folder.context) == (summary.architecture, summary.context)


@pytest.mark.parametrize("keep", [0, 3, 4, 11, 24, 100, 5000, 200_000, 292_000])
def test_truncated_files_say_so(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(TINY.read_bytes()[:keep])
    with pytest.raises(ModelFileError) as caught:
        inspect_model(path)
    assert "cut.gguf" in str(caught.value)


def test_mutated_files_never_crash(tmp_path: Path) -> None:
    whole = bytearray(TINY.read_bytes())
    chance = random.Random(3)
    path = tmp_path / "mutated.gguf"
    refused = 0
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(12_000)] = chance.randrange(256)  # header and metadata
        path.write_bytes(data)
        try:
            inspect_model(path)
        except EngineError:
            refused += 1
    assert refused > 20


def test_missing_files_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="does not exist"):
        inspect_model(tmp_path / "none.gguf")
    with pytest.raises(ModelFileError, match="config.json"):
        inspect_model(tmp_path)
