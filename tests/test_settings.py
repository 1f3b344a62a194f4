"""The settings file as people break it: what is right stays, what is wrong is said, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from idol.cli import main
from idol.settings import Settings, load_settings, parse_settings, save_settings, settings_path

BROKEN = """
persona = "other.toml"

[llm]
temperature = 7.5
context = 4096

[voice]
speed = "quick"
en = "af_bella"
"""


def test_one_wrong_value_costs_only_itself() -> None:
    path = settings_path()
    path.write_text(BROKEN, encoding="utf-8")
    settings, message = load_settings()
    assert settings.llm.temperature == Settings().llm.temperature and settings.voice.speed == 1.0
    assert (settings.persona, settings.llm.context, settings.voice.en) == ("other.toml", 4096, "af_bella")
    assert "llm.temperature is 7.5, allowed: a number, at least 0 and at most 2" in message
    assert "voice.speed is 'quick', allowed: a number, at least 0.5 and at most 2" in message
    kept = path.with_name("settings.toml.broken")
    assert str(kept) in message and kept.read_text(encoding="utf-8") == BROKEN
    assert load_settings() == (settings, ""), "the file is mended, and what was right in it is still there"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[engines]\nruntime = "gpu"', "engines.runtime is 'gpu', allowed: 'auto', 'cpu', 'tensorrt_rtx'"),
        ("[llm]\nthreads = 1.5", "llm.threads is 1.5, allowed: a whole number, at least 0 and at most 256"),
        ("[llm]\nmodel = 3", "llm.model is 3, allowed: a text in quotes"),
        ("[llm]\ntemperature = nan", "llm.temperature is nan, allowed: a number"),
        ('[ui]\noverlay = "perhaps"', "ui.overlay is 'perhaps', allowed: true or false"),
        ("[llm]\nmodell = 3", "llm.modell is 3, but there is no such setting; llm has model, threads"),
        ("[colours]\nred = 3", "colours is a table, but there is no such setting; there are persona, engines"),
        ("voice = 3", "voice is 3, allowed: a table [voice]"),
    ],
)
def test_a_complaint_names_the_value_and_what_is_allowed(text: str, complaint: str) -> None:
    settings, wrong = parse_settings(text.encode())
    assert settings == Settings()
    assert len(wrong) == 1 and wrong[0].startswith(complaint), wrong


def test_every_setting_can_say_what_it_allows() -> None:
    for name, section in Settings().model_dump().items():
        for key in section if isinstance(section, dict) else ():
            _, wrong = parse_settings(f"[{name}]\n{key} = []".encode())
            assert wrong[0].startswith(f"{name}.{key} is [], allowed: "), wrong


@pytest.mark.parametrize("content", [b"\xff\xfe[\x00", b"persona = \n[llm", b'persona = "caf\xe9"'])
def test_a_file_nobody_can_read_is_kept(content: bytes) -> None:
    settings_path().write_bytes(content)
    settings, message = load_settings()
    assert settings == Settings()
    kept = settings_path().with_name("settings.toml.broken")
    assert "defaults are used" in message and str(kept) in message
    assert kept.read_bytes() == content and not settings_path().exists()


def test_an_earlier_broken_file_stays() -> None:
    path = settings_path()
    for number, content in enumerate((b"one =", b"two =", b"[llm]\ntop_p = 3")):
        path.write_bytes(content)
        _, message = load_settings()
        kept = path.with_name("settings.toml.broken" + ("", ".2", ".3")[number])
        assert kept.read_bytes() == content and str(kept) in message


def test_a_mark_at_the_beginning_is_no_damage() -> None:
    settings_path().write_bytes(b"\xef\xbb\xbf[llm]\r\ncontext = 4096\r\n")
    settings, message = load_settings()
    assert settings.llm.context == 4096 and message == ""


def test_where_nothing_can_be_written_the_file_stays_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    settings_path().write_text(BROKEN, encoding="utf-8")
    monkeypatch.setattr("idol.settings.save_settings", full)
    settings, message = load_settings()
    assert settings.llm.context == 4096
    assert "No space left on device" in message and "is as it was" in message
    assert settings_path().read_text(encoding="utf-8") == BROKEN
    assert list(settings_path().parent.glob("*.broken*")) == []


def test_a_folder_in_the_files_place_is_said(tmp_path: Path) -> None:
    settings_path().mkdir()
    settings, message = load_settings()
    assert settings == Settings() and "cannot be read (Is a directory)" in message


@pytest.mark.parametrize("command", [["engines", "list"], ["say", "Hello", "--headless", "--no-audio", "--speed", "9"]])
def test_every_command_says_what_was_wrong_once(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    settings_path().write_text(BROKEN, encoding="utf-8")
    main(command)
    assert capsys.readouterr().err.count("llm.temperature is 7.5") == 1


def test_the_doctor_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    from idol.cli.doctor_machine import files

    settings_path().write_text(BROKEN, encoding="utf-8")
    finding = files()[0]
    assert finding.state == "note" and "llm.temperature is 7.5" in finding.value
    assert settings_path().read_text(encoding="utf-8") == BROKEN
    save_settings(Settings())
    assert files()[0].state == "good"
