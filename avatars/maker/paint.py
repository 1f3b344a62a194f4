"""The textures of face, eyes and hair; cloth is painted elsewhere."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from avatars.maker.atlas import FEATURES
from avatars.maker.character import Character, EyePaint, HairPaint
from avatars.maker.curves import F64, smooth
from avatars.maker.face import BLUSH_UP
from avatars.maker.hair_shapes import DOME_POLAR, RING_AT, STRIPS
from avatars.maker.paint_tools import cells, gradient, image, over, rgb

FEATURE_COLOURS: dict[str, str] = {
    "fold": "#c08a92", "lip": "#8f4350", "mouth": "#b24a57", "mouthDeep": "#7d2a3c", "tongue": "#f0868f",
    "teeth": "#fffaf8", "white": "#ffffff", "lipSoft": "#d98a8e", "lid": "#e3daf0",
}  # fmt: skip


def iris(size: int, eye: EyePaint) -> F64:
    """Dark above, bright below, a ring, a pupil with a lit core, two lights."""
    g = (np.arange(size) + 0.5) / size * 2 - 1
    x, y = np.meshgrid(g, g)
    r, a = np.hypot(x, y), np.arctan2(y, x)
    out = gradient(list(eye.iris), y + 0.10 * x * x)
    rays = 0.5 + 0.5 * np.cos(a * 34 + 2.0 * np.sin(a * 5))
    out = over(out, eye.rays, 0.30 * rays * smooth(r, 0.40, 0.75) * smooth(y, -0.25, 0.5))
    # The lower arc that light falls through, and a second colour in it.
    arc = smooth(np.hypot(x / 0.80, (y + 0.02) / 0.84), 0.76, 0.90) * smooth(y, 0.15, 0.6)
    out = over(out, eye.rays, 0.75 * arc)
    out = over(out, eye.glow, 0.65 * np.exp(-(((x * 0.85) ** 2 + (y - 0.60) ** 2) / 0.070)))
    pupil = np.hypot(x / 0.33, (y + 0.03) / 0.38)
    out = over(out, eye.ring, 0.50 * smooth(pupil, 1.55, 0.95))
    out = over(out, eye.pupil, smooth(pupil, 1.03, 0.94))
    out = over(out, eye.core, 0.55 * smooth(np.hypot(x / 0.20, (y - 0.12) / 0.17), 1.0, 0.4))
    out = over(out, eye.ring, smooth(r, 0.87, 0.945))
    out = over(out, eye.pupil, 0.78 * smooth(y + 0.10 * np.abs(x), -0.22, -0.72))
    for cx, cy, rx, ry, strength in (
        (-0.35, -0.36, 0.235, 0.255, 1.0), (0.38, 0.40, 0.125, 0.115, 0.95), (0.06, -0.56, 0.06, 0.06, 0.9),
        (-0.50, 0.30, 0.055, 0.055, 0.75),
    ):  # fmt: skip
        out = over(out, "#ffffff", strength * smooth(np.hypot((x - cx) / rx, (y - cy) / ry), 1.05, 0.93))
    return out


def sclera(size: int) -> F64:
    g = (np.arange(size) + 0.5) / size * 2 - 1
    _, y = np.meshgrid(g, g)
    out = np.broadcast_to(np.array(rgb("#fbf9ff"), np.float64), (size, size, 3))
    # The upper lid throws a shadow; it is the only shade.
    out = over(out, "#b7aedb", smooth(y, -0.22, -0.58) * 0.95)
    return out


def features(who: Character) -> Image.Image:
    size = 1024
    out = Image.new("RGB", (size, size), rgb("#888888"))
    out.paste(image(iris(1024, who.eyes)).resize((512, 512), Image.Resampling.LANCZOS), (0, 0))
    out.paste(image(sclera(512)), (512, 0))
    eye = who.eyes
    own = {"lashTip": eye.lash_tip, "lash": eye.lash, "lashSoft": eye.lash_soft, "brow": eye.brow}
    return cells(out, FEATURES, FEATURE_COLOURS | own)


def _darker(colour: str) -> str:
    r, g, b = (round(q * f) for q, f in zip(rgb(colour), (0.90, 0.82, 0.85), strict=True))
    return f"#{r:02x}{g:02x}{b:02x}"


def skin(who: Character, shade: bool) -> Image.Image:
    """The face from the front (u: x -0.5..0.5, v: y 1.05..-0.05 heights of the head), cheeks and nose tinted."""
    size = 768
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid(g, g)
    x, y = np.abs(u - 0.5), 1.05 - 1.1 * v
    out = np.broadcast_to(np.array(rgb(who.skin[shade]), np.float64), (size, size, 3))
    # Under the hair the cheeks are painted once more, red: what the shape of her blush shows.
    red = y > 1.05 - BLUSH_UP / 3
    y = np.where(red, y - BLUSH_UP, y)
    blush = np.exp(-(((x - 0.225) / 0.060) ** 2 + ((y - 0.222) / 0.034) ** 2))
    out = over(out, who.blush, 0.46 * blush)
    deep = np.exp(-(((x - 0.215) / 0.070) ** 2 + ((y - 0.224) / 0.036) ** 2))
    out = over(out, "#ff5a68", np.where(red, 0.62 * deep, 0.0))
    out = over(out, "#ff9a94", 0.30 * np.exp(-((x / 0.020) ** 2 + ((y - 0.255) / 0.012) ** 2)))
    out = over(out, "#e8a29c", 0.35 * np.exp(-((x / 0.032) ** 2 + ((y - 0.112) / 0.007) ** 2)))
    # Shadow of the fringe.
    out = over(out, who.skin[1], 0.55 * smooth(y + 0.02 * np.cos(x * 40), 0.60, 0.68))
    picture = image(out)
    draw = ImageDraw.Draw(picture)
    for sign in (-1, 1) if who.blush_strokes else ():
        for k in (-1, 0, 1):
            # Three small strokes on the blush.
            cx, cy = 0.5 + sign * (0.222 + 0.020 * k), (1.05 - 0.224) / 1.1
            draw.line([((cx + 0.006) * size, (cy - 0.011) * size), ((cx - 0.006) * size, (cy + 0.011) * size)],
                      fill=rgb("#f58a92"), width=2)  # fmt: skip
    for sign in (-1, 1):
        for k in range(-2, 3):
            cx, cy = 0.5 + sign * (0.214 + 0.026 * k), (1.05 - BLUSH_UP - 0.226) / 1.1
            draw.line([((cx + 0.008) * size, (cy - 0.016) * size), ((cx - 0.008) * size, (cy + 0.016) * size)],
                      fill=rgb("#e0485c"), width=3)  # fmt: skip
    draw.rectangle((0, size - 30, 60, size), fill=rgb(who.skin[shade]))
    draw.rectangle((61, size - 30, 125, size), fill=rgb(_darker(who.skin[1]) if shade else who.skin[1]))
    return picture.filter(ImageFilter.GaussianBlur(0.7))


def outline_width() -> Image.Image:
    """How thick the face's outline is (green): none at the rims of eyes and mouth, where the skin ends."""
    size = 256
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid(g, g)
    x, y = np.abs(u - 0.5), 1.05 - 1.1 * v
    eyes = smooth(np.hypot((x - 0.193) / 0.145, (y - 0.388) / 0.130), 0.9, 1.05)
    mouth = smooth(np.hypot(x / 0.095, (y - 0.138) / 0.040), 0.9, 1.05)
    mouth = np.where(y > 1.05 - BLUSH_UP / 3, 0.0, mouth)
    return image(np.repeat((255 * np.minimum(eyes, mouth))[..., None], 3, -1))


