"""Who the maker can make: names, colours, hair style and outfit of each character."""

from __future__ import annotations

from dataclasses import dataclass

Stops = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class HairPaint:
    """Colours of the hair: (lit, shaded) for the dome, and along each strip of locks from root to tip."""

    root: tuple[str, str]
    base: tuple[str, str]
    bright: tuple[str, str]
    line: tuple[str, str]
    ring: str
    strips: dict[str, tuple[Stops, Stops]]
    outline: str
    rim: str


@dataclass(frozen=True, slots=True)
class EyePaint:
    """The iris from top to bottom, its ring, its glow below, the pupil, and what is drawn around it."""

    iris: Stops
    ring: str
    glow: str
    rays: str
    pupil: str
    core: str
    lash: str
    lash_soft: str
    lash_tip: str
    brow: str


@dataclass(frozen=True, slots=True)
class Character:
    """One character. ``cloth``: (lit, shaded) colours; ``bodice`` and so on name which of them each piece takes."""

    key: str
    name: str
    title: str
    hair_style: str
    outfit: str
    hair: HairPaint
    eyes: EyePaint
    skin: tuple[str, str]
    blush: str
    cloth: dict[str, tuple[str, str]]
    bodice: str = "white"
    placket: bool = True
    sleeve: str = "white"
    skirt: str = "navy"
    collar: str = "navy"
    ribbon: str = "pink"
    trim: str = "white"
    accent: str = "pink"
    blush_strokes: bool = True
    eye_tilt: float = 0.0
    """How much higher the outer corners of her eyes are, in heights of the head."""
    brow_thick: float = 1.0
    brow_lift: float = 0.133
    """How far before her skin the brows are drawn, so that they show through her fringe, in heights of the head."""
    backdrop: tuple[str, str] = ("#f4ecff", "#d9c8f7")
    """Behind her in the thumbnail, above and below."""


