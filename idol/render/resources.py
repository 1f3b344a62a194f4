"""GL objects of one avatar: vertex arrays, textures, buffers. Made once, released together."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.avatar.model import Material, Primitive, Texture
from idol.render.blocks import MATERIAL_WORDS, TEXTURES, pack_material, texture_of
from idol.render.culling import Groups, group_triangles
from idol.render.gl import GL

_VERTEX = np.dtype(
    [
        ("position", np.float32, 3), ("normal", np.float32, 3), ("uv", np.float32, 4), ("weights", np.float32, 4),
        ("joints", np.uint16, 4), ("color", np.uint8, 4), ("slot", np.int32),
    ]
)  # fmt: skip


@dataclass(slots=True)
class Drawable:
    """One primitive on the GPU. ``order`` sorts the transparent ones (MToon's render queue)."""

    vertex_array: int
    count: int
    material: int
    morph_texture: int
    morph_buffer: int
    primitive: int
    order: tuple[int, int]
    groups: Groups | None = None
    """For opaque ones: what need not be drawn when it is out of the picture."""


@dataclass(slots=True)
class Resources:
    """Everything ``release`` has to free. Names are GL's."""

    buffers: list[int] = field(default_factory=list)
    textures: list[int] = field(default_factory=list)
    vertex_arrays: list[int] = field(default_factory=list)
    drawables: list[Drawable] = field(default_factory=list)
    units: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    palette_buffer: int = 0
    palette_texture: int = 0
    frame_buffer: int = 0
    material_buffer: int = 0
    material_stride: int = 0
    materials: list[Material] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.buffers) + len(self.textures) + len(self.vertex_arrays)

    def release(self) -> None:
        """Free all. Needs the context that made them."""
        if self.vertex_arrays:
            GL.glDeleteVertexArrays(len(self.vertex_arrays), np.asarray(self.vertex_arrays, np.uint32))
        if self.textures:
            GL.glDeleteTextures(len(self.textures), np.asarray(self.textures, np.uint32))
        if self.buffers:
            GL.glDeleteBuffers(len(self.buffers), np.asarray(self.buffers, np.uint32))
        self.forget()

    def forget(self) -> None:
        """Drop the names without freeing them: their context is gone."""
        for held in (self.buffers, self.textures, self.vertex_arrays, self.drawables, self.units):
            held.clear()


def build_resources(avatar: Avatar, frame_bytes: int, cheap: bool = False) -> Resources:
    """Upload an avatar. Needs a current context; the caller checks GL's error. ``cheap``: see ``AvatarRenderer``."""
    out = Resources()
    try:
        _build(out, avatar, frame_bytes, cheap)
    except BaseException:
        out.release()
        raise
    return out


def _build(out: Resources, avatar: Avatar, frame_bytes: int, cheap: bool) -> None:
    data = avatar.data
    out.materials = [*data.materials, Material(name="default", metallic=0.0)]
    uploaded: dict[tuple[int, bool], int] = {}
    for material in out.materials:
        units = []
        for unit, (_, name, _, srgb) in enumerate(TEXTURES):
            use = texture_of(material, name)
            if use is not None:
                key = (use.texture, srgb)
                if key not in uploaded:
                    uploaded[key] = _texture(out, data.textures[use.texture], srgb, cheap)
                units.append((unit, uploaded[key]))
        out.units.append(tuple(units))
    out.palette_buffer, out.palette_texture = _texel_buffer(out, max(avatar.palette.nbytes, 48))
    out.frame_buffer = _buffer(out, GL.GL_UNIFORM_BUFFER, None, frame_bytes, GL.GL_DYNAMIC_DRAW)
    align = int(GL.glGetIntegerv(GL.GL_UNIFORM_BUFFER_OFFSET_ALIGNMENT))
    out.material_stride = -(-MATERIAL_WORDS * 4 // align) * align
    blocks = np.zeros((len(out.materials), out.material_stride // 4), np.float32)
    for i, material in enumerate(out.materials):
        blocks[i, :MATERIAL_WORDS] = pack_material(material)
    out.material_buffer = _buffer(out, GL.GL_UNIFORM_BUFFER, blocks, blocks.nbytes, GL.GL_DYNAMIC_DRAW)
    for number, primitive in enumerate(data.primitives):
        if primitive.drawn_third_person:
            out.drawables.append(_drawable(out, avatar, number, primitive))


def _buffer(out: Resources, target: int, content: NDArray[np.generic] | None, size: int, usage: int) -> int:
    name = int(GL.glGenBuffers(1))
    out.buffers.append(name)
    GL.glBindBuffer(target, name)
    GL.glBufferData(target, size, content, usage)
    return name


def _texel_buffer(out: Resources, size: int) -> tuple[int, int]:
    """A buffer and the RGBA32F buffer texture over it."""
    buffer = _buffer(out, GL.GL_TEXTURE_BUFFER, np.zeros(size, np.uint8), size, GL.GL_STREAM_DRAW)
    texture = int(GL.glGenTextures(1))
    out.textures.append(texture)
    GL.glBindTexture(GL.GL_TEXTURE_BUFFER, texture)
    GL.glTexBuffer(GL.GL_TEXTURE_BUFFER, GL.GL_RGBA32F, buffer)
    return buffer, texture


def _texture(out: Resources, texture: Texture, srgb: bool, cheap: bool) -> int:
    name = int(GL.glGenTextures(1))
    out.textures.append(name)
    GL.glBindTexture(GL.GL_TEXTURE_2D, name)
    height, width = texture.pixels.shape[:2]
    inside = GL.GL_SRGB8_ALPHA8 if srgb else GL.GL_RGBA8
    GL.glPixelStorei(GL.GL_UNPACK_ALIGNMENT, 4)
    GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, inside, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, texture.pixels)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_WRAP_S, texture.wrap_s)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_WRAP_T, texture.wrap_t)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MAG_FILTER, texture.mag_filter)
    # Exporters write LINEAR for "do not care"; without mipmaps a figure seen whole would shimmer.
    wanted = GL.GL_LINEAR_MIPMAP_LINEAR if texture.min_filter == GL.GL_LINEAR else texture.min_filter
    if cheap and wanted == GL.GL_LINEAR_MIPMAP_LINEAR:
        wanted = GL.GL_LINEAR_MIPMAP_NEAREST  # one level read instead of two
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MIN_FILTER, wanted)
    if wanted not in (GL.GL_NEAREST, GL.GL_LINEAR):
        GL.glGenerateMipmap(GL.GL_TEXTURE_2D)
    return name


