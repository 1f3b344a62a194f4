"""Files the commands are asked to write: refused before the work, whole or absent after it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from idol.cli import main
from idol.show.recorder import write_wav
from idol.show.report import write_json

COMMANDS = [["say", "Hello"], ["chat", "--text", "Hello"], ["bench", "--turns", "1"]]


@pytest.fixture
def no_show(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: object, **__: object) -> None:
        pytest.fail("the work was begun")

    monkeypatch.setattr("idol.show.assembly.make_show", begin)


@contextmanager
def full_disk() -> Iterator[None]:
    """Files grow to 4 kB and no further. No fixture: what pytest itself prints between a test and its
    teardown may be a longer file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("no_show")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("option", ["--wav", "--face", "--report"])
def test_a_place_that_cannot_be_written_is_refused_first(
    command: list[str], option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    for path, why in (
        (tmp_path, "it is a folder. Name a file in it, such as"),
        (tmp_path / "file" / "x.out", "is a file, not a folder"),
        (tmp_path / ("x" * 300), "File name too long"),
        (Path("/proc/nothing/x.out"), "No such file or directory"),
    ):
        assert main([*command, "--headless", "--no-audio", option, str(path)]) == 2
        said = capsys.readouterr().err
        assert f"{option} {path} cannot be written: " in said and why in said and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("file", "data")] == []


@pytest.mark.usefixtures("no_show")
def test_two_options_for_one_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--face", str(tmp_path / "a.json"), "--report", str(tmp_path / "a.json")]
    assert main(["say", "Hello", "--headless", "--no-audio", *words]) == 2
    assert "--face and --report name the same file" in capsys.readouterr().err


def test_a_disk_that_fills_leaves_what_was_there(tmp_path: Path) -> None:
    wav, report = tmp_path / "a.wav", tmp_path / "a.json"
    wav.write_bytes(b"earlier")
    with pytest.raises(OSError) as caught, full_disk():
        write_wav(wav, np.zeros(24_000, np.float32))
    assert caught.value.filename == str(wav)
    with pytest.raises(OSError) as caught, full_disk():
        write_json(report, {"text": "x" * 10_000})
    assert caught.value.filename == str(report)
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"] and wav.read_bytes() == b"earlier"


def test_a_full_device_is_told_by_name(capfd: pytest.CaptureFixture[str]) -> None:
    from idol.cli.outputs import tell_unwritten

    with pytest.raises(OSError) as caught:
        write_wav(Path("/dev/full"), np.zeros(24_000, np.float32))
    tell_unwritten(caught.value)
    said = capfd.readouterr().err
    assert said == "/dev/full could not be written: No space left on device. Free disk space or name another place.\n"
    write_wav(Path("/dev/null"), np.zeros(100, np.float32))
    assert Path("/dev/null").is_char_device(), "a device is written to, not replaced"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-o", "x.txt"], "ends in .txt, which is no picture this can write. End it in .png"),
        (["-o", "picture"], "has no ending. End it in .png"),
        (["-o", "x.jpg", "--background", "transparent"], "a JPEG cannot be transparent"),
        (["-o", "/proc/nothing/x.png"], "/proc/nothing/x.png cannot be written"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_first(
    words: list[str], why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("idol.avatar.load_avatar", lambda path: pytest.fail("the avatar was loaded"))
    assert main(["snapshot", *words]) == 2
    assert why in capsys.readouterr().err


def test_a_picture_that_does_not_fit_the_disk_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with full_disk():
        code = main(["snapshot", "--size", "320x320", "-o", str(tmp_path / "her.png")])
    assert code == 1
    assert f"{tmp_path / 'her.png'} could not be written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_jpeg_is_written(tmp_path: Path) -> None:
    assert main(["snapshot", "--size", "64x64", "-o", str(tmp_path / "her.jpg")]) == 0
    assert (tmp_path / "her.jpg").read_bytes()[:2] == b"\xff\xd8"