MIRA = Character(
    key="default",
    name="Mira",
    title="Mira, idol of the studio above the clouds",
    hair_style="two_side_up",
    outfit="sailor",
    hair=HairPaint(
        root=("#b39de9", "#8672cb"),
        base=("#c0abf2", "#8f7ad2"),
        bright=("#cdbbf7", "#9a86d8"),
        line=("#8570c9", "#5f4ca8"),
        ring="#f4edff",
        strips={
            "plain": (
                ((0, "#b9a3ee"), (0.35, "#c5b1f5"), (1.0, "#d3c2fb")),
                ((0, "#8774cb"), (0.35, "#907dd3"), (1.0, "#9c88da")),
            ),
            "long": (
                ((0, "#b9a3ee"), (0.35, "#c3aef4"), (0.62, "#cfb2f3"), (0.85, "#f0a6d6"), (1.0, "#ff8fbd")),
                ((0, "#8774cb"), (0.35, "#8f7bd2"), (0.62, "#9a7fd0"), (0.85, "#c079bd"), (1.0, "#d46aa2")),
            ),
            "short": (
                ((0, "#b9a3ee"), (0.45, "#c5b1f5"), (0.75, "#dcb2ee"), (1.0, "#fb9ccb")),
                ((0, "#8774cb"), (0.45, "#917dd3"), (0.75, "#a67ccb"), (1.0, "#cf72ae")),
            ),
            "accent": (((0, "#ff9fc4"), (1.0, "#ff8fbd")), ((0, "#d46aa2"), (1.0, "#d46aa2"))),
        },
        outline="#7c6694",
        rim="#000000",
    ),
    eyes=EyePaint(
        iris=((-1.0, "#231a56"), (-0.5, "#3a2f94"), (0.0, "#3f6bd4"), (0.45, "#4fbdea"), (1.0, "#a4fff2")),
        ring="#1f1747",
        glow="#ff9ecf",
        rays="#c9fbff",
        pupil="#1a123e",
        core="#6a9bff",
        lash="#2b2140",
        lash_soft="#8a5f78",
        lash_tip="#5a3168",
        brow="#5f5199",
    ),
    skin=("#fff0e6", "#f2bdb8"),
    blush="#ff8f96",
    cloth={
        "white": ("#fbfaff", "#c5c3e6"), "navy": ("#3b4486", "#272c62"), "pink": ("#f27f9f", "#c4527e"),
        "gold": ("#ffd56b", "#d99a52"), "black": ("#2f2c4c", "#1f1d36"), "whiteShade": ("#dcdcf0", "#b3b3d8"),
        "cream": ("#e9e6fa", "#bab4de"), "sock": ("#454a86", "#2e3166"), "boot": ("#f6f3fc", "#bdb8dc"),
        "sole": ("#3b4486", "#272c62"), "lining": ("#c75d83", "#8f3f68"), "violet": ("#8f7fd6", "#6658ae"),
    },
    eye_tilt=-0.007,
    brow_thick=0.8,
)  # fmt: skip
WREN = Character(
    key="wren",
    name="Wren",
    title="Wren, who plays the songs of the small hours",
    hair_style="bob",
    outfit="hooded_jacket",
    hair=HairPaint(
        root=("#2f5560", "#1d3644"),
        base=("#38626c", "#24404d"),
        bright=("#4b7d85", "#2c4c59"),
        line=("#23424f", "#152a38"),
        ring="#7cc4bd",
        strips={
            "plain": (
                ((0, "#335b66"), (0.4, "#3b6670"), (1.0, "#47757c")),
                ((0, "#1f3a48"), (0.4, "#25424f"), (1.0, "#2b4a56")),
            ),
            "long": (
                ((0, "#335b66"), (0.5, "#3f6d75"), (0.8, "#57b7a4"), (1.0, "#7df0cb")),
                ((0, "#1f3a48"), (0.5, "#274551"), (0.8, "#348578"), (1.0, "#46ae97")),
            ),
            "short": (
                ((0, "#335b66"), (0.55, "#3c6871"), (0.80, "#4d8f8a"), (1.0, "#7df0cb")),
                ((0, "#1f3a48"), (0.55, "#264451"), (0.80, "#2f6a68"), (1.0, "#46ae97")),
            ),
            "accent": (((0, "#6fe5c2"), (1.0, "#93f5d8")), ((0, "#3fa38d"), (1.0, "#4cb59d"))),
        },
        outline="#6e7c88",
        rim="#000000",
    ),
    eyes=EyePaint(
        iris=((-1.0, "#4a1d10"), (-0.5, "#8a3b16"), (0.0, "#dd7f22"), (0.45, "#ffbf4a"), (1.0, "#fff2a6")),
        ring="#3c170d",
        glow="#8df5cf",
        rays="#fff3b8",
        pupil="#2c0f0c",
        core="#ff9d54",
        lash="#1c2430",
        lash_soft="#7d5a58",
        lash_tip="#24484f",
        brow="#18323c",
    ),
    skin=("#ffeee0", "#eeb9a9"),
    blush="#ff9a86",
    cloth={
        "white": ("#f3fbf8", "#b5d3d2"), "navy": ("#2a3042", "#191d2c"), "pink": ("#52dcb4", "#2c9a88"),
        "gold": ("#ffc06b", "#d98a4a"), "black": ("#1f2331", "#131622"), "whiteShade": ("#d6eae6", "#a5c6c4"),
        "cream": ("#e6f5f0", "#a9cbc8"), "sock": ("#2a3042", "#191d2c"), "boot": ("#f3fbf8", "#b5d3d2"),
        "sole": ("#52dcb4", "#2c9a88"), "lining": ("#2fa98b", "#1f7a6c"), "violet": ("#7c8cff", "#5461bf"),
    },
    bodice="navy",
    placket=False,
    sleeve="white",
    skirt="navy",
    collar="white",
    trim="pink",
    accent="gold",
    blush_strokes=False,
    eye_tilt=0.012,
    brow_thick=0.95,
    brow_lift=0.138,
    backdrop=("#e6fbf4", "#a9dcd2"),
)  # fmt: skip
CHARACTERS = {who.key: who for who in (MIRA, WREN)}
