"""The uniform blocks as bytes, in the std140 layout of ``shaders/common.glsl``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.avatar.expressions import MaterialChange
from idol.avatar.model import Material, TextureUse

FRAME_FLOATS = 16 + 16 + 13 * 4
MATERIAL_WORDS = 9 * 4 + 8 * 8

BASE, SHADE, NORMAL, EMISSIVE, SHIFT, MATCAP, RIM, OUTLINE, MASK, OUTLINE_SCREEN, SCROLLS = (1 << k for k in range(11))
_SHADING = {"unlit": 0, "lit": 1, "mtoon": 2}
_ALPHA = {"OPAQUE": 0, "MASK": 1, "BLEND": 2}

TEXTURES: tuple[tuple[str, str, int, bool], ...] = (
    ("u_base", "base_texture", BASE, True), ("u_shade", "shade_texture", SHADE, True),
    ("u_normal", "normal_texture", NORMAL, False), ("u_emissive", "emissive_texture", EMISSIVE, True),
    ("u_shift", "shifting", SHIFT, False), ("u_matcap", "matcap_texture", MATCAP, True),
    ("u_rim", "rim_texture", RIM, True), ("u_outline_width", "outline_texture", OUTLINE, False),
    ("u_mask", "uv_mask_texture", MASK, False),
)  # fmt: skip
"""Sampler, field of ``Material``, flag, and whether the picture is sRGB; the place here is the texture unit."""


def texture_of(material: Material, field: str) -> TextureUse | None:
    if field == "shifting":
        return material.shading_shift_texture
    found: TextureUse | None = getattr(material, field)
    return found


def material_features(material: Material, rim: bool, coverage: bool = True) -> tuple[str, ...]:
    """What ``shaders/`` is specialised by for a material. ``rim``: an expression may give it a rim colour.
    ``coverage``: there are several samples for a pixel, which smooth the edge of a mask."""
    flags = 0
    turned = False
    for _, field, bit, _ in TEXTURES:
        use = texture_of(material, field)
        if use is not None:
            flags |= bit
            turned |= use.rotation != 0.0 or use.uv_set != 0
    if material.outline_mode == "screenCoordinates":
        flags |= OUTLINE_SCREEN
    if any(material.uv_scroll) or material.uv_rotation:
        flags |= SCROLLS
    out = [f"FLAGS {flags}u", f"SHADING {_SHADING[material.shading]}u", f"ALPHA {_ALPHA[material.alpha_mode]}u"]
    if rim or any(material.rim_color):
        out.append("RIM")
    if turned:
        out.append("TURNED_UV")
    if coverage and material.alpha_mode == "MASK":
        out.append("COVERAGE")
    return tuple(out)


def _uv(use: TextureUse | None, change: MaterialChange | None) -> list[float]:
    if use is None:
        return [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    (ox, oy), (sx, sy) = use.offset, use.scale
    if change is not None:
        (ox, oy), (sx, sy) = change.moved(use.offset, use.scale)
    return [ox, oy, sx, sy, use.rotation, float(use.uv_set), 0.0, 0.0]


def pack_material(material: Material, change: MaterialChange | None = None) -> NDArray[np.float32]:
    """``MATERIAL_WORDS`` words; ``change`` is what expressions make of the material."""

    def color(field: str, size: int = 3) -> list[float]:
        if change is not None and field in change.colors:
            return [float(v) for v in change.colors[field][:size]]
        return list(getattr(material, field)[:size])

    m = material
    floats: list[float] = [
        *color("base_color", 4), *color("shade_color"), m.alpha_cutoff, *color("emissive"), m.normal_scale,
        *color("rim_color"), m.rim_fresnel_power, *color("matcap_factor"), m.rim_lift,
        *color("outline_color"), m.outline_lighting_mix,
        m.shading_shift, m.shading_toony, m.shading_shift_texture_scale, m.rim_lighting_mix,
        m.outline_width, m.gi_equalization, m.roughness, m.metallic, *m.uv_scroll, m.uv_rotation, 0.0,
    ]  # fmt: skip
    # In the block's order; matcap has no transform.
    for field in (
        "base_texture", "shade_texture", "normal_texture", "emissive_texture", "shifting", "rim_texture",
        "outline_texture", "uv_mask_texture",
    ):  # fmt: skip
        floats += _uv(texture_of(material, field), change)
    return np.asarray(floats, np.float32)
