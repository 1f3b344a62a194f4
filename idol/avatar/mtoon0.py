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


_OLD_UNLIT = {
    "Unlit/Color": "Color", "Unlit/Texture": "Texture", "Unlit/Transparent": "Transparent",
    "Unlit/Transparent Cutout": "Cutout", "VRM/UnlitTexture": "Texture", "VRM/UnlitTransparent": "Transparent",
    "VRM/UnlitCutout": "Cutout", "VRM/UnlitTransparentZWrite": "TransparentZWrite",
}  # fmt: skip
_AS_GLTF = ("VRM_USE_GLTFSHADER", "UniGLTF/", "Standard", "Universal Render Pipeline/")
"""Shaders that begin so, and none at all: of those the entry in ``materials`` of the file itself says everything."""


class _Properties:
    """The Unity properties of one material. A texture that is not in the file (UniVRM writes -1) is none."""

    def __init__(self, item: Cursor, textures: int, warnings: list[str]) -> None:
        empty = Cursor({}, item.path)
        self.floats = item.child("floatProperties") or empty
        self.vectors = item.child("vectorProperties") or empty
        self._named = item.child("textureProperties") or empty
        self._textures, self._warnings = textures, warnings
        tiling = self.vectors.vector("_MainTex", (0.0, 0.0, 1.0, 1.0))
        self._scale = (tiling[2], tiling[3])
        # Unity's texture origin is the lower left corner, glTF's the upper left.
        self._offset = (tiling[0], 1.0 - tiling[3] - tiling[1])

    def use(self, key: str, moved: bool = True) -> TextureUse | None:
        index = self._named.whole(key, -1, low=-(1 << 31))
        if not 0 <= index < self._textures:
            if index >= self._textures:
                self._warnings.append(f"{self._named.path}.{key} points at texture {index}, which is not there")
            return None
        return TextureUse(index, 0, self._offset, self._scale) if moved else TextureUse(index)

    def color(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        return _color(self.vectors, key, default)


def apply_mtoon0(material: Material, item: Cursor, textures: int, warnings: list[str]) -> None:
    """Overwrite ``material`` with one entry of ``materialProperties``."""
    shader = item.text("shader")
    if shader in _OLD_UNLIT:
        _unlit(material, item, _OLD_UNLIT[shader], _Properties(item, textures, warnings))
        return
    if shader != "VRM/MToon":
        if shader and not shader.startswith(_AS_GLTF):
            warnings.append(f"{item.path} names the shader {shader!r}, which is not known: drawn as plain glTF")
        return
    properties = _Properties(item, textures, warnings)
    floats, use = properties.floats, properties.use
    _mtoon(material, properties)
    material.uv_scroll = (floats.number("_UvAnimScrollX", 0.0), -floats.number("_UvAnimScrollY", 0.0))
    material.uv_rotation = floats.number("_UvAnimRotation", 0.0)
    material.uv_mask_texture = use("_UvAnimMaskTexture")
    _outline(material, floats, properties.vectors)
    material.outline_texture = use("_OutlineWidthTexture")
    blend = _blend_mode(item, floats)
    material.alpha_mode = "MASK" if blend == 1 else "BLEND" if blend in (2, 3) else "OPAQUE"
    material.transparent_with_z_write = blend == 3
    material.alpha_cutoff = floats.number("_Cutoff", 0.5)
    material.double_sided = round(floats.number("_CullMode", 2.0)) == 0
    _queue(material, item)


def _blend_mode(item: Cursor, floats: Cursor) -> int:
    """0 opaque, 1 cut out, 2 transparent, 3 transparent with depth; from Unity's keywords where it is not written."""
    if floats.has("_BlendMode"):
        return round(floats.number("_BlendMode", 0.0))
    keywords = item.child("keywordMap")
    if keywords is not None and keywords.raw("_ALPHABLEND_ON"):
        return 3 if round(floats.number("_ZWrite", 0.0)) == 1 else 2
    return 1 if keywords is not None and keywords.raw("_ALPHATEST_ON") else 0


def _queue(material: Material, item: Cursor) -> None:
    """Unity's render queue as an offset from where such materials start; the order among them is what counts."""
    queue = item.number("renderQueue", -1.0)
    if material.alpha_mode == "BLEND" and queue > 0:
        base = 2501 if material.transparent_with_z_write else 3000
        material.render_queue_offset = round(min(max(queue - base, -99.0), 99.0))


def _unlit(material: Material, item: Cursor, kind: str, properties: _Properties) -> None:
    material.shading = "unlit"
    material.alpha_mode = "MASK" if kind == "Cutout" else "BLEND" if kind.startswith("Transparent") else "OPAQUE"
    material.alpha_cutoff = properties.floats.number("_Cutoff", 0.5)
    material.transparent_with_z_write = kind == "TransparentZWrite"
    material.base_color = properties.color("_Color", (1.0, 1.0, 1.0, 1.0))
    if kind != "Color":
        material.base_texture = properties.use("_MainTex") or material.base_texture
    _queue(material, item)


def _mtoon(material: Material, properties: _Properties) -> None:
    floats, vectors, use = properties.floats, properties.vectors, properties.use
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
