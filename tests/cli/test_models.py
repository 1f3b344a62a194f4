"""``main.py models``, in a models folder of the test's own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import catalogue as catalogue_module
from engines.added import added_models
from idol.cli import main
from tests.engines.fetch_world import HUB, Server, catalogue_of, entry

ROOT = Path(__file__).resolve().parents[2]
BYTES = os.urandom(700_000)


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "models"
    monkeypatch.setenv("IDOL_MODELS", str(root))
    return root


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A catalogue of one model, and a hub that has it."""
    small = catalogue_of('[sets]\ndefault = ["m"]\n' + entry("m", "model.bin", BYTES, HUB))
    monkeypatch.setattr(catalogue_module, "load_catalogue", lambda: small)
    with Server() as server:
        server.files["/someone/model/resolve/main/model.bin"] = BYTES
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def tiny(data: Path) -> Path:
    """A sound model whose context of 256 tokens is too short for her."""
    return data / "llm" / "tiny_llama_f16.gguf"


@pytest.fixture
def llama(tiny: Path, tmp_path: Path) -> Path:
    """The same with a long context."""
    content = tiny.read_bytes()
    place = content.index(b"llama.context_length") + len("llama.context_length") + 4
    path = tmp_path / "llama.gguf"
    path.write_bytes(content[:place] + (32768).to_bytes(4, "little") + content[place + 4 :])
    return path


def test_list_says_size_licence_languages_state_and_place(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list"]) == 0
    said = capsys.readouterr().out
    assert str(models / "files") in said
    assert re.search(r"qwen2.5-coder-1.5b +not here +1.12 GB +Apache-2.0 +en,zh,ja", said)
    assert "set default: qwen2.5-coder-1.5b, qwen2.5-coder-0.5b, kokoro (1.73 GB)" in said


def test_fetch_list_verify_repair_and_remove(hub: Server, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "fetch"]) == 0
    said = capsys.readouterr().out
    assert f"fetching 0.7 MB to {models / 'files'}" in said and "\r" not in said and "100%" not in said.split("\n")[0]
    assert said.endswith("all files are here\n")
    assert main(["models", "fetch"]) == 0
    assert capsys.readouterr().out == "all files are here\n"
    assert main(["models", "list"]) == 0
    assert re.search(r"^m +here", capsys.readouterr().out, re.MULTILINE)
    assert main(["models", "verify"]) == 0
    assert capsys.readouterr().out == "m: good\n"

    file = models / "files/m/model.bin"
    file.write_bytes(bytes(len(BYTES)))
    assert main(["models", "verify"]) == 1
    said = capsys.readouterr().out
    assert "m: damaged" in said and "another SHA-256" in said and "models verify --repair m" in said
    assert file.exists()
    assert main(["models", "verify", "--repair"]) == 0
    assert file.read_bytes() == BYTES

    assert main(["models", "remove", "m"]) == 0
    assert not file.exists()
    assert main(["models", "verify", "m"]) == 1, "asked for by name, a missing model is a problem"


