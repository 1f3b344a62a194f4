"""An avatar uploaded in steps while another is drawn: nothing changes before its time, nothing is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from idol.avatar import load_avatar
from idol.render import resources, upload
from idol.render.camera import Camera
from idol.render.gl import GL, RenderError
from idol.render.mipmaps import levels_below
from idol.render.offscreen import OffscreenStage
from idol.render.prepared import prepare
from tests.render.gl_count import watch_gl
from tests.rig import Screen

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "data" / "models"
OLD, NEW = MODELS / "godette_vrm1.vrm", MODELS / "mtoon_uv_animation_vrm1.vrm"


@pytest.fixture
def stage() -> Iterator[OffscreenStage]:
    with OffscreenStage() as held:
        held.load(load_avatar(OLD))
        yield held


def picture(stage: OffscreenStage) -> NDArray[np.uint8]:
    assert stage.renderer.avatar is not None
    return stage.picture(Camera.framed(stage.renderer.avatar.framing, "full"), (96, 96), (0.2, 0.4, 0.6, 1.0))


def test_the_old_one_is_drawn_until_the_new_one_is_there(
    stage: OffscreenStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_BAND_BYTES", 20_000)
    old = picture(stage)
    coming = stage.renderer.begin(prepare(load_avatar(NEW)))
    steps, shares = 0, [0.0]
    while coming.step():
        steps += 1
        shares.append(coming.share)
        assert (picture(stage) == old).all()
    assert steps > 12 and shares == sorted(shares) and shares[-1] == 1.0
    assert coming.cold
    while stage.renderer.warm(coming):
        assert (picture(stage) == old).all()
    stage.renderer.take(coming)
    stepped = picture(stage)
    count = stage.renderer.object_count
    stage.load(load_avatar(NEW))
    assert (picture(stage) == stepped).all() and (stepped != old).any()
    assert stage.renderer.object_count == count


@pytest.mark.parametrize("steps", [0, 1, 5, 9, 1000])
def test_a_dropped_one_leaves_nothing_and_the_old_one_in_place(stage: OffscreenStage, steps: int) -> None:
    old, held = picture(stage), stage.renderer.object_count
    with watch_gl() as seen:
        coming = stage.renderer.begin(prepare(load_avatar(NEW)))
        for _ in range(steps):
            if not coming.step():
                stage.renderer.warm(coming)
                break
        stage.renderer.drop(coming)
        stage.renderer.drop(coming)
        assert (picture(stage) == old).all()
    assert not +seen.alive and stage.renderer.object_count == held


@pytest.mark.parametrize("place", ["_drawable", "check", "material_features"])
def test_one_that_fails_leaves_nothing_and_the_old_one_in_place(
    stage: OffscreenStage, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, held = picture(stage), stage.renderer.object_count
    module = resources if place == "_drawable" else upload
    real, calls = getattr(module, place), []

    def failing(*words: object, **more: object) -> object:
        calls.append(place)
        if len(calls) == 2:
            raise RenderError("out of memory")
        return real(*words, **more)

    monkeypatch.setattr(module, place, failing)
    prepared = prepare(load_avatar(OLD))  # has several of each
    with watch_gl() as seen:
        coming = stage.renderer.begin(prepared)
        with pytest.raises(RenderError, match="out of memory"):
            while coming.step():
                pass
        assert (picture(stage) == old).all()
    assert len(calls) == 2 and not +seen.alive and stage.renderer.object_count == held


@pytest.mark.parametrize("shape", [(64, 64), (96, 48), (37, 50), (1, 5), (1, 1)])
@pytest.mark.parametrize("srgb", [True, False])
def test_levels_are_those_of_the_driver(stage: OffscreenStage, shape: tuple[int, int], srgb: bool) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (*shape, 4), dtype=np.uint8)
    name = int(GL.glGenTextures(1))
    GL.glBindTexture(GL.GL_TEXTURE_2D, name)
    inside = GL.GL_SRGB8_ALPHA8 if srgb else GL.GL_RGBA8
    form = (GL.GL_RGBA, GL.GL_UNSIGNED_BYTE)
    GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, inside, shape[1], shape[0], 0, *form, pixels)
    GL.glGenerateMipmap(GL.GL_TEXTURE_2D)
    levels = levels_below(pixels, srgb)
    assert len(levels) == max(shape).bit_length() - 1
    for number, level in enumerate(levels, 1):
        theirs = np.empty(level.shape, np.uint8)
        GL.glGetTexImage(GL.GL_TEXTURE_2D, number, *form, theirs)
        # Mesa rounds plain bytes down at each level, so its error adds up; its weights of odd sides have eight bits.
        assert np.abs(theirs.astype(int) - level).max() <= (2 if srgb else 1 + number)
    GL.glDeleteTextures(1, np.asarray([name], np.uint32))


def test_a_light_and_a_dark_texel_meet_in_linear_light() -> None:
    pixels = np.asarray([[[0, 0, 0, 0], [255, 255, 255, 255]]] * 2, np.uint8)
    assert levels_below(pixels, True)[0].tolist() == [[[188, 188, 188, 128]]]
    assert levels_below(pixels, False)[0].tolist() == [[[128, 128, 128, 128]]]


PROGRAM = """
import json
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from idol.avatar import load_avatar
from idol.render import AvatarView, resources
from idol.render.gl import RenderError
from idol.render.prepared import prepare
app = QApplication([])
names = "godette_vrm1.vrm", "mtoon_uv_animation_vrm1.vrm"
old, new = (load_avatar(Path("tests/data/models") / name) for name in names)
view, seen, shares, told = AvatarView(), {}, [], []
view.bringing.connect(shares.append)
view.resize(200, 200)
view.set_avatar(old)
view.start_own_timer()
view.show()
real = resources._drawable

def failing(*words):
    raise RenderError("no room for her")

def dismissed():
    seen["before"] = view.renderer.object_count
    view.bring(prepare(new), told.append)
    QTimer.singleShot(20, stop)

def stop():
    view.dismiss()
    seen["dismissed"] = view.renderer.object_count
    resources._drawable = failing
    view.bring(prepare(new), failed)

def failed(message):
    told.append(message)
    resources._drawable = real
    seen["failed"] = view.renderer.object_count
    seen["stays"] = view.avatar is old and view.renderer.avatar is old and not view.message
    seen["drawn"] = view.frames_drawn
    view.bring(prepare(new), arrived)

def arrived(message):
    told.append(message)
    seen["frames"] = view.frames_drawn - seen["drawn"]
    seen["still"] = view.renderer.avatar is old
    view.set_avatar(new)
    seen["at once"] = view.renderer.avatar is new
    QTimer.singleShot(200, end)

def end():
    view.bring(prepare(old), told.append)
    QTimer.singleShot(20, close)

def close():
    seen["told"], seen["share"] = told, max(shares)
    view.shutdown()
    seen["left"] = view.renderer.object_count
    print(json.dumps(seen))
    app.quit()

QTimer.singleShot(1200, dismissed)
app.exec()
"""


@pytest.mark.screen
def test_a_view_lets_one_come_go_and_fail(screen: Screen) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env={**os.environ, **screen.environment}, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["before"] == seen["dismissed"] == seen["failed"] > 4 and seen["stays"]
    assert seen["told"] == ["no room for her", ""] and seen["share"] == 1.0
    assert seen["frames"] >= 2 and seen["still"] and seen["at once"]
    assert seen["left"] == 0