def hair_outline() -> Image.Image:
    """How thick the hair's outline is (green): none at the roots of locks, where it would show as slits."""
    size = 256
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid(g, g)
    wide = np.where(u < 0.5, 1.0, smooth(v, 0.06, 0.30))
    return image(np.repeat((255 * wide)[..., None], 3, -1))


def hair(paint: HairPaint, shade: bool) -> Image.Image:
    """Left half: the dome, folded at the face's middle, from crown to edge. Right half: strips for locks, from root to
    tip, with the ring of light."""
    size = 1024
    g = (np.arange(size) + 0.5) / size
    # Soft enough to be painted at half its size.
    u, v = np.meshgrid(g[: size // 2 : 2], g[::2])
    azimuth, polar = u * 360.0, v * DOME_POLAR
    root, base, bright, line = (pair[shade] for pair in (paint.root, paint.base, paint.bright, paint.line))
    out = gradient([(0, root), (30, base), (70, base), (DOME_POLAR, root)], polar)
    rng = np.random.default_rng(7)
    for _ in range(90):
        c, w, s = rng.uniform(0, 180), rng.uniform(0.5, 1.6), rng.uniform(0.3, 1.0)
        a, b = sorted(rng.uniform(4, 130, 2))
        run = smooth(polar, a, a + 22) * smooth(polar, b + 26, b)
        wide = w * np.maximum(np.sin(np.radians(np.maximum(polar, 12))), 0.3)
        colour = line if rng.uniform() < 0.6 else bright
        out = over(out, colour, 0.6 * s * run * np.exp(-(((azimuth - c) / wide) ** 2)))
    dome = image(out).resize((size // 2, size), Image.Resampling.BICUBIC)
    out = np.asarray(dome, np.float64)
    return image(np.concatenate([out, *(_strip(name, paint, shade, size) for name in STRIPS)], 1))


def _strip(name: str, paint: HairPaint, shade: bool, size: int) -> F64:
    g = (np.arange(size) + 0.5) / size
    u, v = np.meshgrid((np.arange(size // 8) + 0.5) / (size // 8), g)
    out = gradient(list(paint.strips[name][shade]), v)
    # Three strands, which the lock's taper brings together; a light one between.
    for centre, wide, strength, a, b in ((0.24, 0.016, 0.75, 0.10, 0.95), (0.42, 0.010, 0.5, 0.35, 1.0),
                                         (0.68, 0.020, 0.8, 0.0, 0.75), (0.84, 0.012, 0.5, 0.3, 1.0)):  # fmt: skip
        run = smooth(v, a - 0.05, a + 0.25) * smooth(v, b + 0.05, b - 0.25)
        out = over(out, paint.line[shade], strength * run * np.exp(-(((u - centre) / wide) ** 2)))
    light = np.exp(-(((u - 0.33) / 0.035) ** 2)) * smooth(v, 0.1, 0.4) * smooth(v, 0.95, 0.6)
    out = over(out, paint.bright[0], (0.1 if shade else 0.7) * light)
    edge = smooth(np.abs(u - 0.5), 0.40, 0.49)
    out = over(out, paint.line[1], 0.50 * edge)
    if not shade:
        # The ring of light: toothed above and below, apart at the lock's edges. Long locks stretch the strip.
        tall = 0.5 if name == "long" else 1.0
        teeth = np.abs((u * 2.5 + 0.3) % 1.0 - 0.5) * 2
        low, high = RING_AT + tall * (0.022 + 0.045 * teeth**1.2), RING_AT - tall * (0.032 + 0.022 * (1 - teeth))
        band = smooth(v, high - 0.004, high + 0.004) * smooth(v, low + 0.004, low - 0.004)
        out = over(out, paint.ring, 0.92 * band * smooth(np.abs(u - 0.5), 0.45, 0.40))
    return out
