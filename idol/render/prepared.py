"""What is sent to the graphics card of one avatar, made ready without it: any thread may, while another draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.avatar.framing import rest_positions
from idol.avatar.model import Material, Primitive, Texture
from idol.render.blocks import TEXTURES, texture_of
from idol.render.culling import Groups, group_triangles
from idol.render.head_shadow import HeadShadow
from idol.render.mipmaps import levels_below

VERTEX = np.dtype(
    [
        ("position", np.float32, 3), ("normal", np.float32, 3), ("uv", np.float32, 4), ("weights", np.float32, 4),
        ("joints", np.uint16, 4), ("color", np.uint16, 4), ("slot", np.int32), ("receives", np.float32),
    ]
)  # fmt: skip
NEAREST, LINEAR = 9728, 9729
"""Filters without mipmaps, in glTF's numbers, which are GL's."""


@dataclass(frozen=True, slots=True)
class TextureLevels:
    """``levels`` from the whole picture down to one texel, or the whole picture only where its sampler wants that."""

    texture: Texture
    srgb: bool
    levels: tuple[NDArray[np.uint8], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One primitive that is drawn. ``vertices`` (V,) of ``VERTEX``; ``indices`` sorted by group where there are any;
    ``rigid``: the one joint that moves it and its middle (x, y, z, 1)."""

    primitive: int
    material: int
    vertices: NDArray[np.void]
    indices: NDArray[np.uint32]
    groups: Groups | None
    shadowed: bool
    rigid: tuple[int, NDArray[np.float64]] | None


@dataclass(frozen=True, slots=True)
class PreparedAvatar:
    """``materials`` are the avatar's and, last, the one of primitives without. ``textures`` by (texture, sRGB)."""

    avatar: Avatar
    materials: list[Material]
    textures: dict[tuple[int, bool], TextureLevels]
    parts: list[Part]
    shadow: HeadShadow | None


def prepare(avatar: Avatar) -> PreparedAvatar:
    """Needs no GL. The avatar must not be updated meanwhile."""
    data = avatar.data
    materials = [*data.materials, Material(name="default", metallic=0.0)]
    textures: dict[tuple[int, bool], TextureLevels] = {}
    for material in materials:
        for _, name, _, srgb in TEXTURES:
            use = texture_of(material, name)
            if use is not None and (use.texture, srgb) not in textures:
                textures[use.texture, srgb] = _levels(data.textures[use.texture], srgb)
    shadow = HeadShadow.fit(avatar)
    places = rest_positions(data, avatar.skeleton) if shadow is not None else []
    parts = []
    for number, primitive in enumerate(data.primitives):
        if primitive.drawn_third_person:
            receives = None if shadow is None else shadow.receives(primitive, places[number])
            parts.append(_part(avatar, materials, number, primitive, receives))
    return PreparedAvatar(avatar, materials, textures, parts, shadow)


def min_filter(texture: Texture) -> int:
    """Exporters write LINEAR for "do not care"; without mipmaps a figure seen whole would shimmer."""
    return 9987 if texture.min_filter == LINEAR else texture.min_filter


def _levels(texture: Texture, srgb: bool) -> TextureLevels:
    below = [] if min_filter(texture) == NEAREST else levels_below(texture.pixels, srgb)
    return TextureLevels(texture, srgb, (np.ascontiguousarray(texture.pixels), *below))


def _part(
    avatar: Avatar, materials: list[Material], number: int, primitive: Primitive, receives: NDArray[np.float32] | None
) -> Part:
    material = primitive.material if primitive.material >= 0 else len(materials) - 1
    held_material = materials[material]
    vertices = np.zeros(len(primitive.positions), VERTEX)
    vertices["position"], vertices["normal"] = primitive.positions, primitive.normals
    vertices["uv"][:, :2] = primitive.uv
    vertices["uv"][:, 2:] = primitive.uv if primitive.uv1 is None else primitive.uv1
    vertices["weights"], vertices["joints"] = primitive.weights, primitive.joints
    # MToon ignores vertex colours (VRMC_materials_mtoon, Vertex Colors); files carry masks of other shaders in them.
    plain = primitive.colors is None or held_material.shading == "mtoon"
    vertices["color"] = 65535 if plain else np.rint(np.asarray(primitive.colors).clip(0, 1) * 65535)
    vertices["receives"] = 0.0 if receives is None else receives
    vertices["slot"] = avatar.blends[number].slots
    # The order of triangles is what is seen of transparent ones, so they stay as they are.
    groups = group_triangles(primitive) if held_material.alpha_mode == "OPAQUE" else None
    indices = primitive.indices if groups is None else groups.indices
    shadowed = receives is not None and held_material.shading != "unlit"
    return Part(number, material, vertices, indices, groups, shadowed, _rigid(primitive))


def _rigid(primitive: Primitive) -> tuple[int, NDArray[np.float64]] | None:
    joint = int(primitive.joints[0, 0])
    if (primitive.joints[:, 0] != joint).any() or (primitive.weights[:, 0] < 0.999).any():
        return None
    middle = (primitive.positions.min(axis=0) + primitive.positions.max(axis=0)) / 2
    return joint, np.append(middle.astype(np.float64), 1.0)
