"""MToon and glTF surfaces, pixel by pixel: each made scene is compared with the formula of its specification, worked
out here in linear light and encoded to sRGB at the end (VRMC_materials_mtoon 1.0, glTF 2.0, KHR_texture_transform)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.render.camera import FIELD_OF_VIEW, Camera
from idol.render.lighting import LIGHTINGS, Lighting
from idol.render.offscreen import OffscreenStage
from tests.render.scenes import Scene, decoded, encoded

SIZE = 96
DARK = (0.0, 0.0, 0.0)
BASE, SHADE = np.asarray([0.8, 0.5, 0.2]), np.asarray([0.3, 0.1, 0.05])
KEY, SKY, GROUND = np.asarray([0.7, 0.6, 0.5]), np.asarray([0.2, 0.1, 0.3]), np.asarray([0.05, 0.1, 0.0])
TOWARD = np.asarray([0.0, 0.6, 0.8])
CLEAR = (0.0, 0.0, 0.0, 0.0)
LIGHT = Lighting((0.0, 0.6, 0.8), tuple(KEY), tuple(SKY), tuple(GROUND), (1, 0, 0), DARK, (0, 0, -1), DARK)  # type: ignore[arg-type]
WHITE = Lighting((0.0, 0.0, 1.0), (1, 1, 1), DARK, DARK, (1, 0, 0), DARK, (0, 0, -1), DARK)
Picture = NDArray[np.uint8]


@pytest.fixture(scope="module")
def stage() -> Iterator[OffscreenStage]:
    with OffscreenStage() as held:
        yield held


def shot(
    stage: OffscreenStage,
    avatar: Avatar,
    light: Lighting = LIGHT,
    time: float = 0.0,
    background: tuple[float, float, float, float] = CLEAR,
    distance: float = 4.0,
    size: tuple[int, int] = (SIZE, SIZE),
) -> Picture:
    stage.load(avatar)
    stage.renderer.lighting = light
    avatar.time = time
    try:
        return stage.picture(Camera((0.0, 0.0, 0.0), distance), size, background)
    finally:
        stage.renderer.lighting = LIGHTINGS["studio"]


def middle(picture: Picture) -> NDArray[np.float64]:
    return picture[SIZE // 2 - 2 : SIZE // 2 + 2, SIZE // 2 - 2 : SIZE // 2 + 2, :3].astype(float).mean(axis=(0, 1))


def near(seen: Any, linear: Any, tolerance: float = 1.6) -> None:
    assert np.abs(np.asarray(seen) - encoded(linear)).max() <= tolerance, (seen, encoded(linear))


def mtoon(**more: Any) -> dict[str, Any]:
    return {"shadeColorFactor": SHADE.tolist(), "giEqualizationFactor": 1.0, **more}


def ramp(cosine: float, shift: float, toony: float) -> float:
    low, high = -1.0 + toony, 1.0 - toony
    return min(max((cosine + shift - low) / (high - low), 0.0), 1.0)


EVEN = (SKY + GROUND) / 2


@pytest.mark.parametrize("angle", [-1.2, -0.2, 0.3, 0.9, 1.4, 2.4])
@pytest.mark.parametrize(("shift", "toony"), [(0.0, 0.9), (-0.3, 0.5), (0.4, 0.0)])
def test_shade_follows_the_ramp(stage: OffscreenStage, angle: float, shift: float, toony: float) -> None:
    scene = Scene()
    normal = (0.0, math.sin(angle), math.cos(angle))
    material = scene.material(mtoon(shadingShiftFactor=shift, shadingToonyFactor=toony), (*BASE, 1))
    scene.quad(material, normal=normal)
    lit = ramp(float(np.dot(normal, TOWARD)), shift, toony)
    near(middle(shot(stage, scene.avatar())), (SHADE * (1 - lit) + BASE * lit) * KEY + BASE * EVEN)


def test_shade_and_shift_textures(stage: OffscreenStage) -> None:
    scene = Scene()
    shade, shift = scene.texture([[(200, 100, 50)]]), scene.texture([[(64, 255, 255)]])
    properties = mtoon(
        shadeMultiplyTexture={"index": shade}, shadingShiftTexture={"index": shift, "scale": -2.0},
        shadingToonyFactor=0.2,
    )  # fmt: skip
    scene.quad(scene.material(properties, (*BASE, 1)))
    # The shift is linear and of one channel, the shade colour sRGB.
    lit = ramp(0.8, 64 / 255 * -2.0, 0.2)
    shaded = SHADE * decoded([200, 100, 50])
    near(middle(shot(stage, scene.avatar())), (shaded * (1 - lit) + BASE * lit) * KEY + BASE * EVEN)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_ambient_is_equalised(stage: OffscreenStage, share: float) -> None:
    scene = Scene()
    scene.quad(scene.material(mtoon(giEqualizationFactor=share, shadingShiftFactor=1.0), (*BASE, 1)), normal=(0, 3, 4))
    raw = GROUND + (SKY - GROUND) * (0.6 * 0.5 + 0.5)
    near(middle(shot(stage, scene.avatar())), BASE * (KEY + raw * (1 - share) + EVEN * share))


@pytest.mark.parametrize("shift", [0.0, -1.9])
@pytest.mark.parametrize("mix", [0.0, 0.4, 1.0])
def test_parametric_rim(stage: OffscreenStage, mix: float, shift: float) -> None:
    scene = Scene()
    mask = scene.texture([[(128, 255, 200)]])
    color = np.asarray([0.5, 0.3, 0.9])
    properties = mtoon(
        parametricRimColorFactor=color.tolist(), parametricRimFresnelPowerFactor=2.0, parametricRimLiftFactor=0.1,
        rimMultiplyTexture={"index": mask}, rimLightingMixFactor=mix, shadingShiftFactor=shift,
    )  # fmt: skip
    scene.quad(scene.material(properties, (*BASE, 1)), normal=(0.0, 3.0, 4.0))
    # Lit in full (0.6 * 0.6 + 0.8 * 0.8 = 1); the rim stands in the light even where the surface does not.
    rim = color * (1 - 0.8 + 0.1) ** 2 * decoded([128, 255, 200])
    rim = rim * (1 + (KEY + EVEN - 1) * mix)
    surface = (BASE if shift == 0.0 else SHADE) * KEY + BASE * EVEN
    near(middle(shot(stage, scene.avatar())), surface + rim)


@pytest.mark.parametrize(("normal", "at"), [((1, 1, 1), (1, 0)), ((-1, 1, 1), (0, 0)), ((1, -1, 1), (1, 1))])
def test_matcap_is_seen_by_the_normal(stage: OffscreenStage, normal: tuple[float, ...], at: tuple[int, int]) -> None:
    scene = Scene()
    colors = [[(180, 20, 20), (20, 180, 20)], [(20, 20, 180), (150, 150, 20)]]
    factor = np.asarray([0.9, 0.6, 0.3])
    properties = mtoon(matcapTexture={"index": scene.texture(colors)}, matcapFactor=factor.tolist())
    scene.quad(scene.material({**properties, "rimLightingMixFactor": 0.0}, (0, 0, 0, 1)), normal=normal)  # type: ignore[arg-type]
    light = Lighting((0, 0, 1), DARK, DARK, DARK, (1, 0, 0), DARK, (0, 0, -1), DARK)
    column, row = at
    near(middle(shot(stage, scene.avatar(), light)), factor * decoded(colors[row][column]))


def test_emission_has_its_strength_and_texture(stage: OffscreenStage) -> None:
    scene = Scene()
    texture = scene.texture([[(100, 200, 50)]])
    extension = {"KHR_materials_emissive_strength": {"emissiveStrength": 2.5}}
    scene.quad(
        scene.material(
            mtoon(), (0, 0, 0, 1), emissiveFactor=[0.2, 0.3, 0.4], emissiveTexture={"index": texture},
            extensions=extension,
        )
    )  # fmt: skip
    near(middle(shot(stage, scene.avatar())), np.asarray([0.2, 0.3, 0.4]) * 2.5 * decoded([100, 200, 50]))


@pytest.mark.parametrize(("texel", "tilt"), [((128, 255, 128), 1.0), ((128, 0, 128), -1.0)])
def test_a_normal_map_tilts_up_where_it_is_green(
    stage: OffscreenStage, texel: tuple[int, int, int], tilt: float
) -> None:
    scene = Scene()
    properties = mtoon(shadingToonyFactor=0.0)
    entry = {"index": scene.texture([[texel]]), "scale": 0.5}
    scene.quad(scene.material(properties, (*BASE, 1), normalTexture=entry))
    vector = np.asarray(texel) / 255 * 2 - 1
    vector[:2] *= 0.5
    # Green is up in the picture: the texture's own top.
    normal = np.asarray([vector[0], vector[1], max(vector[2], 1e-3)])
    normal /= np.linalg.norm(normal)
    assert normal[1] * tilt > 0
    lit = ramp(float(normal @ TOWARD), 0.0, 0.0)
    near(middle(shot(stage, scene.avatar())), (SHADE * (1 - lit) + BASE * lit) * KEY + BASE * EVEN, 2.5)


def test_vertex_colours_count_for_gltf_but_not_for_mtoon(stage: OffscreenStage) -> None:
    color = (0.02, 0.5, 0.9, 1.0)
    for properties, expected in ((mtoon(shadingShiftFactor=1.0), BASE), (None, BASE * color[:3])):
        scene = Scene()
        more = {} if properties else {"extensions": {"KHR_materials_unlit": {}}}
        scene.quad(scene.material(properties, (*BASE, 1), **more), color=color)
        near(middle(shot(stage, scene.avatar(), WHITE)), expected)


def test_unlit_shows_its_colour_in_any_light(stage: OffscreenStage) -> None:
    for light in (LIGHT, WHITE, LIGHTINGS["neon"]):
        scene = Scene()
        surface = {"baseColorTexture": {"index": scene.texture([[(90, 160, 220)]])}}
        extension = {"KHR_materials_unlit": {}}
        scene.quad(scene.material(None, (0.5, 0.6, 0.7, 1), surface=surface, extensions=extension))
        near(middle(shot(stage, scene.avatar(), light)), np.asarray([0.5, 0.6, 0.7]) * decoded([90, 160, 220]))


def test_a_rough_surface_is_lambert_with_a_little_gloss(stage: OffscreenStage) -> None:
    scene = Scene()
    scene.quad(scene.material(None, (*BASE, 1)), normal=(0.0, 3.0, 4.0))
    seen = decoded(middle(shot(stage, scene.avatar(), WHITE)))
    # n = (0, .6, .8), l = v = h: N·L = N·H = 0.8; roughness 1 makes the lobe even, so D V pi = 0.25 / (N·L) / 2.
    expected = (BASE + 0.04 * 0.5 / (2 * 0.8)) * 0.8
    assert np.abs(encoded(seen) - encoded(expected)).max() <= 3


def test_what_faces_away_is_culled_unless_double_sided(stage: OffscreenStage) -> None:
    for double in (False, True):
        scene = Scene()
        material = scene.material(mtoon(), (*BASE, 1), doubleSided=double)
        scene.quad(material, turned=True, normal=(0, 0, -1))
        picture = shot(stage, scene.avatar(), WHITE)
        assert (picture[SIZE // 2, SIZE // 2, 3] > 0) == double
        if double:
            near(middle(picture), BASE)  # its normal is turned to the viewer, so it is lit


# Textures that move

CORNERS = [[(255, 0, 0), (0, 255, 0)], [(0, 0, 255), (255, 255, 255)]]


def looked_up(u: float, v: float) -> tuple[int, ...]:
    return CORNERS[int((v % 1.0) * 2)][int((u % 1.0) * 2)]


@pytest.mark.parametrize("time", [0.0, 0.3, 1.0, 2.2])
@pytest.mark.parametrize(("scroll", "turn"), [((0.25, 0.0), 0.0), ((0.0, -0.4), 0.0), ((0.1, 0.3), 0.8)])
def test_uv_animation(stage: OffscreenStage, time: float, scroll: tuple[float, float], turn: float) -> None:
    for mask in (255, 128):
        scene = Scene()
        texture, masking = scene.texture(CORNERS), scene.texture([[(0, 0, mask)]])
        properties = mtoon(
            shadingShiftFactor=1.0, uvAnimationScrollXSpeedFactor=scroll[0], uvAnimationScrollYSpeedFactor=scroll[1],
            uvAnimationRotationSpeedFactor=turn, uvAnimationMaskTexture={"index": masking},
        )  # fmt: skip
        scene.quad(scene.material(properties, surface={"baseColorTexture": {"index": texture}}), size=1.5)
        picture = shot(stage, scene.avatar(), WHITE, time)
        amount = time * mask / 255
        c, s = math.cos(turn * amount), math.sin(turn * amount)
        pixels = SIZE / (2 * 4.0 * math.tan(FIELD_OF_VIEW / 2))
        judged = 0
        for u in np.linspace(0.05, 0.95, 10):
            for v in np.linspace(0.05, 0.95, 10):
                du, dv = u - 0.5, v - 0.5
                x, y = c * du + s * dv + 0.5 + scroll[0] * amount, -s * du + c * dv + 0.5 + scroll[1] * amount
                if min(abs((x * 2) % 1.0 - 0.5), abs((y * 2) % 1.0 - 0.5)) > 0.42:
                    continue
                if max(abs((x * 2) % 1.0 - 0.5), abs((y * 2) % 1.0 - 0.5)) > 0.42:
                    continue  # too near a border of the texture
                place = round(SIZE / 2 + dv * 1.5 * pixels - 0.5), round(SIZE / 2 + du * 1.5 * pixels - 0.5)
                assert tuple(picture[place][:3]) == looked_up(x, y), (u, v)
                judged += 1
        assert judged > 30


def test_texture_transform_scales_turns_and_moves(stage: OffscreenStage) -> None:
    scene = Scene()
    turn, scale, offset = 0.7, (0.5, 2.0), (0.13, 0.4)
    extension = {"KHR_texture_transform": {"rotation": turn, "scale": scale, "offset": offset}}
    surface = {"baseColorTexture": {"index": scene.texture(CORNERS), "extensions": extension}}
    scene.quad(
        scene.material(None, surface=surface, extensions={"KHR_materials_unlit": {}}), size=1.5
    )  # fmt: skip
    picture = shot(stage, scene.avatar())
    c, s = math.cos(turn), math.sin(turn)
    pixels = SIZE / (2 * 4.0 * math.tan(FIELD_OF_VIEW / 2))
    right = 0
    for u in np.linspace(0.1, 0.9, 9):
        for v in np.linspace(0.1, 0.9, 9):
            x, y = u * scale[0], v * scale[1]
            found = looked_up(c * x + s * y + offset[0], -s * x + c * y + offset[1])
            row, column = (
                round(SIZE / 2 + (v - 0.5) * 1.5 * pixels - 0.5),
                round(SIZE / 2 + (u - 0.5) * 1.5 * pixels - 0.5),
            )
            right += tuple(picture[row, column][:3]) == found
    assert right >= 74  # of 81: a few lie on a border


# Outlines


def rim_width(picture: Picture) -> float:
    """Pixels of pure red left of the ball, in its middle row."""
    row = picture[picture.shape[0] // 2].astype(float)
    return float((row[: len(row) // 2, 0] - row[: len(row) // 2, 1]).clip(0).sum() / 255)


@pytest.mark.parametrize("distance", [3.0, 5.0])
@pytest.mark.parametrize("mode", ["worldCoordinates", "screenCoordinates"])
def test_outline_width_is_metres_or_a_share_of_the_height(stage: OffscreenStage, mode: str, distance: float) -> None:
    scene = Scene()
    texture = scene.texture([[(255, 128, 255)]])
    properties = mtoon(
        outlineWidthMode=mode, outlineWidthFactor=0.05, outlineColorFactor=[1, 0, 0], outlineLightingMixFactor=0.0,
        outlineWidthMultiplyTexture={"index": texture}, shadeColorFactor=[1, 1, 1],
    )  # fmt: skip
    scene.ball(scene.material(properties), 0.3)
    picture = shot(stage, scene.avatar(), WHITE, distance=distance, size=(200, 200))
    width = 0.05 * 128 / 255
    depth = distance  # the silhouette of a small ball lies about its centre
    expected = width * 200 / (2 * depth * math.tan(FIELD_OF_VIEW / 2)) if mode == "worldCoordinates" else width * 200
    assert rim_width(picture) == pytest.approx(expected, abs=0.7)


@pytest.mark.parametrize("mix", [0.0, 0.5, 1.0])
def test_outline_takes_part_of_the_light_and_the_glow(stage: OffscreenStage, mix: float) -> None:
    scene = Scene()
    color = np.asarray([0.9, 0.4, 0.2])
    properties = mtoon(
        outlineWidthMode="worldCoordinates", outlineWidthFactor=0.2, outlineColorFactor=color.tolist(),
        outlineLightingMixFactor=mix, shadingShiftFactor=1.0, shadingToonyFactor=1.0,
    )  # fmt: skip
    scene.ball(scene.material(properties, (*BASE, 1), emissiveFactor=[0.1, 0.0, 0.05]), 0.3)
    picture = shot(stage, scene.avatar())
    lit = BASE * (KEY + EVEN) + np.asarray([0.1, 0.0, 0.05])
    pixels = SIZE / (2 * 4.0 * math.tan(FIELD_OF_VIEW / 2))
    near(picture[SIZE // 2, round(SIZE / 2 - 0.4 * pixels), :3], color * (1 + (lit - 1) * mix), 2.0)


# Order and transparency


def layers(entries: list[tuple[dict[str, Any], dict[str, Any], tuple[float, ...], float]]) -> Scene:
    """Quads of (MToon, material, colour, z) in the file's order."""
    scene = Scene()
    for properties, more, color, z in entries:
        scene.quad(scene.material(mtoon(shadingShiftFactor=1.0, **properties), color, **more), z=z)
    return scene


