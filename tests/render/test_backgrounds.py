"""What is behind her: pictures come out as they are, a key colour is never mixed with her, bad files are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from idol.avatar import Avatar, load_avatar
from idol.render.background_file import KEPT_SIDE, BackgroundError, read_background
from idol.render.camera import Camera
from idol.render.gl import GL
from idol.render.offscreen import OffscreenStage, settle
from idol.render.renderer import AvatarRenderer
from idol.render.scenery import KEYS, Scenery
from idol.render.screen_pass import cover
from idol.render.small_target import SmallTarget
from idol.seams import FacePose

GODETTE = Path(__file__).resolve().parents[1] / "data" / "models" / "godette_vrm1.vrm"
SIZE = (200, 150)
CLEAR = (0.0, 0.0, 0.0, 0.0)
Pixels = NDArray[np.uint8]


@pytest.fixture(scope="module")
def godette() -> Avatar:
    avatar = load_avatar(GODETTE)
    settle(avatar, FacePose(np.zeros(52, np.float32)))
    return avatar


@pytest.fixture(scope="module")
def stage(godette: Avatar) -> Iterator[OffscreenStage]:
    with OffscreenStage() as held:
        held.load(godette)
        yield held


@pytest.fixture(scope="module")
def camera(godette: Avatar) -> Camera:
    return Camera.framed(godette.framing, "bust", SIZE[0] / SIZE[1])


def noise(width: int, height: int) -> Pixels:
    pixels = np.random.default_rng(7).integers(0, 256, (height, width, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    return pixels


def test_a_picture_of_the_frames_size_comes_out_exactly(stage: OffscreenStage, camera: Camera) -> None:
    bare = stage.picture(camera, SIZE, CLEAR)[..., 3] == 0
    behind = noise(*SIZE)
    drawn = stage.picture(camera, SIZE, (1.0, 0.0, 0.0, 1.0), behind=behind)
    assert 0.2 < bare.mean() < 0.9
    assert (drawn[bare] == behind[bare]).all()
    assert (drawn[..., 3] == 255).all()
    assert (drawn[~bare] == behind[~bare]).all(axis=1).mean() < 0.01


def test_a_larger_picture_covers_the_frame_from_its_middle(stage: OffscreenStage, camera: Camera) -> None:
    wide = np.zeros((300, 1200, 4), np.uint8)
    wide[..., 3] = 255
    wide[:, :400, 0] = wide[:, 800:, 0] = 255  # its sides are red: the frame of 4:3 shows the middle third only
    wide[:100, :, 2] = 255
    drawn = stage.picture(camera, SIZE, (0.0, 1.0, 0.0, 1.0), behind=wide)
    assert tuple(drawn[5, 100]) == (0, 0, 255, 255), "the first row is on top"
    assert drawn[140, 3, 0] == 0 and drawn[140, -3, 0] == 0 and drawn[..., 1][140, 3] == 0
    assert cover((400, 100), (100, 100)) == (0.25, 1.0, 0.375, 0.0)
    assert cover((100, 400), (100, 100)) == (1.0, 0.25, 0.0, 0.375)


def test_clear_parts_of_a_picture_show_the_colour(stage: OffscreenStage, camera: Camera) -> None:
    behind = np.zeros((SIZE[1], SIZE[0], 4), np.uint8)
    behind[:, :100] = (255, 0, 0, 128)
    drawn = stage.picture(camera, SIZE, (0.0, 0.0, 1.0, 1.0), behind=behind)
    assert np.abs(drawn[3, 3].astype(int) - (128, 0, 127, 255)).max() <= 1
    assert tuple(drawn[3, -3]) == (0, 0, 255, 255)


@pytest.mark.parametrize("name", KEYS)
def test_a_key_colour_is_never_mixed_with_her(stage: OffscreenStage, camera: Camera, name: str) -> None:
    key = np.rint(np.asarray(KEYS[name]) * 255)
    clear = stage.picture(camera, SIZE, CLEAR)
    keyed = stage.picture(camera, SIZE, CLEAR, key=name)
    hers = clear[..., 3] >= 128
    assert (keyed[~hers][:, :3] == key).all() and (keyed[..., 3] == 255).all()
    assert np.abs(keyed[hers][:, :3].astype(int) - clear[hers][:, :3]).max() <= 2, "her own colours, to the edge"
    partly = (clear[..., 3] > 0) & (clear[..., 3] < 255)
    assert partly.sum() > 50, "there are edges to be mixed"
    mixed = stage.picture(camera, SIZE, (*KEYS[name], 1.0))
    assert (np.abs(mixed.astype(int) - keyed)[partly].max(axis=1) > 40).sum() > 20, "which a plain colour does"


def test_a_key_is_clean_where_she_is_drawn_small(stage: OffscreenStage, godette: Avatar, camera: Camera) -> None:
    def draw() -> tuple[Pixels, int]:
        renderer, target, scenery = AvatarRenderer(cheap=True), SmallTarget(), Scenery(0, cheap=True)
        try:
            renderer.load(godette)
            target.bind(*SIZE)
            pixels = []
            for key in (KEYS["green"], KEYS["magenta"]):
                scenery.key = key
                scenery.paint(renderer, camera, target._frame, SIZE, (SIZE[0] // 3, SIZE[1] // 3))
                read = np.empty((SIZE[1], SIZE[0], 4), np.uint8)
                GL.glReadPixels(0, 0, *SIZE, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, read)
                pixels.append(read)
            held = scenery.object_count
            scenery.release()
            assert scenery.object_count == 0
            return np.stack(pixels), held
        finally:
            target.release()
            renderer.release()

    (green, magenta), held = stage.with_context(draw)
    hers = (green == magenta).all(axis=2)
    assert held > 0 and 0.1 < hers.mean() < 0.8
    assert (green[~hers] == (0, 255, 0, 255)).all() and (magenta[~hers] == (255, 0, 255, 255)).all()


def test_files_are_read_turned_and_shrunk(tmp_path: Path) -> None:
    Image.new("RGB", (3000, 1500), "#123456").save(tmp_path / "wide.jpg", quality=95)
    wide = read_background(tmp_path / "wide.jpg")
    assert wide.shape == (KEPT_SIDE // 2, KEPT_SIDE, 4) and np.abs(wide[9, 9].astype(int) - (18, 52, 86, 255)).max() < 4
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    Image.new("RGB", (40, 20)).save(tmp_path / "upright.jpg", exif=exif)
    assert read_background(tmp_path / "upright.jpg").shape == (40, 20, 4)
    for kind in ("png", "webp"):
        Image.new("RGBA", (8, 4), (1, 2, 3, 4)).save(tmp_path / f"clear.{kind}", lossless=True)
        assert tuple(read_background(tmp_path / f"clear.{kind}")[0, 0]) == (1, 2, 3, 4)


def test_files_that_are_no_pictures_are_told(tmp_path: Path) -> None:
    text, cut, vector = tmp_path / "a.png", tmp_path / "cut.png", tmp_path / "x.png"
    text.write_text("hello")
    Image.fromarray(noise(64, 64)).save(cut)
    cut.write_bytes(cut.read_bytes()[:3000])
    Image.new("RGB", (4, 4)).save(vector, "GIF")
    for path, said in (
        (tmp_path / "none.png", "is not there"), (text, "no PNG, JPEG or WebP"), (vector, "no PNG, JPEG or WebP"),
        (cut, "cannot be read"), (tmp_path, "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(BackgroundError, match=said) as caught:
            read_background(path)
        assert path.name in str(caught.value) and "hoose" in str(caught.value)
