"""Light presets of three points: a key light, a fill light for what it leaves in shade, and one behind her."""

from __future__ import annotations

from dataclasses import dataclass

Color = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Lighting:
    """Colours linear; directions point to the light, in the camera's frame (x right, y up, z to the viewer).

    MToon adds key light and ambient up as VRMC_materials_mtoon says. Fill and back light are the stage's own: ``fill``
    lifts the shaded side only, ``back`` draws a lit edge where the surface turns toward it. ``sky`` and ``ground`` are
    the ambient from above and below.
    """

    key_toward: Color
    key: Color
    sky: Color
    ground: Color
    fill_toward: Color
    fill: Color
    back_toward: Color
    back: Color


LIGHTINGS: dict[str, Lighting] = {
    # Key and ambient add up to 1: a lit MToon surface shows exactly its own base colour, as its maker painted it.
    "studio": Lighting(
        key_toward=(-0.35, 0.55, 0.9), key=(0.86, 0.86, 0.86), sky=(0.15, 0.15, 0.16), ground=(0.13, 0.13, 0.12),
        fill_toward=(0.8, 0.1, 0.5), fill=(0.10, 0.10, 0.13),
        back_toward=(0.55, 0.45, -0.8), back=(0.34, 0.34, 0.38),
    ),
    "soft": Lighting(
        key_toward=(-0.15, 0.35, 1.0), key=(0.66, 0.66, 0.66), sky=(0.36, 0.36, 0.36), ground=(0.32, 0.32, 0.32),
        fill_toward=(0.6, 0.0, 0.6), fill=(0.12, 0.11, 0.11),
        back_toward=(-0.2, 0.75, -0.6), back=(0.16, 0.16, 0.17),
    ),
    "evening": Lighting(
        key_toward=(-0.7, 0.4, 0.65), key=(0.92, 0.76, 0.62), sky=(0.13, 0.14, 0.20), ground=(0.09, 0.08, 0.10),
        fill_toward=(0.8, 0.0, 0.4), fill=(0.07, 0.08, 0.20),
        back_toward=(0.6, 0.3, -0.75), back=(0.95, 0.50, 0.22),
    ),
    "neon": Lighting(
        key_toward=(0.5, 0.4, 0.75), key=(0.68, 0.61, 0.84), sky=(0.18, 0.13, 0.26), ground=(0.10, 0.12, 0.20),
        fill_toward=(-0.8, 0.0, 0.4), fill=(0.04, 0.20, 0.30),
        back_toward=(-0.6, 0.25, -0.75), back=(0.05, 0.75, 0.95),
    ),
}  # fmt: skip
DEFAULT_LIGHTING = "studio"