RED, GREEN, BLUE = (1.0, 0.0, 0.0, 0.5), (0.0, 1.0, 0.0, 0.5), (0.0, 0.0, 1.0, 1.0)
BLACK = (0.0, 0.0, 0.0, 1.0)
BLEND = {"alphaMode": "BLEND"}


def over(*colors: tuple[float, ...]) -> NDArray[np.float64]:
    """Blended as seen on screen, in encoded values, the first at the back."""
    out = np.zeros(3)
    for *color, alpha in colors:
        out = encoded(color) / 255 * alpha + out * (1 - alpha)
    return out * 255


def test_blending_is_done_in_what_the_screen_shows(stage: OffscreenStage) -> None:
    grey = (0.2, 0.5, 0.8, 0.3)
    picture = shot(stage, layers([({}, BLEND, grey, 0.0)]).avatar(), WHITE, background=(0.4, 0.1, 0.9, 1.0))
    expected = encoded(grey[:3]) * 0.3 + np.asarray([0.4, 0.1, 0.9]) * 255 * 0.7
    assert np.abs(middle(picture) - expected).max() <= 1.6


def test_opaque_then_mask_then_blend_with_depth_then_blend(stage: OffscreenStage) -> None:
    depth = {"transparentWithZWrite": True}
    # Later kinds come first in the file; each lies before the one that is drawn ahead of it.
    scene = layers([({}, BLEND, RED, 0.03), (depth, BLEND, GREEN, 0.02), ({}, {}, BLUE, 0.0)])
    assert np.abs(middle(shot(stage, scene.avatar(), WHITE, background=BLACK)) - over(BLUE, GREEN, RED)).max() <= 2
    # One that writes depth hides a plain one behind it; a plain one never hides.
    scene = layers([({}, BLEND, RED, -0.02), (depth, BLEND, GREEN, 0.02)])
    assert np.abs(middle(shot(stage, scene.avatar(), WHITE, background=BLACK)) - over(GREEN)).max() <= 2


