"""The textures, painted with Pillow at twice their size and brought down."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from avatars.maker.atlas import CLOTH, FEATURES
from avatars.maker.curves import F64, smooth

Color = tuple[int, int, int]
FEATURE_COLOURS: dict[str, str] = {
    "lash": "#2b2140", "lashSoft": "#8a5f78", "brow": "#5f5199", "fold": "#c08a92", "lip": "#8f4350",
    "mouth": "#b24a57",
    "mouthDeep": "#7d2a3c", "tongue": "#f0868f", "teeth": "#fffaf8", "white": "#ffffff", "lipSoft": "#d98a8e",
    "lid": "#e3daf0",
}  # fmt: skip
CLOTH_COLOURS: dict[str, str] = {
    "white": "#fbfaff", "navy": "#3b4486", "pink": "#f27f9f", "gold": "#ffd56b", "black": "#2f2c4c",
    "whiteShade": "#dcdcf0", "cream": "#e9e6fa", "sock": "#454a86", "boot": "#f4f1fb", "sole": "#3b4486",
    "lining": "#c75d83", "violet": "#8f7fd6",
}  # fmt: skip
CLOTH_SHADES: dict[str, str] = {
    "white": "#c5c3e6", "navy": "#272c62", "pink": "#c4527e", "gold": "#d99a52", "black": "#1f1d36",
    "whiteShade": "#b3b3d8", "cream": "#bab4de", "sock": "#2e3166", "boot": "#bdb8dc", "sole": "#272c62",
    "lining": "#8f3f68", "violet": "#6658ae",
}  # fmt: skip
SKIN, SKIN_SHADE = "#fff0e6", "#f2bdb8"


def rgb(text: str) -> Color:
    value = int(text[1:], 16)
    return value >> 16, value >> 8 & 255, value & 255


def linear(text: str) -> list[float]:
    """The colour as glTF's factors want it."""
    c = np.array(rgb(text)) / 255
    return [round(float(v), 5) for v in np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)]


def png(image: Image.Image) -> bytes:
    held = io.BytesIO()
    image.save(held, "PNG", optimize=False, compress_level=6)
    return held.getvalue()


def _gradient(stops: list[tuple[float, str]], t: F64) -> F64:
    at = [s for s, _ in stops]
    table = np.array([rgb(c) for _, c in stops], np.float64)
    return np.stack([np.interp(t, at, table[:, k]) for k in range(3)], -1)


def _image(pixels: F64) -> Image.Image:
    return Image.fromarray(np.clip(pixels + 0.5, 0, 255).astype(np.uint8), "RGB")


def _over(base: F64, colour: str, share: F64) -> F64:
    out: F64 = base + (np.array(rgb(colour)) - base) * np.clip(share, 0, 1)[..., None]
    return out


def iris(size: int) -> F64:
    """Dark above, bright below, a ring, a pupil with a star, lights."""
    g = (np.arange(size) + 0.5) / size * 2 - 1
    x, y = np.meshgrid(g, g)
    r, a = np.hypot(x, y), np.arctan2(y, x)
    out = _gradient([(-1.0, "#241a52"), (-0.45, "#3a2f8f"), (0.05, "#3f6fd0"), (0.5, "#55c6e8"), (1.0, "#a8fff0")], y)
    rays = 0.5 + 0.5 * np.cos(a * 38 + 2.0 * np.sin(a * 5))
    out = _over(out, "#bffbff", 0.28 * rays * smooth(r, 0.42, 0.8) * smooth(y, -0.3, 0.5))
    out = _over(out, "#ff9ecf", 0.55 * np.exp(-(((x * 0.9) ** 2 + (y - 0.62) ** 2) / 0.075)))
    pupil = np.hypot(x / 0.34, (y + 0.04) / 0.38)
    out = _over(out, "#4536a0", 0.55 * smooth(pupil, 1.55, 0.95))
    out = _over(out, "#1c1440", smooth(pupil, 1.04, 0.92))
    out = _over(out, "#5a8df0", 0.5 * smooth(np.hypot(x / 0.22, (y - 0.08) / 0.20), 1.0, 0.5))
    out = _over(out, "#1f1747", smooth(r, 0.86, 0.95))
    out = _over(out, "#231a4d", 0.72 * smooth(y + 0.10 * np.abs(x), -0.25, -0.75))
    for cx, cy, rx, ry, strength in (
        (-0.34, -0.38, 0.23, 0.25, 1.0),
        (0.36, 0.42, 0.13, 0.12, 0.95),
        (0.10, -0.52, 0.07, 0.07, 0.9),
    ):
        out = _over(out, "#ffffff", strength * smooth(np.hypot((x - cx) / rx, (y - cy) / ry), 1.05, 0.92))
    return out


