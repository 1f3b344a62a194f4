"""Damage to a model file is told with the command that mends it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engines.errors import ModelFileError
from engines.models.families import inspect_model, load_chat_model, model_config
from engines.models.kokoro import KokoroEngine, built_graphs
from engines.remedies import mend_remedy
from engines.store import files_dir


@pytest.fixture
def llama(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue model's file that is cut short."""
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    path = files_dir() / "smollm2-135m" / "m.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes((data / "llm" / "tiny_llama_f16.gguf").read_bytes()[:2000])
    return path


def test_a_truncated_language_model(llama: Path, tmp_path: Path) -> None:
    for read in (load_chat_model, inspect_model, model_config):
        with pytest.raises(ModelFileError) as caught:
            read(llama)  # type: ignore[operator]
        assert caught.value.remedy == "Fetch it again: main.py models verify --repair smollm2-135m."
    own = tmp_path / "own.gguf"
    shutil.copy(llama, own)
    with pytest.raises(ModelFileError) as caught:
        inspect_model(own)
    assert caught.value.remedy == f"Copy or download {own} again."


def test_a_damaged_voice(llama: Path) -> None:
    folder = files_dir() / "kokoro"
    (folder / "voices").mkdir(parents=True)
    (folder / "voices" / "af_heart.bin").write_bytes(b"short")
    (folder / "kokoro.onnx").write_bytes(b"no model at all")
    (folder / "vocab.json").write_text("{")
    command = "main.py models verify --repair kokoro"
    with pytest.raises(ModelFileError, match=command):
        built_graphs(folder, "int8")
    with pytest.raises(ModelFileError, match=command):
        KokoroEngine(folder).load()
    with pytest.raises(ModelFileError, match=command):
        KokoroEngine(folder).style("af_heart", 3)


def test_a_place_outside_the_catalogue(llama: Path, tmp_path: Path) -> None:
    assert "verify" not in mend_remedy(files_dir()) and str(files_dir()) in mend_remedy(files_dir())
    assert "verify" not in mend_remedy(files_dir() / "added" / "mine" / "m.gguf")
