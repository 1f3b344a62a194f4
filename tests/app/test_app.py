"""The program as a user starts it: on a screen, with real models, and with things missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from idol.cli.one_window import OneWindow
from tests.rig import Screen

ROOT = Path(__file__).resolve().parents[2]
GODETTE = "tests/data/models/godette_vrm1.vrm"
pytestmark = pytest.mark.screen
NO_EGL = {"__EGL_VENDOR_LIBRARY_DIRS": "/nonexistent"}


@pytest.fixture(scope="module")
def plain_screen() -> Iterator[Screen]:
    """A screen without GLX."""
    rig = Screen(glx=False)
    yield rig
    rig.stop()


def start(screen: Screen, tmp_path: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the program until it closes itself; its data goes to ``tmp_path``."""
    kept = {key: value for key, value in os.environ.items() if key not in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY")}
    environment = {**kept, **screen.environment, "IDOL_DATA": str(tmp_path / "data"), **more}
    environment["IDOL_SETTINGS"] = str(tmp_path / "settings.toml")
    return subprocess.run(
        [sys.executable, "main.py", "--no-audio", "--size", "900x600", "--avatar", GODETTE, *words],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=150,
    )  # fmt: skip


def history(tmp_path: Path) -> list[dict[str, str]]:
    files = list((tmp_path / "data" / "history").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.models
def test_a_line_is_answered_without_configuration(
    screen: Screen, tmp_path: Path, model_path: Callable[[str], Path]
) -> None:
    model_path("smollm2-135m")
    model_path("kokoro")
    picture, frames = tmp_path / "window.png", tmp_path / "frames.json"
    done = start(
        screen, tmp_path, "--model", "smollm2-135m", "--say", "Hello, who are you?", "--overlay", "--quit-after", "32",
        "--screenshot", str(picture), "--frames", str(frames),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ""
    waiting, *said = history(tmp_path)
    assert waiting["user"] == "Hello, who are you?" and waiting["line"] == said[0]["line"]
    assert len(said) == 1 and "who are you" in json.dumps(said[0]) and len(json.dumps(said[0])) > 60
    with Image.open(picture) as opened:
        image = opened.convert("RGB")
    assert image.size == (900, 600)
    stage = image.crop((20, 200, 500, 560))
    assert len(stage.getcolors(1 << 20) or []) > 200, "nobody is on the stage"
    assert len(json.loads(frames.read_text())) > 100


def test_without_models_and_network_it_says_what_to_do(screen: Screen, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    proxies = {name: nowhere for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
    offline = {"PIP_INDEX_URL": nowhere, "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}
    done = start(
        screen, tmp_path, "--quit-after", "14", "--screenshot", str(tmp_path / "window.png"),
        IDOL_MODELS=str(tmp_path / "models"), npm_config_registry=nowhere, **proxies, **offline,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "window.png").stat().st_size > 5000
    assert history(tmp_path) == []
    log = (tmp_path / "data" / "logs" / "idol.log").read_text(encoding="utf-8")
    assert "Traceback" not in log


def test_a_broken_avatar_does_not_keep_it_from_starting(screen: Screen, tmp_path: Path) -> None:
    broken = tmp_path / "broken.vrm"
    broken.write_bytes(b"glTF" + bytes(100))
    done = start(
        screen, tmp_path, "--avatar", str(broken), "--quit-after", "3", IDOL_MODELS=str(tmp_path / "models"),
        PIP_INDEX_URL="http://127.0.0.1:9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.models
def test_a_wanted_model_that_is_gone_gives_way_and_stays_in_the_settings(
    screen: Screen, tmp_path: Path, model_path: Callable[[str], Path]
) -> None:
    wanted = "nosuch"
    files = tmp_path / "models" / "files"
    files.mkdir(parents=True)
    for name in ("smollm2-135m", "kokoro"):
        (files / name).symlink_to(model_path(name))
    kept = tmp_path / "settings.toml"
    kept.write_text(f'[llm]\nmodel = "{wanted}"\n', encoding="utf-8")
    done = start(
        screen, tmp_path, "--say", "Hello, who are you?", "--quit-after", "45", IDOL_MODELS=str(tmp_path / "models"),
        PIP_INDEX_URL="http://127.0.0.1:9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [row for row in history(tmp_path) if "reply" in row], "she never answered"
    assert wanted in kept.read_text(encoding="utf-8")


def test_options_of_one_run_are_not_kept(screen: Screen, tmp_path: Path) -> None:
    kept = tmp_path / "settings.toml"
    kept.write_text("[audio]\nvolume = 0.5\n", encoding="utf-8")
    before = kept.read_bytes()
    done = start(
        screen, tmp_path, "--model", "smollm2-135m", "--overlay", "--stage", "--quit-after", "2",
        IDOL_MODELS=str(tmp_path / "models"), PIP_INDEX_URL="http://127.0.0.1:9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert kept.read_bytes() == before


def run_command(screen: Screen, tmp_path: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **screen.environment, "IDOL_DATA": str(tmp_path / "data"), **more}
    return subprocess.run(
        [sys.executable, "main.py", *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=150
    )


def drawn(path: Path, box: tuple[int, int, int, int] | None = None) -> bool:
    with Image.open(path) as opened:
        return len(opened.convert("RGB").crop(box).getcolors(1 << 20) or []) > 200


@pytest.mark.parametrize("session", ["x11", "wayland"])
@pytest.mark.parametrize("glx", [False, True])
def test_she_is_drawn_by_whichever_gl_the_screen_has(
    request: pytest.FixtureRequest, tmp_path: Path, session: str, glx: bool
) -> None:
    there: Screen = request.getfixturevalue("screen" if glx else "plain_screen")
    window, picture = tmp_path / "window.png", tmp_path / "her.png"
    more = {"XDG_SESSION_TYPE": session, "IDOL_MODELS": str(tmp_path / "models"), "PIP_INDEX_URL": "http://127.0.0.1:9"}
    done = start(there, tmp_path, "--quit-after", "4", "--screenshot", str(window), **more)
    assert done.returncode == 0, done.stderr
    assert drawn(window, (20, 200, 500, 560)), "nobody is on the stage"
    done = run_command(there, tmp_path, "snapshot", "--size", "200x200", "-o", str(picture), **more)
    assert done.returncode == 0 and drawn(picture), done.stderr


def test_a_screen_without_any_gl_is_said_and_she_can_still_be_heard(plain_screen: Screen, tmp_path: Path) -> None:
    more = {"IDOL_MODELS": str(tmp_path / "models"), "PIP_INDEX_URL": "http://127.0.0.1:9"}
    done = start(plain_screen, tmp_path, "--quit-after", "4", **NO_EGL, **more)
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "data" / "logs" / "idol.log").read_text(encoding="utf-8")
    assert "OpenGL cannot be used here" in log and "graphics driver" in log and "Traceback" not in log
    done = run_command(plain_screen, tmp_path, "snapshot", "-o", str(tmp_path / "her.png"), **NO_EGL)
    assert done.returncode == 1 and "snapshot: " in done.stderr and "graphics driver" in done.stderr
    assert "Traceback" not in done.stderr
    done = run_command(plain_screen, tmp_path, "doctor", "--json", **NO_EGL, **more)
    states = {row["name"]: row["state"] for row in json.loads(done.stdout)["findings"]}
    assert states["OpenGL"] == "bad"


def test_a_window_that_cannot_be_opened_says_why(screen: Screen, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom idol.ui.main_window import MainWindow\nfrom idol.cli import main\n"
        "def broken(self):\n    raise RuntimeError('no room for a window')\n"
        "MainWindow.start = broken\nsys.exit(main(['--no-audio']))\n"
    )
    environment = {**os.environ, **screen.environment, "IDOL_DATA": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "no room for a window" in done.stderr and "main.py doctor" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_window_on_the_same_data_says_so_and_leaves(screen: Screen, tmp_path: Path) -> None:
    more = {"IDOL_MODELS": str(tmp_path / "models"), "PIP_INDEX_URL": "http://127.0.0.1:9"}
    lock = tmp_path / "data" / "idol.lock"
    first = threading.Thread(target=lambda: start(screen, tmp_path, "--quit-after", "12", **more))
    first.start()
    deadline = time.monotonic() + 30
    while not lock.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    done = start(screen, tmp_path, "--quit-after", "1", **more)
    assert done.returncode == 1
    assert "open already" in done.stderr and str(tmp_path / "data") in done.stderr and "IDOL_DATA" in done.stderr
    first.join()
    assert not lock.exists()


def test_a_killed_window_keeps_nobody_out(screen: Screen, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom idol.cli.one_window import OneWindow\n"
        "window = OneWindow(Path(sys.argv[1]))\nprint(window.trouble(), flush=True)\nsys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == "\n"
    mine = OneWindow(tmp_path)
    assert f"process {child.pid}" in mine.trouble()
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert mine.trouble() == ""
    mine.close()


def test_a_folder_that_cannot_be_written_is_no_reason_to_stay_closed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert OneWindow(tmp_path / "file").trouble() == "" == OneWindow(tmp_path / "file" / "data").trouble()


@pytest.mark.models
def test_closing_while_it_loads_is_quick(screen: Screen, tmp_path: Path, model_path: Callable[[str], Path]) -> None:
    model_path("smollm2-135m")
    started = time.monotonic()
    done = start(screen, tmp_path, "--model", "smollm2-135m", "--quit-after", "1.5")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - started < 30


def test_the_stage_is_set_from_the_command_line_for_one_run(screen: Screen, tmp_path: Path) -> None:
    kept, shot = tmp_path / "settings.toml", tmp_path / "window.png"
    kept.write_text('[avatar]\nbackground = "#102030"\n', encoding="utf-8")
    words = ["--framing", "full", "--lighting", "evening", "--background", "key-blue", "--stage"]
    done = start(
        screen, tmp_path, *words, "--quit-after", "4", "--screenshot", str(shot), IDOL_MODELS=str(tmp_path / "models"),
        PIP_INDEX_URL="http://127.0.0.1:9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Image.open(shot) as opened:
        image = opened.convert("RGB")
    assert image.getpixel((5, 5)) == image.getpixel((890, 590)) == (0, 0, 255)
    assert len(image.getcolors(1 << 20) or []) > 200, "nobody is on the stage"
    assert kept.read_text(encoding="utf-8") == '[avatar]\nbackground = "#102030"\n'
    log = (tmp_path / "data" / "logs" / "idol.log").read_text(encoding="utf-8")
    assert "VRM Public License" in log and "Performing with it" in log
    remembered = json.loads((tmp_path / "data" / "stage.json").read_text(encoding="utf-8"))["avatars"]
    assert [entry["camera"] for entry in remembered] == [None]
    wrong = start(screen, tmp_path, "--background", "blue")
    assert wrong.returncode == 2 and "key-blue" in wrong.stderr
