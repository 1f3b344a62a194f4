"""Golden pictures: what is drawn today is compared with what was judged good by eye.

Write them again after a change that was meant, then look at every one that changed:
``python -m tests.render.golden`` (all), or with names or beginnings of names (``godette made_``).
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from idol.avatar import Avatar
from idol.avatar.container import read_container
from idol.avatar.loading import read_avatar
from idol.avatar.model import AvatarData
from idol.render.camera import Camera, FramingName
from idol.render.lighting import LIGHTINGS
from idol.render.offscreen import OffscreenStage, settle
from idol.seams import ARKIT_INDEX, Emotion, FacePose
from tests.render.scenes import Scene

FOLDER = Path(__file__).resolve().parent / "golden"
ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "data" / "models"
DEFAULT = ROOT / "avatars" / "default.vrm"
SIZE = 256
BACKGROUND = (0.91, 0.89, 0.93, 1.0)
MEAN, FAR, FAR_SHARE = 1.0, 32, 0.01
"""The tolerance: mean difference of a channel in 1/255 over the picture, and the share of pixels off by more than
``FAR``. Versions of Mesa's llvmpipe differ by edges: a pixel here and there, far, and nothing over areas."""
LARGEST = 40_000
"""Bytes of a stored picture."""

VISEMES: dict[str, dict[str, float]] = {
    "aa": {"jawOpen": 0.75}, "ih": {"jawOpen": 0.2, "mouthStretchLeft": 0.6, "mouthStretchRight": 0.6},
    "ou": {"jawOpen": 0.2, "mouthPucker": 0.9, "mouthFunnel": 0.3},
    "ee": {"jawOpen": 0.35, "mouthStretchLeft": 0.7, "mouthStretchRight": 0.7},
    "oh": {"jawOpen": 0.5, "mouthFunnel": 0.8},
}  # fmt: skip
EMOTIONS: dict[str, dict[str, float]] = {
    "happy": {"mouthSmileLeft": 0.9, "mouthSmileRight": 0.9, "cheekSquintLeft": 0.6, "cheekSquintRight": 0.6},
    "sad": {"browInnerUp": 0.9, "mouthFrownLeft": 0.7, "mouthFrownRight": 0.7},
    "angry": {"browDownLeft": 1.0, "browDownRight": 1.0, "mouthFrownLeft": 0.5, "mouthFrownRight": 0.5},
    "surprised": {"browInnerUp": 0.8, "eyeWideLeft": 0.9, "eyeWideRight": 0.9, "jawOpen": 0.35},
    "relaxed": {"eyeSquintLeft": 0.5, "eyeSquintRight": 0.5, "mouthSmileLeft": 0.4, "mouthSmileRight": 0.4},
    "shy": {"mouthSmileLeft": 0.35, "mouthSmileRight": 0.35, "browInnerUp": 0.5, "mouthPucker": 0.2},
}  # fmt: skip


@dataclass(frozen=True)
class Golden:
    """One picture: an avatar (a file, or a function that makes one), how she is posed and how she is seen."""

    avatar: Path | Callable[[], Avatar]
    framing: FramingName | None = "face"
    weights: tuple[tuple[str, float], ...] = ()
    emotion: Emotion = "neutral"
    yaw: float = 0.0
    lighting: str = "studio"
    time: float | None = None


def _toon(**more: object) -> dict[str, object]:
    return {"shadeColorFactor": [0.35, 0.2, 0.4], "shadingToonyFactor": 0.8, **more}


def made_surfaces() -> Avatar:
    """Shade, rim, outline and emission on a ball."""
    scene = Scene()
    properties = _toon(
        parametricRimColorFactor=[0.6, 0.8, 1.0], parametricRimFresnelPowerFactor=3.0, rimLightingMixFactor=0.5,
        outlineWidthMode="screenCoordinates", outlineWidthFactor=0.012, outlineColorFactor=[0.2, 0.05, 0.3],
        outlineLightingMixFactor=0.3,
    )  # fmt: skip
    scene.ball(scene.material(properties, (0.9, 0.6, 0.5, 1), emissiveFactor=[0.02, 0.0, 0.05]), 0.55, 32)
    return scene.avatar()


