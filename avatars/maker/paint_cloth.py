"""The cloth's texture: painted folds, seams and trimmings above, cells of plain colour below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image

from avatars.maker.atlas import CLOTH, PLEATS, REGIONS
from avatars.maker.character import Character
from avatars.maker.curves import F64, smooth
from avatars.maker.paint_tools import cells, image, over, rgb

SIZE = 1024
Colours = dict[str, str]


def _line(d: F64, wide: float) -> F64:
    """A painted line where the distance ``d`` is within ``wide``, a little soft."""
    return smooth(np.abs(d), wide * 1.4, wide * 0.6)


def _plain(u: F64, colour: str) -> F64:
    return np.broadcast_to(np.array(rgb(colour), np.float64), (*u.shape, 3)).copy()


def _strokes(u: F64, v: F64, seed: int, count: int, reach: tuple[float, float], wide: float) -> F64:
    """Folds: strokes that start at v = 0 and run out, at uneven places and of uneven lengths."""
    rng = np.random.default_rng(seed)
    out = np.zeros_like(u)
    for k in range(count):
        at = (k + rng.uniform(0.2, 0.8)) / count
        long = rng.uniform(*reach)
        w = wide * rng.uniform(0.6, 1.3) * np.maximum(1 - v / long, 0.05)
        out = np.maximum(out, np.exp(-(((u - at - 0.02 * v) / w) ** 2)) * smooth(v, long, 0.35 * long))
    return out


def _bodice(u: F64, v: F64, c: Colours, who: Character) -> F64:
    """Round the torso: the front's middle at u = 0.5, the neck at v = 0, the waist at v = 0.9."""
    theta, y = (u - 0.5) * 2 * np.pi, 1.25 - 0.34 * v
    side = np.abs(theta)
    out = _plain(u, c[who.bodice])
    dim, deep = c[who.bodice + "Soft"], c[who.bodice + "Deep"]
    # Darker to the sides, under the bust and under the arms.
    out = over(out, dim, 0.75 * smooth(side, 0.95, 1.5) * smooth(side, 2.2, 1.7))
    under = 1.066 - 0.030 * np.abs(side - 0.55) ** 1.2
    out = over(out, dim, 0.9 * smooth(y, under + 0.008, under - 0.004) * smooth(y, under - 0.045, under - 0.008)
               * smooth(side, 1.15, 0.75))  # fmt: skip
    out = over(out, dim, 0.6 * smooth(side, 0.10, 0.0) * smooth(y, 1.15, 1.10) * smooth(y, 1.05, 1.09))
    # Pulled folds at the waist, front and back, and from the bust to the arms.
    fold = _strokes((theta / (2 * np.pi) + 0.5) % 1, np.clip((y - 0.942) / 0.10, 0, 2), 3, 19, (0.35, 0.95), 0.012)
    out = over(out, dim, 0.9 * fold)
    for slope, at in ((-0.20, 1.160), (-0.13, 1.135)):
        pull = _line(y - at - slope * (side - 0.75), 0.0024) * smooth(side, 0.45, 0.7) * smooth(side, 1.25, 1.05)
        out = over(out, dim, 0.9 * pull)
    # Seams: princess lines over the bust, the back's middle, the waist.
    princess = 0.50 + 0.16 * np.exp(-(((y - 1.10) / 0.05) ** 2))
    out = over(out, deep, 0.75 * _line(side - princess, 0.009) * smooth(y, 1.15, 1.12))
    out = over(out, deep, 0.6 * (_line(side - np.pi, 0.02) + _line(side - 2.55, 0.009)))
    if who.placket:
        out = over(out, dim, 0.9 * smooth(side, 0.105, 0.09) * smooth(y, 1.125, 1.12))
        out = over(out, deep, 0.9 * _line(side - 0.105, 0.007) * smooth(y, 1.125, 1.12))
    return over(out, c[who.trim], _line(y - 0.958, 0.0035))


