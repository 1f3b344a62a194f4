"""Words the program cannot follow, and outputs it cannot write to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from idol.cli import main

ROOT = Path(__file__).resolve().parents[2]


def run_in_shell(line: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'"$0" main.py {line}', sys.executable],
        cwd=ROOT, env={**os.environ, **more}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["modles", "list"]) == 2
    assert capsys.readouterr().err == "There is no command 'modles'. Did you mean models?\n"
    assert main(["sing"]) == 2
    assert "There are: app, say, chat" in capsys.readouterr().err
    assert main(["mine.vrm"]) == 2
    assert "main.py app --avatar mine.vrm" in capsys.readouterr().err


def test_usage_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--slow"])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "usage: main.py doctor" in said and "unrecognized arguments: --slow" in said


def test_an_output_that_cannot_be_written_is_no_crash() -> None:
    done = run_in_shell("models list > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "The output could not be written: No space left on device. Send it elsewhere.\n"
    done = run_in_shell("models list >&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_letters_the_terminal_lacks_are_escaped() -> None:
    done = run_in_shell("--help", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    program = "import idol.cli, sys; idol.cli.main(['models', 'list']); print('你好')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and "\\u4f60" in done.stdout


def test_an_unknown_voice_is_refused_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    voices = tmp_path / "files" / "kokoro" / "voices"
    voices.mkdir(parents=True)
    (voices / "af_heart.bin").touch()
    assert main(["say", "Hello", "--headless", "--no-audio", "--voice", "nosuch"]) == 2
    assert capsys.readouterr().err == "--voice: there is no voice 'nosuch'. Installed: af_heart.\n"


def test_a_models_folder_that_cannot_be_written_is_said(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from engines.added import add_model
    from engines.errors import ModelFileError

    (tmp_path / "file").touch()
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "file"))
    with pytest.raises(ModelFileError, match=r"cannot be written.*IDOL_MODELS"):
        add_model(data / "llm" / "tiny_llama_f16.gguf")