def made_matcap() -> Avatar:
    """A sphere map with rows and columns of its own colours, on a ball."""
    scene = Scene()
    rows = [[(40 * c, 40 * r, 120) for c in range(6)] for r in range(6)]
    properties = _toon(matcapTexture={"index": scene.texture(rows)}, rimLightingMixFactor=0.0)
    scene.ball(scene.material(properties, (0.1, 0.1, 0.1, 1)), 0.55, 32)
    return scene.avatar()


def made_layers() -> Avatar:
    """Opaque, masked and blended sheets, one over the other."""
    scene = Scene()
    holes = [[(255, 255, 255, 255 if (r + c) % 2 else 0) for c in range(6)] for r in range(6)]
    masked = {"baseColorTexture": {"index": scene.texture(holes)}}
    scene.quad(scene.material(_toon(), (0.2, 0.5, 0.9, 1)), size=1.2, z=-0.1)
    scene.quad(scene.material(_toon(), (0.9, 0.8, 0.2, 1), surface=masked, alphaMode="MASK"), size=0.9, x=-0.1)
    blend = _toon(transparentWithZWrite=True)
    scene.quad(scene.material(blend, (0.9, 0.2, 0.3, 0.5), alphaMode="BLEND"), size=0.7, z=0.1, x=0.2)
    scene.quad(scene.material(_toon(), (0.2, 0.9, 0.4, 0.4), alphaMode="BLEND"), size=0.5, z=0.15, x=0.35)
    return scene.avatar()


def made_metal() -> Avatar:
    """glTF's own surface, half metal."""
    scene = Scene()
    scene.ball(
        scene.material(None, (0.8, 0.6, 0.3, 1), surface={"metallicFactor": 0.5, "roughnessFactor": 0.4}), 0.55, 32
    )
    return scene.avatar()


def _hers(prefix: str, path: Path) -> dict[str, Golden]:
    found = {
        f"{prefix}_neutral": Golden(path), f"{prefix}_bust": Golden(path, "bust"),
        f"{prefix}_full": Golden(path, "full"),
        f"{prefix}_left": Golden(path, "bust", yaw=0.7), f"{prefix}_back": Golden(path, "bust", yaw=2.8),
        f"{prefix}_blink": Golden(path, weights=(("eyeBlinkLeft", 1.0), ("eyeBlinkRight", 1.0))),
    }  # fmt: skip
    for name, weights in VISEMES.items():
        found[f"{prefix}_{name}"] = Golden(path, weights=tuple(weights.items()))
    for name, weights in EMOTIONS.items():
        found[f"{prefix}_{name}"] = Golden(path, weights=tuple(weights.items()), emotion=name)  # type: ignore[arg-type]
    return found


_UV = MODELS / "mtoon_uv_animation_vrm1.vrm"
GOLDENS: dict[str, Golden] = {
    **{
        name: golden
        for name, golden in _hers("godette", MODELS / "godette_vrm1.vrm").items()
        if name.split("_")[1] in ("neutral", "bust", "left", "back", "blink", "aa", "happy", "angry")
    },
    "godette_evening": Golden(MODELS / "godette_vrm1.vrm", "bust", lighting="evening"),
    "made_surfaces": Golden(made_surfaces, None), "made_matcap": Golden(made_matcap, None),
    "made_layers": Golden(made_layers, None), "made_metal": Golden(made_metal, None, lighting="neon"),
    "moving_uv_0.5s": Golden(_UV, "full", time=0.5), "moving_uv_1.0s": Golden(_UV, "full", time=1.0),
    **_hers("default", DEFAULT),
    "default_soft": Golden(DEFAULT, "bust", lighting="soft"),
    "default_evening": Golden(DEFAULT, "bust", lighting="evening"),
    "default_neon": Golden(DEFAULT, "bust", lighting="neon"),
}  # fmt: skip