def _skirt(u: F64, v: F64, c: Colours, who: Character) -> F64:
    """``PLEATS`` pleats over u, each rising to 0.62 of its width and falling back; waist to hem over v."""
    u = np.interp((u * PLEATS) % 1.0, [0.0, 0.62, 0.96, 1.0], [1.0, 0.0, 0.9, 1.0])
    out = _plain(u, c[who.skirt])
    out = over(out, c[who.skirt + "Deep"], smooth(u, 0.45, 1.0) * (0.55 + 0.45 * v))
    out = over(out, c[who.skirt + "Light"], 0.8 * np.exp(-(((u - 0.16) / 0.07) ** 2)) * smooth(v, 0.05, 0.4))
    out = over(out, c[who.skirt + "Deep"], 0.6 * smooth(v, 0.10, 0.0))
    for low, high, colour in ((0.80, 0.865, who.trim), (0.895, 0.915, who.accent)):
        band = smooth(v, low - 0.004, low + 0.004) * smooth(v, high + 0.004, high - 0.004)
        out = over(out, c[colour], band)
        out = over(out, c[colour + "Deep"], 0.65 * band * smooth(u, 0.45, 1.0))
    return out


def _sleeve(u: F64, v: F64, c: Colours, who: Character) -> F64:
    """Round the sleeve over u, from shoulder to cuff over v; gathered at both ends."""
    out = _plain(u, c[who.sleeve])
    dim, deep = c[who.sleeve + "Soft"], c[who.sleeve + "Deep"]
    out = over(out, dim, 0.95 * _strokes(u, v, 5, 15, (0.30, 0.65), 0.020))
    out = over(out, dim, 0.95 * _strokes(u, 1 - v, 6, 17, (0.28, 0.62), 0.018))
    out = over(out, deep, 0.6 * _strokes(u, 1 - v, 6, 17, (0.12, 0.30), 0.009))
    return over(out, dim, 0.6 * smooth(v, 0.84, 1.0))


def _sock(u: F64, v: F64, c: Colours, who: Character) -> F64:
    """Round the leg over u (front at 0.25), from the thigh down over v."""
    out = _plain(u, c["sock"])
    round_ = np.abs((u - 0.25 + 0.5) % 1 - 0.5) * 2
    out = over(out, c["sockDeep"], 0.55 * smooth(round_, 0.45, 0.8))
    out = over(out, c["sockLight"], 0.55 * np.exp(-(((round_ - 0.10) / 0.13) ** 2)) * smooth(v, 0.08, 0.3))
    for at, wide in ((0.055, 0.010), (0.090, 0.006)):
        out = over(out, c[who.trim], _line(v - at, wide))
    return out


def _boot(u: F64, v: F64, c: Colours, who: Character) -> F64:
    """Round the leg over u (front at 0.25), shaft over v to 0.5, the foot from its back to its toe from 0.5 on."""
    out = _plain(u, c["boot"])
    round_ = ((u - 0.25 + 0.5) % 1 - 0.5) * 2
    shaft = smooth(v, 0.50, 0.48)
    out = over(out, c["bootSoft"], 0.8 * smooth(np.abs(round_), 0.45, 0.75) * shaft)
    out = over(out, c["bootSoft"], 0.9 * _line(v - 0.41 - 0.03 * np.cos(round_ * 4), 0.014) * shaft)
    # A tongue with laces.
    tongue = smooth(np.abs(round_), 0.20, 0.18) * smooth(v, 0.06, 0.08) * shaft
    out = over(out, c["bootSoft"], tongue)
    out = over(out, c["bootDeep"], 0.9 * _line(np.abs(round_) - 0.19, 0.014) * smooth(v, 0.05, 0.08) * shaft)
    cross = np.minimum(np.abs((v * 12 + round_ * 2.6) % 1 - 0.5), np.abs((v * 12 - round_ * 2.6) % 1 - 0.5))
    out = over(out, c[who.accent], _line(cross, 0.13) * tongue)
    # A cap over the toes.
    cap = smooth(v, 0.862, 0.872)
    out = over(out, c[who.trim], cap)
    out = over(out, c["bootDeep"], 0.8 * _line(v - 0.855, 0.007))
    return over(out, c["bootSoft"], 0.7 * smooth(v, 0.52, 0.56) * smooth(v, 0.66, 0.6))


