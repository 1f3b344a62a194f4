"""Light presets. MToon sees the key light and the ambient; other materials see a fill light as well."""

from __future__ import annotations

from dataclasses import dataclass

Color = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Lighting:
    """Colours linear; directions point to the light, in the camera's frame (x right, y up, z to the viewer)."""

    key_toward: Color
    key: Color
    sky: Color
    ground: Color
    fill_toward: Color = (0.8, 0.2, 0.5)
    fill: Color = (0.18, 0.18, 0.20)


LIGHTINGS: dict[str, Lighting] = {
    # Key and ambient add up to 1: a lit MToon surface shows exactly its own base colour, as its maker painted it.
    "studio": Lighting((-0.35, 0.55, 0.9), (0.86, 0.86, 0.86), (0.16, 0.16, 0.16), (0.12, 0.12, 0.12)),
    "soft": Lighting((-0.15, 0.35, 1.0), (0.66, 0.66, 0.66), (0.36, 0.36, 0.36), (0.32, 0.32, 0.32)),
    "evening": Lighting((-0.8, 0.35, 0.6), (0.92, 0.74, 0.58), (0.14, 0.15, 0.24), (0.10, 0.08, 0.12)),
    "neon": Lighting((0.7, 0.4, 0.7), (0.72, 0.62, 0.95), (0.22, 0.14, 0.30), (0.10, 0.16, 0.24)),
}
DEFAULT_LIGHTING = "studio"
