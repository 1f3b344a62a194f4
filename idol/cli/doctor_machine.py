"""The machine itself: Python, libraries, memory, disk, processor, model files, settings."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tomllib
from pathlib import Path

from idol.cli.doctor_findings import BAD, GOOD, NOTE, Finding

ROOT = Path(__file__).parents[2]
SONAMES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libportaudio.so.2": "libportaudio2",
}
"""Shared libraries that Qt and PortAudio load, and Debian's packages of them."""
_ONLY_SOUND = ("libportaudio.so.2",)
ENOUGH_MEMORY, LITTLE_MEMORY = 6e9, 2.5e9
"""Bytes: with the default models, and with the small ones."""


def python() -> list[Finding]:
    version = platform.python_version()
    good = (3, 11) <= sys.version_info[:2] <= (3, 13)
    remedy = "" if good else "Use Python 3.11 to 3.13. On Debian 12: apt-get install python3"
    return [Finding("Python", GOOD if good else BAD, f"{version} at {sys.executable}", remedy)]


def libraries() -> list[Finding]:
    """The project's own dependencies, by what pyproject.toml or the installed metadata asks for."""
    lacking, versions = [], {}
    for name in required_libraries():
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            lacking.append(name)
    if lacking:
        return [
            Finding("Python libraries", BAD, f"missing: {', '.join(lacking)}", f"{_pip()} install -e {_quoted(ROOT)}")
        ]
    shown = ", ".join(f"{name} {versions[name]}" for name in ("PySide6_Essentials", "numpy") if name in versions)
    return [Finding("Python libraries", GOOD, f"all {len(versions)} here ({shown})")]


def required_libraries() -> list[str]:
    try:
        document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        rows = document["project"]["dependencies"]
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        try:
            rows = [row for row in importlib.metadata.requires("idol-desktop") or [] if "extra ==" not in row]
        except importlib.metadata.PackageNotFoundError:
            rows = []
    return [found[0] for row in rows if (found := re.match(r"[\w.-]+", row))]


def system_libraries() -> list[Finding]:
    if not sys.platform.startswith("linux"):
        return []
    lacking = [name for name in SONAMES if not _loads(name)]
    if not lacking:
        return [Finding("system libraries", GOOD, f"all {len(SONAMES)} here")]
    silent = all(name in _ONLY_SOUND for name in lacking)
    return [
        Finding(
            "system libraries",
            NOTE if silent else BAD,
            f"missing: {', '.join(lacking)}" + (" (no sound without it)" if silent else ""),
            f"apt-get install {' '.join(SONAMES[name] for name in lacking)}",
        )
    ]


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def hardware() -> list[Finding]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    findings = [
        Finding(
            "processor",
            GOOD if cores >= 2 else NOTE,
            f"{_processor()}, {cores} core{'s' * (cores > 1)} usable",
            "" if cores >= 2 else "One core is little: take the small model (main.py models fetch small).",
        )
    ]
    total, free = _memory()
    if total:
        state = GOOD if total >= ENOUGH_MEMORY else NOTE if total >= LITTLE_MEMORY else BAD
        remedy = "" if state == GOOD else "The default models want 6 GB, the small set (models fetch small) 2.5 GB."
        findings.append(Finding("memory", state, f"{total / 1e9:.1f} GB, {free / 1e9:.1f} GB free", remedy))
    return findings


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _memory() -> tuple[int, int]:
    """Bytes in all and free; 0 where they are not told."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        rows = {key: int(value) * 1024 for key, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
        return rows["MemTotal"], rows["MemAvailable"]
    except (OSError, KeyError):
        return 0, 0


def models(*, deep: bool) -> list[Finding]:
    """Which models are here and whole, and whether the missing ones have room."""
    from engines.added import added_models
    from engines.catalogue import load_catalogue
    from engines.fetch import SPARE_BYTES
    from engines.fetch_verify import verify
    from engines.store import models_dir

    catalogue = load_catalogue()
    findings, minds, voice = [], [], False
    for model in catalogue.models.values():
        absent = model.missing()
        begun = model.folder.is_dir() and any(path.is_file() for path in model.folder.rglob("*"))
        if not begun:
            continue
        problems = [f"{file.name} is missing or cut short" for file in absent]
        if deep and not absent:
            problems = [f"{problem.file.name} {problem.what}" for problem in verify(model)]
        if problems:
            more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
            remedy = f"main.py models verify --repair {model.id}"
            findings.append(Finding(f"model {model.id}", NOTE, f"{problems[0]}{more}", remedy))
            continue
        findings.append(Finding(f"model {model.id}", GOOD, "here, SHA-256 right" if deep else "here"))
        voice = voice or model.family == "kokoro"
        if model.family not in ("kokoro", "whisper", "silero", "peer"):
            minds.append(model.id)
    for name, path in added_models().items():
        if path.exists():
            minds.append(name)
            findings.append(Finding(f"model {name}", GOOD, f"added, {path}"))
        else:
            remedy = f"Put it back, or: main.py models remove {name}"
            findings.append(Finding(f"model {name}", NOTE, f"added, but {path} is gone", remedy))
    for what, here, name in (("language model", bool(minds), "default"), ("voice", voice, "kokoro")):
        if not here:
            findings.append(Finding(what, BAD, "none is here and whole", f"main.py models fetch {name}"))
    wanted = sum(file.bytes for model in catalogue.select(("default",)) for file in model.missing())
    folder = models_dir()
    free = _free(folder)
    short = wanted and free < wanted + SPARE_BYTES
    findings.append(
        Finding(
            "room for models",
            (BAD if not (minds and voice) else NOTE) if short else GOOD,
            f"{free / 1e9:.1f} GB free in {folder}"
            + (f", {(wanted + SPARE_BYTES) / 1e9:.1f} GB wanted for the default set" if wanted else ""),
            "Free disk space, or name another place with the environment variable IDOL_MODELS." if short else "",
        )
    )
    return findings


def _free(folder: Path) -> int:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def files() -> list[Finding]:
    """The settings file and the folder of history and logs."""
    from idol.settings import data_dir, settings_path

    findings = [_settings(settings_path())]
    folder = data_dir()
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        remedy = "Make it writable, or name another with the environment variable IDOL_DATA."
        findings.append(Finding("data folder", NOTE, f"{folder} cannot be written", remedy))
    return findings


def _settings(path: Path) -> Finding:
    """Read only: the app itself mends a damaged file."""
    from idol.settings import parse_settings

    try:
        wrong = parse_settings(path.read_bytes())[1]
    except FileNotFoundError:
        return Finding("settings", GOOD, f"defaults ({path} is not there)")
    except OSError as error:
        return Finding("settings", NOTE, f"{path} cannot be read: {error.strerror}", "Defaults are used.")
    except ValueError as error:
        return Finding("settings", NOTE, f"{path} is damaged: {error}", "Correct or delete it; defaults are used.")
    if wrong:
        return Finding(
            "settings", NOTE, f"{path}: {'; '.join(wrong)}", "Correct it; defaults stand in for what is wrong."
        )
    return Finding("settings", GOOD, str(path))


def _pip() -> str:
    return f"{_quoted(Path(sys.executable))} -m pip"


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)
