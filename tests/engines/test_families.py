"""Which files become models, and what is said of those that do not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import gguf
import pytest

from engines.errors import Cancelled, EngineError, ModelFileError, UnsupportedModelError
from engines.models.families import inspect_model, inspect_summary, load_chat_model
from engines.store import built_dir
from tests.engines.test_tokenizer import LLM

TINY, FOLDER, VOCABULARY = LLM / "tiny_llama_f16.gguf", LLM / "tiny_llama_hf", LLM / "vocab_only_gpt2.gguf"


@pytest.fixture(autouse=True)
def _own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))


def test_what_a_file_is() -> None:
    summary = inspect_model(TINY)
    assert (summary.family, summary.architecture, summary.quantisation) == ("Llama", "llama", "F16")
    assert summary.bytes == TINY.stat().st_size and 100_000 < summary.parameters < 200_000 and summary.context > 0
    folder = inspect_model(FOLDER)
    assert (folder.family, folder.architecture, folder.context) == ("Llama", "llama", summary.context)


def test_an_unknown_architecture_is_refused_and_named() -> None:
    for attempt in (inspect_model, load_chat_model):
        with pytest.raises(UnsupportedModelError) as refused:
            attempt(VOCABULARY)
        text = str(refused.value)
        assert "vocab_only_gpt2.gguf" in text and "'gpt2'" in text  # the file, and what was found in it
        assert all(known in text for known in ("llama", "qwen2", "qwen3"))  # what is known here
    assert not list(built_dir().glob("*"))


@pytest.mark.parametrize("architecture", ["mamba", "gemma3", "bert", "", "llama\x00"])
def test_other_architectures_too(tmp_path: Path, architecture: str) -> None:
    path = tmp_path / "other.gguf"
    writer = gguf.GGUFWriter(path, architecture)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises((UnsupportedModelError, ModelFileError)) as refused:
        inspect_model(path)
    assert "other.gguf" in str(refused.value)


def test_a_folder_of_an_unknown_architecture_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "strange"
    shutil.copytree(FOLDER, folder)
    config = json.loads((folder / "config.json").read_text())
    config["architectures"], config["model_type"] = ["MambaForCausalLM"], "mamba"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModelError, match="MambaForCausalLM.*Known architectures: llama"):
        inspect_model(folder)


@pytest.mark.parametrize("size", [0, 3, 24, 1000, 20_000, 200_000])
def test_a_truncated_file_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(TINY.read_bytes()[:size])
    with pytest.raises(ModelFileError, match=r"cut\.gguf"):
        inspect_model(path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_or_holds_a_damaged_one_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder)
    (folder / name).write_bytes(b"\x00damage")
    with pytest.raises(ModelFileError):
        inspect_model(folder)
    (folder / name).unlink()
    with pytest.raises(EngineError):
        inspect_model(folder)


def test_what_is_not_there(tmp_path: Path) -> None:
    for attempt in (inspect_model, load_chat_model):
        with pytest.raises(ModelFileError, match="does not exist"):
            attempt(tmp_path / "none.gguf")


def test_building_happens_once_and_is_whole_or_not_at_all(tmp_path: Path) -> None:
    steps: list[str] = []
    with pytest.raises(Cancelled):
        load_chat_model(TINY, context=64, cancelled=lambda: len(steps) > 1, progress=lambda f, t: steps.append(t))
    assert not list(built_dir().glob("*")) and inspect_summary(TINY) is None
    load_chat_model(TINY, context=64).close()
    (folder,) = built_dir().glob("*")
    stamp = (folder / "decoder.onnx").stat().st_mtime_ns
    load_chat_model(TINY, context=64).close()
    load_chat_model(TINY, context=32).close()
    assert (folder / "decoder.onnx").stat().st_mtime_ns == stamp
    load_chat_model(TINY, context=128).close()  # more context than was built for
    assert (folder / "decoder.onnx").stat().st_mtime_ns != stamp
    summary = inspect_summary(TINY)
    assert summary is not None and summary == inspect_model(TINY)


def test_a_changed_file_is_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(TINY.read_bytes())
    load_chat_model(path, context=64).close()
    path.write_bytes(TINY.read_bytes()[:-4] + b"\x00\x00\x00\x00")
    assert inspect_summary(path) is None
    load_chat_model(path, context=64).close()


def test_a_damaged_summary_is_no_obstacle(tmp_path: Path) -> None:
    load_chat_model(TINY, context=64).close()
    (folder,) = built_dir().glob("*")
    (folder / "chat.json").write_text("{")
    assert inspect_summary(TINY) is None
    load_chat_model(TINY, context=64).close()
