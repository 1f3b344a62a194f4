"""``main.py doctor``: what it finds, with remedies, on machines that lack something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from idol.cli import doctor, doctor_devices, doctor_machine, main
from idol.cli.doctor_findings import BAD, GOOD, NOTE, Finding
from tests.rig import Screen, SoundCard

ROOT = Path(__file__).resolve().parents[2]


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def run_doctor(environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    return subprocess.run(
        [sys.executable, "main.py", "doctor", *options],
        cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.models
@pytest.mark.screen
@pytest.mark.sound
def test_on_a_good_machine_the_app_can_run(screen: Screen, sound: SoundCard, model_path: Callable[[str], Path]) -> None:
    for model in ("smollm2-135m", "kokoro"):
        model_path(model)
    done = run_doctor({**screen.environment, **sound.environment}, "--json")
    answer = json.loads(done.stdout)
    found = {row["name"]: row for row in answer["findings"]}
    assert done.returncode == 0 and answer["able"], [row for row in answer["findings"] if row["state"] == "bad"]
    assert found["screen"]["state"] == found["sound"]["state"] == "good"
    assert "Qt on xcb" in found["OpenGL"]["value"]
    assert found["model kokoro"]["value"] == "here, SHA-256 right"
    assert all(row["remedy"] for row in answer["findings"] if row["state"] != "good")


def test_without_models_and_screen_it_says_what_to_do(tmp_path: Path) -> None:
    done = run_doctor({"IDOL_MODELS": str(tmp_path)})
    assert done.returncode == 1
    assert "!! screen" in done.stdout
    assert "!! language model" in done.stdout and "-> main.py models fetch default" in done.stdout
    assert "!! voice" in done.stdout and "-> main.py models fetch kokoro" in done.stdout
    assert "The app cannot run here" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_truncated_model_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    folder = tmp_path / "files/smollm2-135m"
    folder.mkdir(parents=True)
    (folder / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    found = by_name(doctor_machine.models(deep=False))
    assert found["model smollm2-135m"].state == NOTE
    assert "cut short" in found["model smollm2-135m"].value
    assert found["model smollm2-135m"].remedy == "main.py models verify --repair smollm2-135m"
    assert found["language model"].state == BAD


def test_changed_bytes_are_found_when_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    path = tmp_path / "files/smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(98362432)
    assert by_name(doctor_machine.models(deep=False))["model smollm2-135m"].state == GOOD
    assert "another SHA-256" in by_name(doctor_machine.models(deep=True))["model smollm2-135m"].value


def test_a_disk_too_small_for_the_models_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "not/yet"))
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1_000_000_000))
    room = by_name(doctor_machine.models(deep=False))["room for models"]
    assert room.state == BAD and "1.0 GB free" in room.value and "IDOL_MODELS" in room.remedy


def test_missing_libraries_are_named_by_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor_machine.SONAMES, "libnothing.so.9", "libnothing9")
    (finding,) = doctor_machine.system_libraries()
    assert finding.state == BAD and finding.remedy == "apt-get install libnothing9"
    monkeypatch.setattr(doctor_machine, "required_libraries", lambda: ["numpy", "no-such-library"])
    (finding,) = doctor_machine.libraries()
    assert finding.state == BAD and "no-such-library" in finding.value and "pip install" in finding.remedy


def test_only_portaudio_missing_does_not_stop_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_machine, "_loads", lambda name: name != "libportaudio.so.2")
    (finding,) = doctor_machine.system_libraries()
    assert finding.state == NOTE and finding.remedy == "apt-get install libportaudio2"


@pytest.mark.parametrize(
    ("program", "trouble"),
    [
        ("import os; os.kill(os.getpid(), 11)", "crashed with signal 11"),
        ("raise SystemExit('the plugin xcb could not be loaded')", "the plugin xcb could not be loaded"),
        ('print(\'{"error": "no driver"}\')', "no driver"),
        ("import time; time.sleep(60)", "no answer within 1 s"),
    ],
)
def test_a_probe_that_crashes_or_hangs_is_survived(
    program: str, trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "idol/cli"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "doctor_probe.py").write_text(program)
    monkeypatch.setattr(doctor_devices, "_ROOT", tmp_path)
    monkeypatch.setattr(doctor_devices, "_PROBE_SECONDS", 1.0)
    answer, said = doctor_devices.probe("gl")
    assert answer is None and trouble in said


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        ({"version": "2.1", "renderer": "Old Card", "major": 2, "minor": 1, "platform": "x"}, BAD, "3.3 is needed"),
        ({"version": "4.6", "renderer": "llvmpipe", "major": 4, "minor": 6, "platform": "x"}, NOTE, "slowly"),
        ({"version": "4.6", "renderer": "RTX 4070", "major": 4, "minor": 6, "platform": "x"}, GOOD, ""),
        (None, BAD, "apt-get install libgl1"),
    ],
)
def test_opengl_is_judged(
    answer: dict[str, object] | None, state: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":5")
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.setattr(doctor_devices, "probe", lambda name: (answer, "" if answer else "crashed"))
    finding = by_name(doctor_devices.screen())["OpenGL"]
    assert finding.state == state and words in finding.remedy


def test_a_gpu_is_read_from_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA GeForce RTX 4070, 12282 MiB, 560.35.03'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(doctor_devices, "_nvml", list)
    (finding,) = doctor_devices.gpu()
    assert finding == Finding("GPU", GOOD, "NVIDIA GeForce RTX 4070, 12282 MiB, driver 560.35.03")


def test_damaged_settings_are_told_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[voice]\nspeed = 9\n")
    monkeypatch.setenv("IDOL_SETTINGS", str(path))
    finding = by_name(doctor_machine.files())["settings"]
    assert finding.state == NOTE and "speed" in finding.value
    assert path.read_text() == "[voice]\nspeed = 9\n"


def test_the_exit_status_follows_the_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = [Finding("a", GOOD, "well"), Finding("b", NOTE, "so so", "do this")]
    monkeypatch.setattr(doctor, "examine", lambda deep: findings)
    assert main(["doctor"]) == 0
    assert "The app can run here." in capsys.readouterr().out
    findings.append(Finding("c", BAD, "ill", "do that"))
    assert main(["doctor"]) == 1
    assert "-> do that" in capsys.readouterr().out
