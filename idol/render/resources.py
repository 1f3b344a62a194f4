"""GL objects of one avatar: vertex arrays, textures, buffers. Made in steps, released together."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import Material
from idol.render.blocks import MATERIAL_WORDS, TEXTURES, pack_material, texture_of
from idol.render.culling import Groups
from idol.render.gl import GL
from idol.render.head_shadow import HeadShadow
from idol.render.prepared import VERTEX, Part, PreparedAvatar, TextureLevels, min_filter

_BAND_BYTES = 4 << 20
"""Of a picture that are uploaded at once: a few milliseconds where the processor draws."""


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
    shadowed: bool = False
    """The head's shadow may fall on it."""
    rigid: tuple[int, NDArray[np.float64]] | None = None
    """For a primitive that one joint moves: the joint and its middle, (x, y, z, 1)."""
    surface: int = 0
    hull: int = 0
    """Programs; ``hull`` is 0 without an outline."""


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
    shadow: HeadShadow | None = None

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


def build_resources(
    out: Resources, prepared: PreparedAvatar, frame: NDArray[np.float32], cheap: bool
) -> Iterator[None]:
    """Upload an avatar into ``out``, a few milliseconds of work for each item. The context must be current for each;
    the caller checks GL's error, and releases ``out`` when it goes no further. ``frame`` is the first frame's uniform
    block; ``cheap``: see ``AvatarRenderer``."""
    avatar = prepared.avatar
    out.materials = prepared.materials
    out.shadow = prepared.shadow
    names: dict[tuple[int, bool], int] = {}
    for key, held in prepared.textures.items():
        names[key] = int(GL.glGenTextures(1))
        out.textures.append(names[key])
        yield from _texture(names[key], held, cheap)
    for material in out.materials:
        uses = [(unit, texture_of(material, name), srgb) for unit, (_, name, _, srgb) in enumerate(TEXTURES)]
        out.units.append(tuple((unit, names[use.texture, srgb]) for unit, use, srgb in uses if use is not None))
    out.palette_buffer, out.palette_texture = _texel_buffer(out, max(avatar.palette.nbytes, 48))
    out.frame_buffer = _buffer(out, GL.GL_UNIFORM_BUFFER, frame, frame.nbytes, GL.GL_DYNAMIC_DRAW)
    align = int(GL.glGetIntegerv(GL.GL_UNIFORM_BUFFER_OFFSET_ALIGNMENT))
    out.material_stride = -(-MATERIAL_WORDS * 4 // align) * align
    blocks = np.zeros((len(out.materials), out.material_stride // 4), np.float32)
    for i, material in enumerate(out.materials):
        blocks[i, :MATERIAL_WORDS] = pack_material(material)
    out.material_buffer = _buffer(out, GL.GL_UNIFORM_BUFFER, blocks, blocks.nbytes, GL.GL_DYNAMIC_DRAW)
    yield
    for part in prepared.parts:
        out.drawables.append(_drawable(out, part, len(avatar.blends[part.primitive].offsets)))
        yield


def count_steps(prepared: PreparedAvatar) -> int:
    """How many items ``build_resources`` gives."""
    return sum(len(_bands(level)) for held in prepared.textures.values() for level in held.levels[:1]) + (
        sum(len(held.levels) > 1 for held in prepared.textures.values()) + 1 + len(prepared.parts)
    )


def _buffer(out: Resources, target: int, content: NDArray[np.generic], size: int, usage: int) -> int:
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


def _bands(level: NDArray[np.uint8]) -> range:
    """The first rows of what is uploaded at once."""
    return range(0, level.shape[0], max(1, _BAND_BYTES // (level.shape[1] * 4)))


def _texture(name: int, held: TextureLevels, cheap: bool) -> Iterator[None]:
    """The whole picture band by band, then its smaller levels at once: they come to a third of it."""
    texture, whole = held.texture, held.levels[0]
    inside = GL.GL_SRGB8_ALPHA8 if held.srgb else GL.GL_RGBA8
    form = (GL.GL_RGBA, GL.GL_UNSIGNED_BYTE)
    height, width = whole.shape[:2]
    bands = _bands(whole)
    GL.glBindTexture(GL.GL_TEXTURE_2D, name)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_WRAP_S, texture.wrap_s)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_WRAP_T, texture.wrap_t)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MAG_FILTER, texture.mag_filter)
    wanted = min_filter(texture)
    if cheap and wanted == GL.GL_LINEAR_MIPMAP_LINEAR:
        wanted = GL.GL_LINEAR_MIPMAP_NEAREST  # one level read instead of two
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MIN_FILTER, wanted)
    GL.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MAX_LEVEL, len(held.levels) - 1)
    GL.glPixelStorei(GL.GL_UNPACK_ALIGNMENT, 4)
    if len(bands) == 1:
        GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, inside, width, height, 0, *form, whole)
        yield
    else:
        GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, inside, width, height, 0, *form, None)
        for first in bands:
            rows = whole[first : first + bands.step]
            GL.glBindTexture(GL.GL_TEXTURE_2D, name)  # others are bound between the steps
            GL.glTexSubImage2D(GL.GL_TEXTURE_2D, 0, 0, first, width, len(rows), *form, rows)
            yield
    if len(held.levels) > 1:
        GL.glBindTexture(GL.GL_TEXTURE_2D, name)
        for number, level in enumerate(held.levels[1:], 1):
            GL.glTexImage2D(GL.GL_TEXTURE_2D, number, inside, level.shape[1], level.shape[0], 0, *form, level)
        yield


def _drawable(out: Resources, part: Part, moved: int) -> Drawable:
    """``moved``: how many of its vertices a morph may move."""
    material = out.materials[part.material]
    array = int(GL.glGenVertexArrays(1))
    out.vertex_arrays.append(array)
    GL.glBindVertexArray(array)
    _buffer(out, GL.GL_ARRAY_BUFFER, part.vertices, part.vertices.nbytes, GL.GL_STATIC_DRAW)
    for place, (name, size, kind, normalised) in enumerate(
        (
            ("position", 3, GL.GL_FLOAT, False), ("normal", 3, GL.GL_FLOAT, False), ("uv", 4, GL.GL_FLOAT, False),
            ("weights", 4, GL.GL_FLOAT, False), ("joints", 4, GL.GL_UNSIGNED_SHORT, None),
            ("color", 4, GL.GL_UNSIGNED_SHORT, True), ("slot", 1, GL.GL_INT, None), ("receives", 1, GL.GL_FLOAT, False),
        )
    ):  # fmt: skip
        held = VERTEX.fields
        offset = ctypes.c_void_p(held[name][1] if held is not None else 0)
        GL.glEnableVertexAttribArray(place)
        if normalised is None:
            GL.glVertexAttribIPointer(place, size, kind, VERTEX.itemsize, offset)
        else:
            GL.glVertexAttribPointer(place, size, kind, normalised, VERTEX.itemsize, offset)
    _buffer(out, GL.GL_ELEMENT_ARRAY_BUFFER, part.indices, part.indices.nbytes, GL.GL_STATIC_DRAW)
    GL.glBindVertexArray(0)
    buffer, texture = _texel_buffer(out, moved * 32) if moved else (0, out.palette_texture)
    layer = {"OPAQUE": 0, "MASK": 1, "BLEND": 3}[material.alpha_mode]
    if layer == 3 and material.transparent_with_z_write:
        layer = 2
    return Drawable(
        array, len(part.indices), part.material, texture, buffer, part.primitive, (layer, material.render_queue_offset),
        part.groups, part.shadowed, part.rigid,
    )  # fmt: skip
