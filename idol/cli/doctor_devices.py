"""What the machine is connected to: GPU and driver, inference runtimes, screen and OpenGL, sound."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from idol.cli.doctor_findings import BAD, GOOD, NOTE, Finding

_FLAVOURS = (
    ("tensorrt_rtx", "TensorRT-RTX", ("tensorrt_rtx", "tensorrt-rtx")),
    ("tensorrt", "TensorRT", ("tensorrt", "tensorrt-cu12", "tensorrt-cu13")),
)
_PROBE_SECONDS = 40.0
_ROOT = Path(__file__).parents[2]


def gpu() -> list[Finding]:
    rows = _nvml() or _nvidia_smi()
    if rows:
        return [Finding("GPU", GOOD, row) for row in rows]
    return [
        Finding("GPU", NOTE, "no NVIDIA GPU with a working driver; everything runs on the processor",
                "None is needed. With an NVIDIA card: install its driver (Debian: nvidia-driver) and restart.")
    ]  # fmt: skip


def _nvml() -> list[str]:
    if importlib.util.find_spec("pynvml") is None:
        return []
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        rows = []
        for place in range(pynvml.nvmlDeviceGetCount()):
            device = pynvml.nvmlDeviceGetHandleByIndex(place)
            name, memory = _text(pynvml.nvmlDeviceGetName(device)), pynvml.nvmlDeviceGetMemoryInfo(device)
            rows.append(f"{name}, {memory.total / 1e9:.1f} GB, {memory.free / 1e9:.1f} GB free, driver {driver}")
        return rows
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()


def _nvidia_smi() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split(", ") for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return [f"{row[0]}, {row[1]}, driver {row[2]}" for row in rows if len(row) == 3]


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def runtimes() -> list[Finding]:
    """ONNX Runtime, which must be there, and the TensorRT flavours, which may."""
    answer, trouble = probe("onnxruntime")
    if answer is None:
        remedy = f"{sys.executable} -m pip install --force-reinstall onnxruntime"
        findings = [Finding("ONNX Runtime", BAD, f"cannot be used: {trouble}", remedy)]
    else:
        findings = [Finding("ONNX Runtime", GOOD, f"{answer['version']} ({', '.join(answer['providers'])})")]
    flavours = []
    for module, label, names in _FLAVOURS:
        if importlib.util.find_spec(module) is not None:
            version = _version(names)
            old = " (weakly typed; the last that serves Pascal cards)" if version.startswith("8.6") else ""
            flavours.append(f"{label} {version}{old}")
    if flavours:
        findings.append(Finding("TensorRT", GOOD, "; ".join(flavours)))
    else:
        remedy = "None is needed on the processor; with an NVIDIA GPU: pip install tensorrt"
        findings.append(Finding("TensorRT", NOTE, "no flavour is installed", remedy))
    return findings


def _version(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of unknown version"


def screen() -> list[Finding]:
    """The screen Qt opens, and the OpenGL it gives there."""
    seen = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    linux = sys.platform.startswith("linux")
    hidden = os.environ.get("QT_QPA_PLATFORM", "").startswith(("offscreen", "minimal"))
    if linux and not seen:
        value = "none (neither DISPLAY nor WAYLAND_DISPLAY is set); headless commands work"
        findings = [Finding("screen", BAD, value, "Start the app in a desktop session, or under Xvfb.")]
    elif hidden:
        value = f"QT_QPA_PLATFORM={os.environ['QT_QPA_PLATFORM']} opens no visible window"
        findings = [Finding("screen", NOTE, value, "Unset QT_QPA_PLATFORM to see her.")]
    else:
        findings = [Finding("screen", GOOD, seen or sys.platform)]
    answer, trouble = probe("gl")
    if answer is None:
        remedy = "Debian: apt-get install libgl1 libegl1 libgl1-mesa-dri libxcb-cursor0; else install the GPU's driver."
        if not findings[0].remedy:
            findings.append(Finding("OpenGL", BAD, f"cannot be used: {trouble}", remedy))
        else:
            findings.append(Finding("OpenGL", NOTE, f"cannot be tried: {trouble}", remedy))
        return findings
    value = f"{answer['version']}, {answer['renderer']} ({answer['platform']})"
    if (answer["major"], answer["minor"]) < (3, 3):
        findings.append(Finding("OpenGL", BAD, value, "OpenGL 3.3 is needed: update the graphics driver."))
    elif re.search(r"llvmpipe|softpipe|SwiftShader|Basic Render", answer["renderer"]):
        remedy = "It works, slowly: for a smooth picture install the GPU's driver, or keep the window small."
        findings.append(Finding("OpenGL", NOTE, f"{value}: drawn by the processor", remedy))
    else:
        findings.append(Finding("OpenGL", GOOD, value))
    return findings


def sound() -> list[Finding]:
    answer, trouble = probe("sound")
    if answer is None:
        remedy = "The show goes on without sound. Debian: apt-get install libportaudio2"
        return [Finding("sound", NOTE, f"PortAudio cannot be used: {trouble}", remedy)]
    if not answer["outputs"]:
        remedy = "The show goes on without sound. Plug in a device, or start PulseAudio or PipeWire."
        return [Finding("sound", NOTE, f"no output device ({answer['version']})", remedy)]
    names = ", ".join(answer["outputs"][:6]) + (" ..." if len(answer["outputs"]) > 6 else "")
    if not answer["default"]:
        return [Finding("sound", NOTE, f"no default output; there are: {names}", "Choose one in the settings.")]
    return [Finding("sound", GOOD, f"{answer['default']}; outputs: {names}; inputs: {len(answer['inputs'])}")]


def probe(name: str) -> tuple[dict[str, Any] | None, str]:
    """Ask ``doctor_probe`` in a child process: its answer, or None and what went wrong."""
    command = [sys.executable, "-m", "idol.cli.doctor_probe", name]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH")))),
    }
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            env=environment,
            cwd=_ROOT,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_PROBE_SECONDS:.0f} s"
    except OSError as error:
        return None, f"{command[0]} cannot be started ({error.strerror})"
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            try:
                answer: dict[str, Any] = json.loads(line)
            except ValueError:
                continue
            return (None, str(answer["error"])) if "error" in answer else (answer, "")
    words = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    how = f"crashed with signal {-done.returncode}" if done.returncode < 0 else f"ended with status {done.returncode}"
    return None, f"it {how}" + (f": {' '.join(words[-3:])[-300:]}" if words else "")
