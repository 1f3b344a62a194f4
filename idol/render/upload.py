"""The way of an avatar to the graphics card in small steps, while another one goes on being drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from idol.render.blocks import material_features
from idol.render.gl import check
from idol.render.prepared import PreparedAvatar
from idol.render.resources import Drawable, Resources, build_resources, count_steps


class Upload:
    """Made by ``AvatarRenderer.begin``. ``resources`` are what has been made so far; ``cold`` the drawables whose
    programs have not drawn yet, each with whether its outline is meant."""

    def __init__(
        self,
        prepared: PreparedAvatar,
        frame: NDArray[np.float32],
        cheap: bool,
        program: Callable[[tuple[str, ...]], int],
        drop: Callable[[Upload], None],
    ) -> None:
        self.prepared = prepared
        self.resources = Resources()
        self.cold: list[tuple[Drawable, bool]] = []
        self._cheap = cheap
        self._program = program
        self._drop = drop
        self._done = 0
        self._count = count_steps(prepared) + len(prepared.parts)
        self._steps = self._run(frame)

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1."""
        return min(self._done / self._count, 1.0)

    def step(self) -> bool:
        """A few milliseconds of work; False when there was none left. The context must be current. Raises RenderError
        or what PyOpenGL raises; then everything that was made is freed."""
        try:
            if next(self._steps, True):
                return False
            check("uploading the avatar")
        except BaseException:
            self._drop(self)
            raise
        self._done += 1
        return True

    def _run(self, frame: NDArray[np.float32]) -> Iterator[None]:
        yield from build_resources(self.resources, self.prepared, frame, self._cheap)
        rimmed = {
            bind.material for item in self.prepared.avatar.data.expressions.values() for bind in item.colors
            if bind.field == "rimColor"
        }  # fmt: skip
        seen: set[tuple[object, ...]] = set()
        for drawable in self.resources.drawables:
            material = self.resources.materials[drawable.material]
            features = material_features(material, drawable.material in rimmed, coverage=not self._cheap)
            drawable.surface = self._program((*features, "HEAD_SHADOW") if drawable.shadowed else features)
            if material.outline_mode != "none" and material.outline_width > 0.0:
                plain = material.outline_lighting_mix <= 0.0
                drawable.hull = self._program((*features, "OUTLINE", *(("PLAIN_LINE",) if plain else ())))
            for program, outline in ((drawable.surface, False), (drawable.hull, True)):
                key = (program, outline, drawable.order[0], material.double_sided, material.alpha_mode)
                if program and key not in seen:
                    seen.add(key)
                    self.cold.append((drawable, outline))
            yield