def _drawable(out: Resources, avatar: Avatar, number: int, primitive: Primitive) -> Drawable:
    blend = avatar.blends[number]
    vertices = np.zeros(len(primitive.positions), _VERTEX)
    vertices["position"], vertices["normal"] = primitive.positions, primitive.normals
    vertices["uv"][:, :2] = primitive.uv
    vertices["uv"][:, 2:] = primitive.uv if primitive.uv1 is None else primitive.uv1
    vertices["weights"], vertices["joints"] = primitive.weights, primitive.joints
    vertices["color"] = 255 if primitive.colors is None else np.rint(primitive.colors.clip(0, 1) * 255)
    vertices["slot"] = blend.slots
    array = int(GL.glGenVertexArrays(1))
    out.vertex_arrays.append(array)
    GL.glBindVertexArray(array)
    _buffer(out, GL.GL_ARRAY_BUFFER, vertices, vertices.nbytes, GL.GL_STATIC_DRAW)
    for place, (name, size, kind, normalised) in enumerate(
        (
            ("position", 3, GL.GL_FLOAT, False), ("normal", 3, GL.GL_FLOAT, False), ("uv", 4, GL.GL_FLOAT, False),
            ("weights", 4, GL.GL_FLOAT, False), ("joints", 4, GL.GL_UNSIGNED_SHORT, None),
            ("color", 4, GL.GL_UNSIGNED_BYTE, True), ("slot", 1, GL.GL_INT, None),
        )
    ):  # fmt: skip
        held = _VERTEX.fields
        offset = ctypes.c_void_p(held[name][1] if held is not None else 0)
        GL.glEnableVertexAttribArray(place)
        if normalised is None:
            GL.glVertexAttribIPointer(place, size, kind, _VERTEX.itemsize, offset)
        else:
            GL.glVertexAttribPointer(place, size, kind, normalised, _VERTEX.itemsize, offset)
    material = primitive.material if primitive.material >= 0 else len(out.materials) - 1
    held_material = out.materials[material]
    # The order of triangles is what is seen of transparent ones, so they stay as they are.
    groups = group_triangles(primitive) if held_material.alpha_mode == "OPAQUE" else None
    indices = primitive.indices if groups is None else groups.indices
    _buffer(out, GL.GL_ELEMENT_ARRAY_BUFFER, indices, indices.nbytes, GL.GL_STATIC_DRAW)
    GL.glBindVertexArray(0)
    buffer, texture = (0, out.palette_texture) if not len(blend.offsets) else _texel_buffer(out, blend.offsets.nbytes)
    layer = {"OPAQUE": 0, "MASK": 1, "BLEND": 3}[held_material.alpha_mode]
    if layer == 3 and held_material.transparent_with_z_write:
        layer = 2
    return Drawable(
        array, len(primitive.indices), material, texture, buffer, number, (layer, held_material.render_queue_offset),
        groups,
    )  # fmt: skip