def sclera(size: int) -> F64:
    g = (np.arange(size) + 0.5) / size * 2 - 1
    _, y = np.meshgrid(g, g)
    out = np.broadcast_to(np.array(rgb("#fbf9ff"), np.float64), (size, size, 3))
    # The upper lid throws a shadow; it is the only shade.
    out = _over(out, "#b7aedb", smooth(y, -0.22, -0.58) * 0.95)
    return out


def features() -> Image.Image:
    size = 1024
    out = Image.new("RGB", (size, size), rgb("#888888"))
    out.paste(_image(iris(1024)).resize((512, 512), Image.Resampling.LANCZOS), (0, 0))
    out.paste(_image(sclera(512)), (512, 0))
    return _cells(out, FEATURES, FEATURE_COLOURS)


def _cells(image: Image.Image, names: tuple[str, ...], colours: dict[str, str]) -> Image.Image:
    draw = ImageDraw.Draw(image)
    side = image.width // 16
    for i, name in enumerate(names):
        x, y = i % 16 * side, image.height // 2 + i // 16 * side
        draw.rectangle((x, y, x + side - 1, y + side - 1), fill=rgb(colours[name]))
    return image


def cloth(shade: bool) -> Image.Image:
    colours = CLOTH_SHADES if shade else CLOTH_COLOURS
    out = Image.new("RGB", (256, 256), (128, 128, 128))
    draw = ImageDraw.Draw(out)
    for x in range(256):
        # Across one pleat: light on its face, dark in its fold.
        t = float(smooth(x / 32, 0.98, 0.55))
        for row, (bright, dark) in enumerate((("navy", "#2b3170"), ("white", "#d3d0ee"), ("pink", "#d65f88"))):
            a, b = rgb(colours[bright]), rgb(CLOTH_SHADES[bright] if shade else dark)
            draw.line(
                (x, row * 32, x, row * 32 + 31), fill=tuple(round(q + (p - q) * t) for p, q in zip(a, b, strict=True))
            )
    return _cells(out, CLOTH, colours)


def skin(shade: bool) -> Image.Image:
    """The face from the front (u: x -0.5..0.5, v: y 1.05..-0.05 heights of the head), cheeks and nose tinted."""
    size = 768
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid(g, g)
    x, y = np.abs(u - 0.5), 1.05 - 1.1 * v
    out = np.broadcast_to(np.array(rgb(SKIN_SHADE if shade else SKIN), np.float64), (size, size, 3))
    blush = np.exp(-(((x - 0.225) / 0.060) ** 2 + ((y - 0.222) / 0.034) ** 2))
    out = _over(out, "#ff8f96" if not shade else "#e87f8c", 0.46 * blush)
    out = _over(out, "#ff9a94", 0.30 * np.exp(-((x / 0.020) ** 2 + ((y - 0.255) / 0.012) ** 2)))
    out = _over(out, "#e8a29c", 0.35 * np.exp(-((x / 0.032) ** 2 + ((y - 0.112) / 0.007) ** 2)))
    # Shadow of the fringe.
    out = _over(out, SKIN_SHADE, 0.55 * smooth(y + 0.02 * np.cos(x * 40), 0.60, 0.68))
    picture = _image(out)
    draw = ImageDraw.Draw(picture)
    for sign in (-1, 1):
        for k in (-1, 0, 1):
            # Three small strokes on the blush.
            cx, cy = 0.5 + sign * (0.222 + 0.020 * k), (1.05 - 0.224) / 1.1
            draw.line([((cx + 0.006) * size, (cy - 0.011) * size), ((cx - 0.006) * size, (cy + 0.011) * size)],
                      fill=rgb("#f58a92"), width=2)  # fmt: skip
    draw.rectangle((0, size - 30, 60, size), fill=rgb(SKIN_SHADE if shade else SKIN))
    draw.rectangle((61, size - 30, 125, size), fill=rgb("#d99a9c" if shade else "#f3bdb6"))
    return picture.filter(ImageFilter.GaussianBlur(0.7))


def outline_width() -> Image.Image:
    """How thick the face's outline is (green): none at the rims of eyes and mouth, where the skin ends."""
    size = 256
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid(g, g)
    x, y = np.abs(u - 0.5), 1.05 - 1.1 * v
    eyes = smooth(np.hypot((x - 0.193) / 0.145, (y - 0.388) / 0.130), 0.9, 1.05)
    mouth = smooth(np.hypot(x / 0.095, (y - 0.138) / 0.040), 0.9, 1.05)
    return _image(np.repeat((255 * np.minimum(eyes, mouth))[..., None], 3, -1))