@cache
def _read(path: Path) -> AvatarData:
    return read_avatar(read_container(path), path.stem)


def draw(stage: OffscreenStage, golden: Golden) -> NDArray[np.uint8]:
    """RGB (SIZE, SIZE, 3)."""
    avatar = Avatar(_read(golden.avatar)) if isinstance(golden.avatar, Path) else golden.avatar()
    stage.load(avatar)
    face = np.zeros(52, np.float32)
    for name, weight in golden.weights:
        face[ARKIT_INDEX[name]] = weight
    settle(avatar, FacePose(face, emotion=golden.emotion))
    camera = Camera() if golden.framing is None else Camera.framed(avatar.framing, golden.framing)
    if golden.framing is None:
        camera = Camera((0.0, 0.0, 0.0), 0.75 / math.tan(math.radians(11)))
    camera.orbit(golden.yaw, 0.0)
    if golden.time is not None:
        avatar.time = golden.time
    stage.renderer.lighting = LIGHTINGS[golden.lighting]
    return np.ascontiguousarray(stage.picture(camera, (SIZE, SIZE), BACKGROUND)[..., :3])


def differs(got: NDArray[np.uint8], want: NDArray[np.uint8]) -> str:
    """What is wrong with ``got``; empty when it is within the tolerance."""
    if got.shape != want.shape:
        return f"is {got.shape[1]} x {got.shape[0]} pixels, not {want.shape[1]} x {want.shape[0]}"
    off = np.abs((got & 0xFE).astype(int) - (want & 0xFE).astype(int))
    mean, far = float(off.mean()), float((off.max(axis=2) > FAR).mean())
    if mean <= MEAN and far <= FAR_SHARE:
        return ""
    return f"differs by {mean:.2f}/255 in the mean (at most {MEAN}), {far:.2%} of its pixels by more than {FAR}/255"


def show_difference(name: str, got: NDArray[np.uint8], want: NDArray[np.uint8]) -> Path:
    """Write got, want and their difference (four times enlarged in value) side by side; returns the file."""
    folder = Path(os.environ.get("IDOL_PICTURES") or Path(tempfile.gettempdir()) / "idol-golden")
    folder.mkdir(parents=True, exist_ok=True)
    if got.shape == want.shape:
        off = np.minimum(np.abs(got.astype(int) - want.astype(int)) * 4, 255).astype(np.uint8)
        sheet = np.concatenate([got, want, off], axis=1)
    else:
        sheet = got
    path = folder / f"{name}.png"
    Image.fromarray(sheet).save(path)
    return path


def stored(name: str) -> NDArray[np.uint8]:
    with Image.open(FOLDER / f"{name}.webp") as image:
        return np.asarray(image.convert("RGB"))


def store(name: str, picture: NDArray[np.uint8]) -> int:
    """Returns its bytes. The last bit of each channel is dropped: nobody sees it, and a picture stays small."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.webp"
    Image.fromarray(picture & 0xFE).save(path, lossless=True, quality=100, method=6)
    return path.stat().st_size


def main(wanted: list[str]) -> None:
    with OffscreenStage() as stage:
        for name, golden in GOLDENS.items():
            if wanted and not any(name.startswith(start) for start in wanted):
                continue
            picture = draw(stage, golden)
            same = (FOLDER / f"{name}.webp").is_file() and not differs(picture, stored(name))
            size = store(name, picture)
            print(f"{name:24} {size:6} bytes {'as before' if same else 'CHANGED: look at it'}")
    for path in FOLDER.glob("*.webp"):
        if path.stem not in GOLDENS:
            path.unlink()
            print(f"{path.stem:24} removed")


if __name__ == "__main__":
    main(sys.argv[1:])
