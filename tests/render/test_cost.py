"""What a frame and a swap of avatars may cost: no GL object made while drawing, none left behind, little time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from idol.avatar import Avatar, load_avatar
from idol.render.camera import Camera
from idol.render.gl import GL
from idol.render.offscreen import OffscreenStage
from idol.render.small_target import SmallTarget
from idol.seams import FacePose
from tests.render.gl_count import MADE_AND_DELETED, watch_gl

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / "avatars" / "default.vrm"
MODELS = ROOT / "tests" / "data" / "models"
SIZE = (120, 120)
BACKGROUND = (0.9, 0.9, 0.9, 1.0)
FORBIDDEN = (
    *MADE_AND_DELETED, "glCompileShader", "glLinkProgram", "glShaderSource", "glGetUniformLocation",
    "glGetUniformBlockIndex", "glGetAttribLocation", "glGetIntegerv", "glGetString", "glTexImage2D",
    "glGenerateMipmap", "glRenderbufferStorage", "glRenderbufferStorageMultisample", "glVertexAttribPointer",
)  # fmt: skip


@pytest.fixture(scope="module")
def stage() -> Iterator[OffscreenStage]:
    with OffscreenStage() as held:
        yield held


def moving(i: int) -> FacePose:
    """All 52 shapes, head and body on the move."""
    face = (0.5 + 0.5 * np.sin(i * 0.37 + np.arange(52))).astype(np.float32)
    return FacePose(face, (0.2 * np.sin(i * 0.1), 0.1 * np.sin(i * 0.13), 0.0), (0.1, 0.05), (0.0, 0.0, 0.05), 0.5)


@pytest.mark.parametrize("path", [DEFAULT, MODELS / "expression_isbinary_vrm1.vrm"], ids=lambda path: path.stem)
def test_a_hundred_frames_make_compile_and_look_up_nothing(
    stage: OffscreenStage, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    avatar = load_avatar(path)
    stage.load(avatar)
    camera = Camera.framed(avatar.framing, "bust")
    names = [name for name in avatar.expression_names if not name.startswith("look")]
    stage.picture(camera, SIZE, BACKGROUND)
    # What this processor would rasterise is no part of the question.
    monkeypatch.setattr(GL, "glDrawElements", lambda *_: None)
    with watch_gl() as seen:
        for i in range(100):
            avatar.set_expression(names[i % len(names)], (i % 7) / 6)
            avatar.update(moving(i), 1 / 30)
            camera.orbit(0.02, 0.0)
            stage.picture(camera, SIZE, BACKGROUND)
    assert seen.calls["glDrawElements"] >= 100
    assert not {name: seen.calls[name] for name in FORBIDDEN if seen.calls[name]}
    assert not seen.resized
    assert not +seen.alive


def test_ten_swaps_leave_no_gl_object_and_no_memory() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.render.swaps"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout.splitlines()[-1])
    alive, memory = found["alive"], found["memory"]
    assert len(alive) == 10 and alive[0]["glGenTextures"] > 4
    assert all(held == alive[i % 2] for i, held in enumerate(alive))
    assert not found["left"]
    # The third and fourth swap against the last two, each a pair of both avatars.
    assert max(memory[8:]) <= max(memory[2:4]) * 1.03, [f"{size / 1e6:.0f} MB" for size in memory]


def draw_seconds(stage: OffscreenStage, avatar: Avatar, frames: int = 60) -> float:
    """Median CPU time of the calling thread for the draw half of a frame, without what a GPU would do.

    Mesa's software driver transforms vertices on the calling thread within ``glDrawElements``; a driver of a graphics
    card does not, so that call is left out and everything around it (culling, uploads, state) is timed.
    """
    camera = Camera.framed(avatar.framing, "bust")
    target = SmallTarget()
    real, times = GL.glDrawElements, []

    def run() -> None:
        target.bind(*SIZE)
        GL.glDrawElements = lambda *_: None
        try:
            for i in range(frames):
                avatar.update(moving(i), 1 / 30)
                started = time.thread_time()
                stage.renderer.draw(camera, *SIZE, BACKGROUND)
                times.append(time.thread_time() - started)
        finally:
            GL.glDrawElements = real
            target.release()

    stage.with_context(run)
    return float(np.median(times))


def test_the_draw_half_of_a_frame_costs_little(stage: OffscreenStage) -> None:
    avatar = load_avatar(DEFAULT)
    stage.load(avatar)
    # Half of the budget of 3 ms for update and draw together.
    assert min(draw_seconds(stage, avatar) for _ in range(2)) < 0.0015


def test_she_is_on_the_stage_soon(stage: OffscreenStage) -> None:
    """From the file to the first picture, 480 x 480: processor time, so that a busy machine does not decide."""
    started = time.process_time()
    avatar = load_avatar(DEFAULT)
    stage.load(avatar)
    stage.picture(Camera.framed(avatar.framing, "bust"), (480, 480), BACKGROUND)
    assert time.process_time() - started < 1.5
