"""glTF materials, VRMC_materials_mtoon 1.0 and KHR_texture_transform into ``Material``."""

from __future__ import annotations

from typing import Literal

from idol.avatar.cursor import Cursor
from idol.avatar.model import AlphaMode, Material, TextureUse


def texture_use(owner: Cursor, key: str, count: int) -> TextureUse | None:
    found = owner.child(key)
    if found is None:
        return None
    index = found.index("index", count, "texture")
    if index is None:
        return None
    uv_set = found.whole("texCoord", 0)
    offset, scale, rotation = (0.0, 0.0), (1.0, 1.0), 0.0
    extensions = found.child("extensions")
    transform = None if extensions is None else extensions.child("KHR_texture_transform")
    if transform is not None:
        x, y = transform.vector("offset", (0.0, 0.0))
        offset = (x, y)
        x, y = transform.vector("scale", (1.0, 1.0))
        scale = (x, y)
        rotation = transform.number("rotation", 0.0)
        uv_set = transform.whole("texCoord", uv_set)
    return TextureUse(index, min(uv_set, 1), offset, scale, rotation)


def parse_material(item: Cursor, textures: int) -> Material:
    """One entry of ``materials``. MToon wins over unlit, unlit over metallic-roughness."""
    material = Material(name=item.text("name"))
    mode: dict[str, AlphaMode] = {"OPAQUE": "OPAQUE", "MASK": "MASK", "BLEND": "BLEND"}
    given = item.text("alphaMode", "OPAQUE")
    if given not in mode:
        raise item.fail(f"has the alpha mode {given!r}; it must be OPAQUE, MASK or BLEND.")
    material.alpha_mode = mode[given]
    material.alpha_cutoff = item.number("alphaCutoff", 0.5)
    material.double_sided = item.flag("doubleSided")
    material.emissive = item.vector("emissiveFactor", (0.0, 0.0, 0.0))
    material.emissive_texture = texture_use(item, "emissiveTexture", textures)
    normal = item.child("normalTexture")
    if normal is not None:
        material.normal_texture = texture_use(item, "normalTexture", textures)
        material.normal_scale = normal.number("scale", 1.0)
    surface = item.child("pbrMetallicRoughness")
    if surface is not None:
        material.base_color = surface.vector("baseColorFactor", (1.0, 1.0, 1.0, 1.0))
        material.base_texture = texture_use(surface, "baseColorTexture", textures)
        material.metallic = surface.number("metallicFactor", 1.0)
        material.roughness = surface.number("roughnessFactor", 1.0)
    extensions = item.child("extensions")
    if extensions is not None:
        older = extensions.child("KHR_materials_pbrSpecularGlossiness")
        if older is not None and surface is None:
            # What files had before metallic-roughness; its diffuse colour is all that a stage needs of it.
            material.base_color = older.vector("diffuseFactor", (1.0, 1.0, 1.0, 1.0))
            material.base_texture = texture_use(older, "diffuseTexture", textures)
            material.roughness = 1.0 - older.number("glossinessFactor", 1.0)
        if extensions.has("KHR_materials_unlit"):
            material.shading = "unlit"
        for key, factor in (
            ("KHR_materials_emissive_strength", "emissiveStrength"),
            ("VRMC_materials_hdr_emissiveMultiplier", "emissiveMultiplier"),
        ):
            strength = extensions.child(key)
            if strength is not None:
                material.emissive_strength *= strength.number(factor, 1.0)
        material.emissive = tuple(value * material.emissive_strength for value in material.emissive)
        mtoon = extensions.child("VRMC_materials_mtoon")
        # VRM 0.x exporters list the extension without its content; an empty object says nothing.
        if mtoon is not None and mtoon.has("specVersion"):
            _parse_mtoon(material, mtoon, textures)
    return material


def _parse_mtoon(material: Material, mtoon: Cursor, textures: int) -> None:
    material.shading = "mtoon"
    material.transparent_with_z_write = mtoon.flag("transparentWithZWrite")
    material.render_queue_offset = mtoon.whole("renderQueueOffsetNumber", 0, low=-100, high=100)
    material.shade_color = mtoon.vector("shadeColorFactor", (0.0, 0.0, 0.0))
    material.shade_texture = texture_use(mtoon, "shadeMultiplyTexture", textures)
    material.shading_shift = mtoon.number("shadingShiftFactor", 0.0)
    shift = mtoon.child("shadingShiftTexture")
    if shift is not None:
        material.shading_shift_texture = texture_use(mtoon, "shadingShiftTexture", textures)
        material.shading_shift_texture_scale = shift.number("scale", 1.0)
    material.shading_toony = mtoon.number("shadingToonyFactor", 0.9)
    material.gi_equalization = mtoon.number("giEqualizationFactor", 0.9)
    material.matcap_factor = mtoon.vector("matcapFactor", (1.0, 1.0, 1.0))
    material.matcap_texture = texture_use(mtoon, "matcapTexture", textures)
    material.rim_color = mtoon.vector("parametricRimColorFactor", (0.0, 0.0, 0.0))
    material.rim_texture = texture_use(mtoon, "rimMultiplyTexture", textures)
    material.rim_lighting_mix = mtoon.number("rimLightingMixFactor", 1.0)
    material.rim_fresnel_power = mtoon.number("parametricRimFresnelPowerFactor", 5.0)
    material.rim_lift = mtoon.number("parametricRimLiftFactor", 0.0)
    modes: dict[str, Literal["none", "worldCoordinates", "screenCoordinates"]] = {
        "none": "none", "worldCoordinates": "worldCoordinates", "screenCoordinates": "screenCoordinates",
    }  # fmt: skip
    material.outline_mode = modes.get(mtoon.text("outlineWidthMode", "none"), "none")
    material.outline_width = mtoon.number("outlineWidthFactor", 0.0)
    material.outline_texture = texture_use(mtoon, "outlineWidthMultiplyTexture", textures)
    material.outline_color = mtoon.vector("outlineColorFactor", (0.0, 0.0, 0.0))
    material.outline_lighting_mix = mtoon.number("outlineLightingMixFactor", 1.0)
    material.uv_mask_texture = texture_use(mtoon, "uvAnimationMaskTexture", textures)
    material.uv_scroll = (
        mtoon.number("uvAnimationScrollXSpeedFactor", 0.0),
        mtoon.number("uvAnimationScrollYSpeedFactor", 0.0),
    )
    material.uv_rotation = mtoon.number("uvAnimationRotationSpeedFactor", 0.0)