def _bow(u: F64, v: F64, c: Colours, who: Character) -> F64:
    """From the knot (u = 0) to the loop's end; edges at v = 0 and 1."""
    out = _plain(u, c[who.ribbon])
    out = over(out, c[who.ribbon + "Deep"], 0.75 * smooth(u, 0.42, 0.05))
    for at, long in ((0.25, 0.62), (0.48, 0.80), (0.72, 0.55)):
        wide = 0.055 * np.maximum(1 - u / long, 0.02)
        out = over(
            out,
            c[who.ribbon + "Deep"],
            0.9 * np.exp(-(((v - at - 0.10 * (at - 0.5) * u) / wide) ** 2)) * smooth(u, long, 0.2),
        )
    out = over(
        out, c[who.ribbon + "Light"], 0.6 * np.exp(-(((u - 0.62) / 0.10) ** 2)) * smooth(np.abs(v - 0.42), 0.30, 0.1)
    )
    return over(out, c[who.ribbon + "Light"], 0.75 * (_line(v - 0.06, 0.014) + _line(v - 0.94, 0.014)))


def _collar(u: F64, v: F64, c: Colours, who: Character) -> F64:
    """Round the neck over u, from the neck to its edge over v: two stripes."""
    out = _plain(u, c[who.collar])
    out = over(out, c[who.collar + "Light"], 0.7 * np.exp(-(((v - 0.30) / 0.18) ** 2)))
    out = over(out, c[who.collar + "Deep"], 0.7 * smooth(v, 0.16, 0.0))
    out = over(out, c[who.trim], _line(v - 0.80, 0.030))
    return over(out, c[who.trim], _line(v - 0.90, 0.014))


PAINTERS: dict[str, Callable[[F64, F64, Colours, Character], F64]] = {
    "bodice": _bodice, "skirt": _skirt, "sleeve": _sleeve, "sock": _sock, "boot": _boot, "bow": _bow,
    "collar": _collar,
}  # fmt: skip


def tones(colours: dict[str, tuple[str, str]], shade: bool) -> Colours:
    """Every colour's name with its tone, and with Soft, Deep and Light its neighbours."""
    out: Colours = {}
    for name, (lit, dark) in colours.items():
        a, b = np.array(rgb(lit), np.float64), np.array(rgb(dark), np.float64)
        base, low = (b, b + 0.8 * (b - a) * 0.5) if shade else (a, b)
        mixes = {"": base, "Soft": 0.55 * base + 0.45 * low, "Deep": 0.15 * base + 0.85 * low,
                 "Light": base + 0.22 * (255 - base)}  # fmt: skip
        for tone, value in mixes.items():
            r, g, bl = (int(v) for v in np.clip(value + 0.5, 0, 255))
            out[name + tone] = f"#{r:02x}{g:02x}{bl:02x}"
    return out


def cloth(who: Character, shade: bool) -> Image.Image:
    colours = tones(who.cloth, shade)
    pixels = np.full((SIZE, SIZE, 3), 128.0)
    for name, paint in PAINTERS.items():
        a, b, c, d = (round(SIZE * q) for q in REGIONS[name])
        u, v = np.meshgrid((np.arange(c - a) + 0.5) / (c - a), (np.arange(d - b) + 0.5) / (d - b))
        pixels[b:d, a:c] = paint(u, v, colours, who)
    return cells(image(pixels), CLOTH, {name: colours[name] for name in CLOTH})