@pytest.mark.parametrize("flip", [False, True])
def test_queue_offsets_order_what_blends(stage: OffscreenStage, flip: bool) -> None:
    later, sooner = ({"renderQueueOffsetNumber": 0}, {"renderQueueOffsetNumber": -5})
    entries = [(later, BLEND, RED, 0.0), (sooner, BLEND, GREEN, 0.05)]
    scene = layers(entries[::-1] if flip else entries)
    # The offset decides, neither the file's order nor the depth.
    assert np.abs(middle(shot(stage, scene.avatar(), WHITE, background=BLACK)) - over(GREEN, RED)).max() <= 2


@pytest.mark.parametrize("flip", [False, True])
def test_equal_queues_are_drawn_from_the_back(stage: OffscreenStage, flip: bool) -> None:
    entries: list[Any] = [({}, BLEND, RED, -0.2), ({}, BLEND, GREEN, 0.2)]
    scene = layers(entries[::-1] if flip else entries)
    assert np.abs(middle(shot(stage, scene.avatar(), WHITE, background=BLACK)) - over(RED, GREEN)).max() <= 2


def test_the_edge_of_a_mask_is_smooth_and_what_it_keeps_is_opaque(stage: OffscreenStage) -> None:
    scene = Scene()
    texture = scene.texture([[(255, 255, 255, 255), (255, 255, 255, 0)]])
    scene.document["samplers"] = [{"magFilter": 9729, "minFilter": 9729, "wrapS": 33071, "wrapT": 33071}]
    properties = mtoon(shadingShiftFactor=1.0)
    surface = {"baseColorTexture": {"index": texture}}
    scene.quad(scene.material(properties, surface=surface, alphaMode="MASK", alphaCutoff=0.4), size=1.5)
    scene.document["nodes"][0]["rotation"] = [0.0, 0.0, math.sin(0.05), math.cos(0.05)]
    picture = shot(stage, scene.avatar(), WHITE, size=(SIZE, SIZE))
    alpha = picture[SIZE // 3 : -SIZE // 3, :, 3].astype(int)
    assert set(np.unique(alpha)) - {0, 255}, "no pixel is covered in part"
    # Laid over green, the transparent picture is the one drawn on green.
    keyed = shot(stage, scene.avatar(), WHITE, background=(0.0, 1.0, 0.0, 1.0))
    share = picture[..., 3:].astype(float) / 255
    laid = picture[..., :3] * share + np.asarray([0, 255, 0]) * (1 - share)
    assert np.abs(laid - keyed[..., :3]).max() <= 3
    # Straight alpha: wherever anything is covered, its colour is full white.
    assert (picture[SIZE // 3 : -SIZE // 3][alpha > 40][:, :3] >= 250).all()
    pixels = SIZE / (2 * 4.0 * math.tan(FIELD_OF_VIEW / 2))
    # Linear filtering: alpha is 0.75 - ... from u 0.25 to 0.75; 0.4 is passed at u = 0.55.
    edge = SIZE / 2 + (0.55 - 0.5) * 1.5 * pixels
    left = SIZE / 2 - 0.75 * pixels
    assert alpha.sum(axis=1).mean() / 255 == pytest.approx(edge - left, abs=1.5)


# The stage's own lights


def test_back_light_draws_an_edge_and_leaves_the_front_alone(stage: OffscreenStage) -> None:
    scene = Scene()
    scene.ball(scene.material(mtoon(shadingShiftFactor=1.0), (*BASE, 1)), 0.5)
    avatar = scene.avatar()
    without = shot(stage, avatar, WHITE).astype(int)
    behind = Lighting((0, 0, 1), (1, 1, 1), DARK, DARK, (1, 0, 0), DARK, (0.6, 0.0, -0.8), (0.2, 0.4, 0.6))
    lit = shot(stage, avatar, behind).astype(int)
    changed = np.abs(lit - without)[..., :3].max(axis=2) > 4
    columns = np.flatnonzero(changed[SIZE // 2])
    pixels = SIZE / (2 * 4.0 * math.tan(FIELD_OF_VIEW / 2))
    assert len(columns) >= 2 and columns.min() > SIZE / 2 + 0.3 * pixels
    assert not changed[SIZE // 2, SIZE // 2]


def test_fill_light_lifts_only_what_is_in_shade(stage: OffscreenStage) -> None:
    for shift, share in ((1.0, 0.0), (-1.9, 1.0)):
        scene = Scene()
        scene.quad(scene.material(mtoon(shadingShiftFactor=shift), (*BASE, 1)))
        fill = np.asarray([0.1, 0.2, 0.3])
        light = Lighting((0, 0, 1), (1, 1, 1), DARK, DARK, (0, 0, 1), tuple(fill), (0, 0, -1), DARK)  # type: ignore[arg-type]
        near(middle(shot(stage, scene.avatar(), light)), BASE if share == 0.0 else SHADE + BASE * fill)


@pytest.mark.parametrize("name", sorted(LIGHTINGS))
def test_no_preset_burns_out_or_drowns_a_lit_surface(name: str) -> None:
    light = LIGHTINGS[name]
    total = np.asarray(light.key) + (np.asarray(light.sky) + np.asarray(light.ground)) / 2
    assert total.min() > 0.6 and total.max() <= 1.08
    if name in ("studio", "soft"):
        assert np.abs(total - 1.0).max() < 0.02
    assert light.key_toward[2] > 0 and light.back_toward[2] < 0
