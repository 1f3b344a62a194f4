"""MToon materials (VRMC_materials_mtoon 1.0)."""

from __future__ import annotations

from typing import Any

from avatars.maker.paint_tools import linear


def mtoon(
    name: str,
    base: int,
    shade: int | None,
    outline: float,
    outline_colour: str = "#000000",
    shift: float = 0.0,
    toony: float = 0.93,
    double_sided: bool = False,
    rim: str = "#000000",
    rim_power: float = 5.0,
    outline_width: int | None = None,
) -> dict[str, Any]:
    """``base``, ``shade``: textures; ``outline`` metres, multiplied with the lit colour; without ``shade`` there
    is no shading."""
    extension: dict[str, Any] = {
        "specVersion": "1.0", "transparentWithZWrite": False, "renderQueueOffsetNumber": 0,
        "shadeColorFactor": [1.0, 1.0, 1.0], "shadeMultiplyTexture": {"index": base if shade is None else shade},
        "shadingShiftFactor": shift, "shadingToonyFactor": toony, "giEqualizationFactor": 0.9,
        "parametricRimColorFactor": linear(rim), "parametricRimFresnelPowerFactor": rim_power,
        "rimLightingMixFactor": 1.0, "outlineWidthMode": "worldCoordinates" if outline else "none",
        "outlineWidthFactor": outline, "outlineColorFactor": linear(outline_colour), "outlineLightingMixFactor": 1.0,
    }  # fmt: skip
    if outline_width is not None:
        extension["outlineWidthMultiplyTexture"] = {"index": outline_width}
    return {
        "name": name,
        "pbrMetallicRoughness": {
            "baseColorFactor": [1.0, 1.0, 1.0, 1.0], "baseColorTexture": {"index": base}, "metallicFactor": 0.0,
            "roughnessFactor": 0.9,
        },
        "alphaMode": "OPAQUE",
        "doubleSided": double_sided,
        "extensions": {"VRMC_materials_mtoon": extension},
    }  # fmt: skip