def hair(shade: bool) -> Image.Image:
    """Left half: the dome, folded at the face's middle, from crown to edge, with the ring of light. Right half: strips
    for locks, from root to tip."""
    size = 1024
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid(g[: size // 2], g)
    azimuth, polar = u * 360.0, v * 132.0
    root, base, bright = ("#8672cb", "#8f7ad2", "#9a86d8") if shade else ("#b39de9", "#c0abf2", "#cdbbf7")
    out = _gradient([(0, root), (30, base), (70, base), (132, root)], polar)
    rng = np.random.default_rng(7)
    line = "#5d4aa6" if shade else "#7d68c4"
    for _ in range(90):
        c, w, s = rng.uniform(0, 180), rng.uniform(0.5, 1.6), rng.uniform(0.3, 1.0)
        a, b = sorted(rng.uniform(4, 130, 2))
        run = smooth(polar, a, a + 22) * smooth(polar, b + 26, b)
        wide = w * np.maximum(np.sin(np.radians(np.maximum(polar, 12))), 0.3)
        out = _over(out, line if rng.uniform() < 0.6 else bright, 0.6 * s * run * np.exp(-(((azimuth - c) / wide) ** 2)))
    strips = [_strip(name, shade, size) for name in ("plain", "long", "short", "accent")]
    return _image(np.concatenate([out, *strips], 1))


def _strip(name: str, shade: bool, size: int) -> F64:
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid((np.arange(size // 8) + 0.5) / (size // 8), g)
    lit = {"plain": [(0, "#b9a3ee"), (0.35, "#c5b1f5"), (1.0, "#d3c2fb")],
           "long": [(0, "#b9a3ee"), (0.35, "#c3aef4"), (0.62, "#cfb2f3"), (0.85, "#f0a6d6"), (1.0, "#ff8fbd")],
           "short": [(0, "#b9a3ee"), (0.45, "#c5b1f5"), (0.75, "#dcb2ee"), (1.0, "#fb9ccb")],
           "accent": [(0, "#ff9fc4"), (1.0, "#ff8fbd")]}[name]  # fmt: skip
    dark = {"plain": [(0, "#8774cb"), (0.35, "#907dd3"), (1.0, "#9c88da")],
            "long": [(0, "#8774cb"), (0.35, "#8f7bd2"), (0.62, "#9a7fd0"), (0.85, "#c079bd"), (1.0, "#d46aa2")],
            "short": [(0, "#8774cb"), (0.45, "#917dd3"), (0.75, "#a67ccb"), (1.0, "#cf72ae")],
            "accent": [(0, "#d46aa2"), (1.0, "#d46aa2")]}[name]  # fmt: skip
    out = _gradient(dark if shade else lit, v)
    line = "#5f4ca8" if shade else "#8570c9"
    # Three strands, which the lock's taper brings together; a light one between.
    for centre, wide, strength, a, b in ((0.24, 0.016, 0.75, 0.10, 0.95), (0.42, 0.010, 0.5, 0.35, 1.0),
                                         (0.68, 0.020, 0.8, 0.0, 0.75), (0.84, 0.012, 0.5, 0.3, 1.0)):  # fmt: skip
        run = smooth(v, a - 0.05, a + 0.25) * smooth(v, b + 0.05, b - 0.25)
        out = _over(out, line, strength * run * np.exp(-(((u - centre) / wide) ** 2)))
    out = _over(out, "#e6dbff", (0.2 if shade else 0.6) * np.exp(-(((u - 0.33) / 0.035) ** 2)) * smooth(v, 0.1, 0.4) * smooth(v, 0.95, 0.6))
    edge = smooth(np.abs(u - 0.5), 0.40, 0.49)
    out = _over(out, "#5b479f", 0.50 * edge)
    if not shade:
        # The ring of light: toothed above and below, apart at the lock's edges.
        teeth = np.abs((u * 2.5 + 0.3) % 1.0 - 0.5) * 2
        low, high = 0.222 + 0.045 * teeth**1.2, 0.168 - 0.022 * (1 - teeth)
        band = smooth(v, high - 0.004, high + 0.004) * smooth(v, low + 0.004, low - 0.004)
        out = _over(out, "#f4edff", 0.92 * band * smooth(np.abs(u - 0.5), 0.45, 0.40))
    return out