def test_no_network_is_said_without_a_trace(
    hub: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert main(["models", "fetch", "m"]) == 1
    said = capsys.readouterr().err
    assert "the hub cannot be reached" in said and "Check the network" in said and "Traceback" not in said


@pytest.mark.parametrize("verb", ["fetch", "verify", "remove"])
def test_an_unknown_name_is_refused(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", verb, "nobody"]) == 1
    assert "nobody" in capsys.readouterr().err


def test_add_by_reference_and_forget(llama: Path, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "add", str(llama), "--name", "My Llama"]) == 0
    said = capsys.readouterr().out
    assert "added my-llama" in said and "main.py --model my-llama" in said
    assert added_models() == {"my-llama": llama.resolve()}
    assert not (models / "files").exists(), "nothing was copied"
    assert main(["models", "list"]) == 0
    assert re.search(r"^my-llama +added", capsys.readouterr().out, re.MULTILINE)
    assert main(["models", "remove", "my-llama"]) == 0
    assert llama.exists()
    assert added_models() == {}


def test_add_by_copy_and_remove_the_copy(llama: Path, models: Path) -> None:
    assert main(["models", "add", str(llama), "--copy", "--name", "mine"]) == 0
    copy = models / "files/added/mine" / llama.name
    assert copy.read_bytes() == llama.read_bytes()
    assert main(["models", "add", str(copy), "--copy", "--name", "mine"]) == 0, "adding the copy again keeps it"
    assert copy.exists()
    assert main(["models", "remove", "mine"]) == 0
    assert not copy.exists()
    assert llama.exists()


def test_add_refuses_with_a_reason(llama: Path, tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(llama.read_bytes()[:2000])
    text = tmp_path / "text.gguf"
    text.write_text("no model at all")
    (tmp_path / "empty").mkdir()
    for path in (cut, text, tmp_path / "empty", tmp_path / "absent.gguf"):
        assert main(["models", "add", str(path)]) == 1, path
        said = capsys.readouterr().err
        assert len(said) > 30 and "Traceback" not in said, said
    assert main(["models", "add", str(llama), "--name", "kokoro"]) == 1
    assert "The catalogue has 'kokoro' already" in capsys.readouterr().err
    other = tmp_path / "other.gguf"
    other.write_bytes(llama.read_bytes())
    assert main(["models", "add", str(llama), "--name", "mine"]) == 0
    assert main(["models", "add", str(other), "--name", "mine"]) == 1
    assert "is added already" in capsys.readouterr().err
    assert added_models() == {"mine": llama.resolve()}


def test_a_damaged_list_of_added_models_is_kept_aside(llama: Path, models: Path) -> None:
    models.mkdir()
    (models / "added.toml").write_text("[models\n")
    assert added_models() == {}
    assert main(["models", "add", str(llama), "--name", "mine"]) == 0
    assert added_models() == {"mine": llama.resolve()}
    assert (models / "added.toml.broken").read_text() == "[models\n"


def test_ctrl_c_ends_with_130_and_a_state_to_go_on_from(tmp_path: Path, models: Path) -> None:
    """The whole program, with a hub that falls silent."""
    with Server() as server:
        server.silent.clear()
        environment = {**os.environ, "IDOL_MODELS": str(models), "HF_ENDPOINT": server.url}
        process = subprocess.Popen(
            [sys.executable, "main.py", "models", "fetch", "qwen2.5-coder-0.5b"],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + 20
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=10)
    assert process.returncode == 130, complaint
    assert "start again to go on" in complaint and "Traceback" not in complaint
    assert "fetching 491.4 MB" in said


def test_verify_finds_a_truncated_model_without_being_told_which(
    hub: Server, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "fetch"]) == 0
    file = models / "files" / "m" / "model.bin"
    file.write_bytes(BYTES[:1000])
    assert main(["models", "verify"]) == 1
    assert "m: damaged" in capsys.readouterr().out
    assert main(["models", "verify", "--repair"]) == 0
    assert file.read_bytes() == BYTES


def test_a_repair_that_fails_leaves_what_was_there(
    hub: Server, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["models", "fetch"]) == 0
    file = models / "files" / "m" / "model.bin"
    damaged = b"x" + BYTES[1:]
    file.write_bytes(damaged)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    assert main(["models", "verify", "--repair"]) == 1
    assert file.read_bytes() == damaged
    assert main(["models", "verify"]) == 1
    assert [path.name for path in file.parent.iterdir() if path.name.endswith(".damaged")] == []


def test_added_models_are_verified_too(llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(llama.read_bytes())
    assert main(["models", "add", str(own), "--name", "mine"]) == 0
    capsys.readouterr()
    assert main(["models", "verify", "mine"]) == 0
    assert capsys.readouterr().out == "mine: whole (your own; no SHA-256 is known of it)\n"
    assert main(["models", "verify"]) == 0
    assert "mine: whole" in capsys.readouterr().out
    assert main(["models", "fetch", "mine"]) == 1
    assert "nothing to fetch" in capsys.readouterr().err

    own.write_bytes(llama.read_bytes()[:3000])
    assert main(["models", "verify", "mine"]) == 1
    said = capsys.readouterr().out
    assert "mine: damaged" in said and f"Copy or download {own} again" in said
    own.unlink()
    assert main(["models", "verify", "--repair"]) == 1
    assert "main.py models remove mine" in capsys.readouterr().out
    assert main(["models", "remove", "nobody"]) == 1
    assert "mine" in capsys.readouterr().err
    assert main(["models", "remove", "mine"]) == 0


def test_a_context_too_short_to_answer_is_refused(tiny: Path, llama: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "add", str(tiny)]) == 1
    said = capsys.readouterr().err
    found = re.search(r"context of 256 tokens; her persona, a line and an answer take (\d+)", said)
    assert found is not None and "Choose a model with a longer context" in said, said
    assert added_models() == {}
    needed = int(found[1])

    content = llama.read_bytes()
    place = content.index(b"llama.context_length") + len("llama.context_length") + 4
    llama.write_bytes(content[:place] + needed.to_bytes(4, "little") + content[place + 4 :])
    assert main(["models", "add", str(llama)]) == 0
    assert "its context is too short for" in capsys.readouterr().out, "of three languages one needs least"
