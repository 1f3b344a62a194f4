"""Draws one avatar into whatever framebuffer is bound. OpenGL 3.3 core; knows no window.

``load`` makes every GL object; ``draw`` makes none, compiles nothing and looks nothing up.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.avatar.expressions import MaterialChange
from idol.render.blocks import FRAME_FLOATS, MATERIAL_WORDS, pack_material
from idol.render.camera import Camera
from idol.render.culling import Culling, Range, view_planes
from idol.render.gl import GL, RenderError, check
from idol.render.lighting import DEFAULT_LIGHTING, LIGHTINGS, Lighting
from idol.render.prepared import PreparedAvatar, prepare
from idol.render.programs import FRAME_BINDING, MATERIAL_BINDING, MORPH_UNIT, PALETTE_UNIT, build_program
from idol.render.resources import Drawable, Resources
from idol.render.upload import Upload

MAX_JOINTS = 65_535
"""Palette indices are 16-bit on the GPU."""

WARMING_SECONDS = 0.004
"""Of a picture, for programs that have not drawn yet."""

Background = tuple[float, float, float, float]
"""Red, green, blue, alpha in 0..1 as seen on screen (sRGB); alpha 0 is transparent."""


class AvatarRenderer:
    """Use between ``load`` and ``release`` with the same context current.

    ``cheap`` is for machines where the CPU draws: textures are filtered on one level only, and as there is one sample
    for a pixel, no outline is thinner than that.
    """

    def __init__(self, *, cheap: bool = False) -> None:
        self._cheap = cheap
        self.lighting: Lighting = LIGHTINGS[DEFAULT_LIGHTING]
        self.outlines = True
        self._avatar: Avatar | None = None
        self._resources = Resources()
        self._warming: Upload | None = None
        self._programs: dict[tuple[str, ...], int] = {}
        self._frame = np.zeros(FRAME_FLOATS, np.float32)
        self._revisions: list[int] = []
        self._changed: set[int] = set()
        self._opaque: list[Drawable] = []
        self._clear: list[Drawable] = []
        self._sorted: set[tuple[int, int]] = set()
        self._visible: dict[int, list[Range]] = {}
        self._culled: list[int] = []
        self._culling = Culling([])
        # What this frame has bound already.
        self._used, self._dressed = 0, -1
        self._bound: dict[int, int] = {}

    @property
    def avatar(self) -> Avatar | None:
        return self._avatar

    @property
    def object_count(self) -> int:
        """GL objects held now, programs included."""
        return self._resources.count + len(self._programs)

    def load(self, avatar: Avatar, prepared: PreparedAvatar | None = None) -> None:
        """Upload ``avatar`` in place of the one before. Raises RenderError; then nothing is loaded."""
        self._unload()
        upload = self.begin(prepared or prepare(avatar))
        while upload.step():
            pass
        self.take(upload)

    def begin(self, prepared: PreparedAvatar) -> Upload:
        """An upload beside the avatar that is drawn, to be brought to its end by ``Upload.step`` and then given to
        ``take`` or ``drop``. Raises RenderError when the avatar cannot be drawn here."""
        major, minor = int(GL.glGetIntegerv(GL.GL_MAJOR_VERSION)), int(GL.glGetIntegerv(GL.GL_MINOR_VERSION))
        if (major, minor) < (3, 3):
            raise RenderError(f"OpenGL {major}.{minor} is what this machine gives; 3.3 is needed. Update the driver.")
        GL.glGetError()
        avatar = prepared.avatar
        if len(avatar.palette) > MAX_JOINTS:
            raise RenderError(f"The avatar has {len(avatar.palette)} joints; {MAX_JOINTS} can be drawn.")
        limit = int(GL.glGetIntegerv(GL.GL_MAX_TEXTURE_BUFFER_SIZE))
        largest = max((len(blend.offsets) * 2 for blend in avatar.blends), default=0)
        if largest > limit or len(avatar.palette) * 3 > limit:
            raise RenderError(f"The avatar needs {largest} texels in a buffer; this graphics card allows {limit}.")
        return Upload(prepared, self._frame, self._cheap, self._program, self.drop)

    def take(self, upload: Upload) -> None:
        """Draw what ``upload`` has brought from now on; what was drawn until now is freed."""
        self._resources.release()
        avatar = self._avatar = upload.prepared.avatar
        self._resources = upload.resources
        self._warming = None
        self._free_programs()
        self._changed = set()
        drawables = self._resources.drawables
        for drawable in drawables:
            if drawable.morph_buffer:
                self._upload_morphs(avatar, drawable)
        grouped = [(d.primitive, d.groups) for d in drawables if d.groups is not None]
        self._culled, self._culling = [number for number, _ in grouped], Culling([groups for _, groups in grouped])
        ordered = sorted(drawables, key=lambda d: d.order)
        self._opaque = [d for d in ordered if d.order[0] < 2]
        self._clear = [d for d in ordered if d.order[0] >= 2]
        held = [d.order for d in self._clear]
        skinned = {d.order for d in self._clear if d.rigid is None}
        self._sorted = {order for order in held if held.count(order) > 1} - skinned
        self._revisions = [-1] * len(avatar.blends)

    def drop(self, upload: Upload) -> None:
        """Free what ``upload`` has made so far. Safe to call twice."""
        upload.resources.release()
        self._warming = None
        self._free_programs()

    def warm(self, upload: Upload) -> bool:
        """Let the next picture draw a triangle or a few of ``upload`` first, which its clearing wipes away: drivers
        finish a program when it first draws in its state. False once all have had their turn."""
        self._warming = upload if upload.cold else None
        return self._warming is not None

    def _free_programs(self) -> None:
        """Those that nothing on the card needs any more."""
        used = {program for d in self._resources.drawables for program in (d.surface, d.hull)}
        for features, program in [*self._programs.items()]:
            if program not in used:
                GL.glDeleteProgram(program)
                del self._programs[features]

    def _program(self, features: tuple[str, ...]) -> int:
        if features not in self._programs:
            self._programs[features] = build_program(features)
        return self._programs[features]

    def _unload(self) -> None:
        self._avatar, self._warming = None, None
        self._opaque, self._clear = [], []
        self._resources.release()
        self._resources = Resources()

    def release(self) -> None:
        """Free every GL object. The context must be current. Safe to call twice."""
        self._unload()
        for program in self._programs.values():
            GL.glDeleteProgram(program)
        self._programs.clear()

    def forget(self) -> None:
        """The context is lost and its objects with it: drop the names, so that ``load`` starts afresh."""
        self._avatar, self._warming = None, None
        self._opaque, self._clear = [], []
        self._resources.forget()
        self._resources = Resources()
        self._programs.clear()

    def draw(self, camera: Camera, width: int, height: int, background: Background) -> None:
        """Clear the bound framebuffer and draw the avatar as of its last ``update``. Sizes in pixels."""
        GL.glViewport(0, 0, width, height)
        red, green, blue, alpha = background
        # Premultiplied: what is behind a transparent window shows through it unchanged.
        GL.glClearColor(red * alpha, green * alpha, blue * alpha, alpha)
        GL.glColorMask(True, True, True, True)
        GL.glDepthMask(True)
        if self._warming is not None:
            self._warm_some(self._warming)
        GL.glClear(GL.GL_COLOR_BUFFER_BIT | GL.GL_DEPTH_BUFFER_BIT)
        avatar = self._avatar
        if avatar is None:
            return
        self._upload(avatar, camera, width, height)
        self._begin(self._resources)
        for drawable in self._opaque:
            self._draw_one(drawable, outline=False)
        if self.outlines:
            for drawable in self._opaque:
                self._draw_one(drawable, outline=True)
        if self._clear:
            self._blend()
            for drawable in self._back_to_front(avatar, camera):
                GL.glDepthMask(drawable.order[0] == 2)
                self._draw_one(drawable, outline=False)
                if self.outlines and drawable.order[0] == 2:
                    self._draw_one(drawable, outline=True)
            GL.glDepthMask(True)
            GL.glDisable(GL.GL_BLEND)
        self._leave_clean()
        check("drawing the avatar")

    def _begin(self, held: Resources) -> None:
        """The state that all of her parts are drawn in."""
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glDepthFunc(GL.GL_LEQUAL)
        GL.glFrontFace(GL.GL_CCW)
        GL.glDisable(GL.GL_BLEND)
        GL.glDisable(GL.GL_FRAMEBUFFER_SRGB)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, FRAME_BINDING, held.frame_buffer)
        GL.glActiveTexture(GL.GL_TEXTURE0 + PALETTE_UNIT)
        GL.glBindTexture(GL.GL_TEXTURE_BUFFER, held.palette_texture)
        self._used, self._dressed = 0, -1
        self._bound.clear()

    @staticmethod
    def _blend() -> None:
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFuncSeparate(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA, GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)

    def _warm_some(self, upload: Upload) -> None:
        """One after the other while that takes no time: a program that was kept from another run takes little."""
        self._warming = None
        self._begin(upload.resources)
        until = time.monotonic() + WARMING_SECONDS
        while upload.cold and time.monotonic() < until:
            drawable, outline = upload.cold.pop()
            if outline and not self.outlines:
                continue
            if drawable.order[0] >= 2:
                self._blend()
                GL.glDepthMask(drawable.order[0] == 2)
            self._dress(upload.resources, drawable, outline, ((0, 3),))
            GL.glDepthMask(True)
            GL.glDisable(GL.GL_BLEND)
        self._leave_clean()

    def _back_to_front(self, avatar: Avatar, camera: Camera) -> list[Drawable]:
        """What blends, in MToon's order. Parts of one queue that move whole are drawn from the farthest on, as three.js
        does; those of a skinned body keep the file's order, which its maker saw."""
        if not self._sorted:
            return self._clear
        away = camera.view()[2]

        def depth(drawable: Drawable) -> tuple[int, int, float]:
            if drawable.rigid is None or drawable.order not in self._sorted:
                return (*drawable.order, 0.0)
            joint, middle = drawable.rigid
            return (*drawable.order, float(away[:3] @ (avatar.palette[joint] @ middle)))

        return sorted(self._clear, key=depth)

    def _draw_one(self, drawable: Drawable, outline: bool) -> None:
        ranges = self._visible.get(drawable.primitive, ((0, drawable.count),))
        if ranges and (drawable.hull if outline else drawable.surface):
            self._dress(self._resources, drawable, outline, ranges)

    def _dress(self, held: Resources, drawable: Drawable, outline: bool, ranges: Sequence[Range]) -> None:
        """Draw ``ranges`` of a drawable of ``held``."""
        program = drawable.hull if outline else drawable.surface
        material = held.materials[drawable.material]
        if material.double_sided and not outline:
            GL.glDisable(GL.GL_CULL_FACE)
        else:
            GL.glEnable(GL.GL_CULL_FACE)
            GL.glCullFace(GL.GL_FRONT if outline else GL.GL_BACK)
        if program != self._used:
            GL.glUseProgram(program)
            self._used = program
        masked = material.alpha_mode == "MASK" and not self._cheap
        if masked:
            # The cut is in the coverage, so what is covered is opaque.
            GL.glEnable(GL.GL_SAMPLE_ALPHA_TO_COVERAGE)
            GL.glEnable(GL.GL_SAMPLE_ALPHA_TO_ONE)
        if drawable.material != self._dressed:
            self._dressed = drawable.material
            GL.glBindBufferRange(
                GL.GL_UNIFORM_BUFFER, MATERIAL_BINDING, held.material_buffer,
                drawable.material * held.material_stride, MATERIAL_WORDS * 4,
            )  # fmt: skip
            for unit, texture in held.units[drawable.material]:
                if self._bound.get(unit) != texture:
                    self._bound[unit] = texture
                    GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
                    GL.glBindTexture(GL.GL_TEXTURE_2D, texture)
        if self._bound.get(MORPH_UNIT) != drawable.morph_texture:
            self._bound[MORPH_UNIT] = drawable.morph_texture
            GL.glActiveTexture(GL.GL_TEXTURE0 + MORPH_UNIT)
            GL.glBindTexture(GL.GL_TEXTURE_BUFFER, drawable.morph_texture)
        GL.glBindVertexArray(drawable.vertex_array)
        for first, count in ranges:
            GL.glDrawElements(GL.GL_TRIANGLES, count, GL.GL_UNSIGNED_INT, ctypes.c_void_p(first * 4))
        if masked:
            GL.glDisable(GL.GL_SAMPLE_ALPHA_TO_COVERAGE)
            GL.glDisable(GL.GL_SAMPLE_ALPHA_TO_ONE)

    def _upload(self, avatar: Avatar, camera: Camera, width: int, height: int) -> None:
        held = self._resources
        aspect = width / max(height, 1)
        view = camera.view()
        frame = self._frame
        projection = camera.projection(aspect)
        frame[0:16] = view.T.reshape(-1)
        frame[16:32] = projection.T.reshape(-1)
        planes = view_planes(view, projection)
        self._visible = dict(zip(self._culled, self._culling.visible(avatar.palette, planes), strict=True))
        frame[32:35], frame[35] = camera.eye, avatar.time % 3600.0
        frame[36:39] = (width, height, 1.0 if self._cheap else 0.0)
        back = view[:3, :3].T
        light = self.lighting
        frame[40:43] = _toward(back, light.key_toward)
        frame[44:47], frame[48:51], frame[52:55] = light.key, light.sky, light.ground
        frame[56:59], frame[60:63] = _toward(back, light.fill_toward), light.fill
        frame[64:67], frame[68:71] = _toward(back, light.back_toward), light.back
        if held.shadow is not None:
            rows = held.shadow.rows(avatar.skeleton.world[held.shadow.node], _toward(back, light.key_toward))
            frame[72:84] = rows.reshape(-1)
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, held.frame_buffer)
        GL.glBufferSubData(GL.GL_UNIFORM_BUFFER, 0, frame.nbytes, frame)
        GL.glBindBuffer(GL.GL_TEXTURE_BUFFER, held.palette_buffer)
        # A fresh store each frame: the driver need not wait for the frame before, which still reads the old one.
        GL.glBufferData(GL.GL_TEXTURE_BUFFER, avatar.palette.nbytes, avatar.palette, GL.GL_STREAM_DRAW)
        for drawable in held.drawables:
            revision = avatar.blends[drawable.primitive].revision
            if drawable.morph_buffer and revision != self._revisions[drawable.primitive]:
                self._upload_morphs(avatar, drawable)
                self._revisions[drawable.primitive] = revision
        self._upload_materials(avatar.material_changes)

    def _upload_morphs(self, avatar: Avatar, drawable: Drawable) -> None:
        offsets = avatar.blends[drawable.primitive].offsets
        GL.glBindBuffer(GL.GL_TEXTURE_BUFFER, drawable.morph_buffer)
        GL.glBufferData(GL.GL_TEXTURE_BUFFER, offsets.nbytes, offsets, GL.GL_STREAM_DRAW)

    def _upload_materials(self, changes: dict[int, MaterialChange]) -> None:
        held = self._resources
        if not changes and not self._changed:
            return
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, held.material_buffer)
        for i in self._changed | changes.keys():
            words = pack_material(held.materials[i], changes.get(i))
            GL.glBufferSubData(GL.GL_UNIFORM_BUFFER, i * held.material_stride, words.nbytes, words)
        self._changed = set(changes)

    @staticmethod
    def _leave_clean() -> None:
        """Qt's painter shares the context and expects these as it left them."""
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)
        GL.glDisable(GL.GL_CULL_FACE)
        GL.glDisable(GL.GL_DEPTH_TEST)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindBuffer(GL.GL_TEXTURE_BUFFER, 0)
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, 0)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, 0)


def _toward(camera_to_world: NDArray[np.float64], direction: tuple[float, float, float]) -> NDArray[np.float64]:
    x, y, z = direction
    turned = camera_to_world @ (x, y, z)
    unit: NDArray[np.float64] = turned / max((x * x + y * y + z * z) ** 0.5, 1e-9)
    return unit
