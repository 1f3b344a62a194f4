"""``say`` and ``chat`` before any model is loaded: lines, options and screens that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from idol.cli import main
from idol.cli.headless_run import _Terminal
from idol.cli.screen import no_screen
from idol.settings import settings_path
from idol.show.interface import Notice, ReplyText, TurnEnded, TurnStarted
from idol.show.model_files import fetch_remedy

ROOT = Path(__file__).resolve().parents[2]


def test_an_empty_line_is_refused_before_anything_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", " \x01\n", "--headless", "--no-audio"]) == 2
    assert main(["chat", "--text", "", "--text", "\t", "--headless", "--no-audio"]) == 2
    said = capsys.readouterr().err
    assert said.count("The line is empty") == 2 and "…" not in said


def test_a_wrong_option_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "Hello", "--headless", "--no-audio", "--speed", "9"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("wrong option: ") and "speed" in said and "9" in said
    assert "pydantic" not in said and said.count("\n") == 1


def test_a_remedy_is_said_once() -> None:
    assert Notice("error", "It is damaged. Fetch it again.", "Fetch it again.").sentence.count("Fetch") == 1
    assert Notice("error", "It is damaged.", "Fetch it again.").sentence == "It is damaged. Fetch it again."
    assert Notice("info", "All is well.").sentence == "All is well."


def test_a_missing_screen_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    if not sys.platform.startswith("linux"):
        assert no_screen() == ""
        return
    assert "neither DISPLAY nor" in no_screen()
    monkeypatch.setenv("DISPLAY", ":98765")
    assert ":98765 does not answer" in no_screen()
    monkeypatch.setenv("DISPLAY", "far.example:0")
    assert no_screen() == ""  # who knows
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert no_screen() == ""


def test_onnx_runtime_keeps_no_notes_about_the_user(tmp_path: Path) -> None:
    """Its packages for Linux write a device id and queue events to be sent, unless they are told not to."""
    program = (
        "import engines, onnxruntime\n"
        "from onnx import helper, TensorProto\n"
        "x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in 'xy')\n"
        "graph = helper.make_graph([helper.make_node('Neg', ['x'], ['y'])], 'g', [x], [y])\n"
        "model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])\n"
        "model.ir_version = 8\n"
        "onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])\n"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=60)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.fixture
def no_show(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: object, **__: object) -> None:
        pytest.fail("the work was begun")

    monkeypatch.setattr("idol.show.assembly.make_show", begin)
    monkeypatch.setattr("idol.cli.app.open_with_lines", begin)


@pytest.mark.usefixtures("no_show")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["say", "Hello", "--headless", "--model", "nosuch"], "--model is for the language model"),
        (["say", "Hello", "--headless", "--seed", "3"], "--seed is for the language model"),
        (["say", "Hello", "--wav", "x.wav"], "--wav works without a window only. Add --headless"),
        (["chat", "--text", "Hello", "--report", "x.json"], "--report works without a window only"),
        (["chat", "--text", "Hello", "--model", "nosuch"], "'nosuch' is not on this machine"),
        (["chat", "--text", "Hello", "--headless", "--model", "nosuch"], "'nosuch' is not on this machine"),
        (["bench", "--model", "/nowhere/x.gguf"], "'/nowhere/x.gguf' is not on this machine"),
        (["bench", "--seed", "-1"], "--seed is -1"),
        (["say", "\U0001f389\U0001f389", "--headless"], "nothing to speak in"),
        (["say", "?! …", "--no-audio"], "nothing to speak in"),
    ],
)
def test_what_would_be_passed_over_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    complaint = capsys.readouterr().err
    assert said in complaint and complaint.count("\n") == 1, complaint


def test_a_model_that_is_gone_is_not_offered_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "models"
    monkeypatch.setenv("IDOL_MODELS", str(models))
    (models / "files" / "smollm2-135m").mkdir(parents=True)
    (models / "files" / "smollm2-135m" / "m.gguf").touch()
    (models / "added.toml").write_text(f'[models]\n"gone" = "{tmp_path}/gone.gguf"\n')
    said = fetch_remedy("gone")
    assert said == (
        f"Put {tmp_path}/gone.gguf back, or forget it: main.py models remove gone. Choose one that is here "
        "(smollm2-135m), or fetch one: main.py models fetch NAME (qwen2.5-coder-0.5b, qwen2.5-coder-1.5b), or name a "
        ".gguf file."
    )
    assert fetch_remedy("nosuch").startswith("Choose one that is here (smollm2-135m), or fetch one")
    assert fetch_remedy("qwen2.5-coder-0.5b") == "Fetch it: main.py models fetch qwen2.5-coder-0.5b."


def test_what_a_terminal_would_obey_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = _Terminal(quiet=False)
    terminal.show(TurnStarted(1, "a\x1b]0;title\x07b\r\x9bc\udcff\u202ed", "chat", 0.0))
    terminal.show(ReplyText(1, "你好\x1b[2J\n"))
    terminal.show(TurnEnded(1, "failed", "", "no\x08"))
    terminal.show(Notice("error", "\x1b[31mred"))
    said = capsys.readouterr()
    assert said.out == "> a\\x1b]0;title\\x07b\\r\\x9bc\\udcff\\u202ed\n你好\\x1b[2J\n [failed: no\\x08]\n"
    assert said.err == "error: \\x1b[31mred\n"


def test_bytes_that_are_no_text_do_not_reach_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("idol.cli.chat.run_lines", lambda arguments, texts, *_, **__: lines.extend(texts) or 0)
    monkeypatch.setattr("idol.cli.say.run_lines", lambda arguments, texts, *_, **__: lines.extend(texts) or 0)
    assert main(["chat", "--text", "caf\udce9", "--headless"]) == 0
    assert main(["say", "caf\udce9", "--headless"]) == 0
    assert lines == ["caf\ufffd", "caf\ufffd"]


@pytest.mark.models
def test_a_context_too_short_is_said_with_what_would_do(
    model_path: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    model_path("kokoro")
    tiny = str(ROOT / "tests/data/llm/tiny_llama_f16.gguf")
    assert main(["chat", "--text", "Hello", "--headless", "--no-audio", "--model", tiny]) == 1
    said = capsys.readouterr().err
    assert "has a context of 256 tokens; her persona, a line and an answer take" in said
    assert "Choose another model, or a shorter persona." in said
    settings_path().write_text("[llm]\ncontext = 256\n")
    assert main(["chat", "--text", "Hello", "--headless", "--no-audio", "--model", tiny]) == 1
    assert "Set context in [llm] to" in capsys.readouterr().err
