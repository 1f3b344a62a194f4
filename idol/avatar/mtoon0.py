"""MToon of VRM 0.x (Unity shader properties) into ``Material``, by the arithmetic of UniVRM's migration to 1.0."""

from __future__ import annotations

from idol.avatar.cursor import Cursor
from idol.avatar.model import Material, TextureUse


def linear(value: float) -> float:
    """sRGB to linear, for one channel; values above 1 (HDR) go through the same curve."""
    if value <= 0.04045:
        return value / 12.92
    return float(((value + 0.055) / 1.055) ** 2.4)


def _color(vectors: Cursor, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
    found = vectors.vector(key, default)
    return (*(linear(value) for value in found[:3]), *found[3:])


def apply_mtoon0(material: Material, item: Cursor, textures: int) -> None:
    """Overwrite ``material`` with one entry of ``materialProperties``."""
    shader = item.text("shader")
    if shader.startswith("VRM/Unlit"):
        material.shading = "unlit"
        material.alpha_mode = "MASK" if "Cutout" in shader else "BLEND" if "Transparent" in shader else "OPAQUE"
        return
    floats, vectors, named = (
        item.child("floatProperties"),
        item.child("vectorProperties"),
        item.child("textureProperties"),
    )
    if shader != "VRM/MToon" or floats is None or vectors is None or named is None:
        return
    tiling = vectors.vector("_MainTex", (0.0, 0.0, 1.0, 1.0))
    scale = (tiling[2], tiling[3])
    offset = (tiling[0], 1.0 - tiling[3] - tiling[1])

    def use(key: str, moved: bool = True) -> TextureUse | None:
        index = named.index(key, textures, "texture")
        if index is None:
            return None
        return TextureUse(index, 0, offset, scale) if moved else TextureUse(index)

    material.shading = "mtoon"
    material.base_color = _color(vectors, "_Color", (1.0, 1.0, 1.0, 1.0))
    material.base_texture = use("_MainTex")
    material.shade_color = _color(vectors, "_ShadeColor", (0.97, 0.81, 0.86, 1.0))[:3]
    material.shade_texture = use("_ShadeTexture")
    material.normal_texture = use("_BumpMap")
    material.normal_scale = floats.number("_BumpScale", 1.0)
    material.emissive = _color(vectors, "_EmissionColor", (0.0, 0.0, 0.0, 1.0))[:3]
    material.emissive_texture = use("_EmissionMap")
    shift, toony = floats.number("_ShadeShift", 0.0), floats.number("_ShadeToony", 0.9)
    amount = min(max(0.5 + 0.5 * shift, 0.0), 1.0)
    material.shading_toony = toony + (1.0 - toony) * amount
    material.shading_shift = -shift - (1.0 - material.shading_toony)
    material.gi_equalization = 1.0 - floats.number("_IndirectLightIntensity", 0.1)
    material.rim_color = _color(vectors, "_RimColor", (0.0, 0.0, 0.0, 1.0))[:3]
    material.rim_texture = use("_RimTexture")
    material.rim_lighting_mix = floats.number("_RimLightingMix", 0.0)
    material.rim_fresnel_power = floats.number("_RimFresnelPower", 1.0)
    material.rim_lift = floats.number("_RimLift", 0.0)
    material.matcap_texture = use("_SphereAdd", moved=False)
    _outline(material, floats, vectors)
    material.outline_texture = use("_OutlineWidthTexture")
    material.uv_mask_texture = use("_UvAnimMaskTexture")
    material.uv_scroll = (floats.number("_UvAnimScrollX", 0.0), -floats.number("_UvAnimScrollY", 0.0))
    material.uv_rotation = floats.number("_UvAnimRotation", 0.0)
    blend = round(floats.number("_BlendMode", 0.0))
    material.alpha_mode = "MASK" if blend == 1 else "BLEND" if blend in (2, 3) else "OPAQUE"
    material.transparent_with_z_write = blend == 3
    material.alpha_cutoff = floats.number("_Cutoff", 0.5)
    material.double_sided = round(floats.number("_CullMode", 2.0)) == 0
    queue = item.whole("renderQueue", -1, low=-1, high=10_000)
    if material.alpha_mode == "BLEND" and queue > 0:
        base = 2501 if blend == 3 else 3000
        material.render_queue_offset = min(max(queue - base, -99), 99)


def _outline(material: Material, floats: Cursor, vectors: Cursor) -> None:
    mode = round(floats.number("_OutlineWidthMode", 0.0))
    width = floats.number("_OutlineWidth", 0.0) * 0.01
    if mode == 0 or width <= 0:
        return
    material.outline_mode = "worldCoordinates" if mode == 1 else "screenCoordinates"
    material.outline_width = width
    material.outline_color = _color(vectors, "_OutlineColor", (0.0, 0.0, 0.0, 1.0))[:3]
    mixed = round(floats.number("_OutlineColorMode", 0.0)) == 1
    material.outline_lighting_mix = floats.number("_OutlineLightingMix", 1.0) if mixed else 0.0
