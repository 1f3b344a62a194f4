"""The gestures themselves: for each emotion, for greeting, for talking and for idle moments."""

from __future__ import annotations

from dataclasses import replace

from idol.avatar.gestures import Hand, Key, Score, mirrored


def _wave() -> Score:
    hand = Hand("beside", (0.0, 0.46, 0.55), (0.10, 1.0, 0.05), (-0.1, 0.05, 1.0), (0.75, -1.0, -0.1), "open")
    out = replace(hand, at=(0.11, 0.42, 0.53), fingers=(0.50, 1.0, 0.05))
    into = replace(hand, at=(-0.06, 0.48, 0.57), fingers=(-0.20, 1.0, 0.05))
    tilt = Key(0.0, head=(-3.0, 1.0, -7.0), chest=(-2.0, 0.0, -2.5), shift=(0.012, 0.0, 0.0))
    keys = [Key(0.0), replace(tilt, at=0.5, right=hand)]
    for i in range(3):
        keys += [replace(tilt, at=0.68 + 0.42 * i, right=out), replace(tilt, at=0.89 + 0.42 * i, right=into)]
    keys += [replace(tilt, at=1.98, right=hand), Key(2.75)]
    return Score("wave", tuple(keys))


def _happy() -> Score:
    left = Hand("chest", (0.06, 0.06, 0.24), (-0.25, 1.0, 0.35), (-1.0, -0.1, 0.2), (0.9, -0.8, -0.1), "flat")
    low, high = (0.0, -0.030, 0.0), (0.0, 0.0, 0.0)
    glad = (0.0, 2.0, 6.0)
    return Score("happy", (
        Key(0.0), Key(0.20, (0.0, -3.0, 0.0), (0.0, -2.0, 0.0), shift=low),
        Key(0.58, glad, (0.0, 3.0, 2.0), shift=high, left=left, right=left, shrug=(3.0, 3.0)),
        Key(0.82, glad, (0.0, -1.0, 2.0), shift=low, left=left, right=left),
        Key(1.06, (0.0, 3.0, -6.0), (0.0, 3.0, -2.0), shift=high, left=left, right=left, shrug=(3.0, 3.0)),
        Key(1.30, (0.0, 1.0, -6.0), (0.0, -1.0, -2.0), shift=(0.0, -0.02, 0.0), left=left, right=left),
        Key(1.52, (0.0, 2.0, 5.0), (0.0, 1.0, 1.0), left=left, right=left),
        Key(1.95, (0.0, 2.0, 5.0), (0.0, 1.0, 1.0), left=left, right=left), Key(2.6),
    ))  # fmt: skip


def _cheer() -> Score:
    """A fist thrown up, the other drawn in at her side."""
    wind = Hand("shoulder", (0.12, -0.32, 0.40), (-0.1, 1.0, 0.3), (-0.7, 0.0, -0.7), (0.6, -1.0, -0.4), "fist")
    top = replace(
        wind, at=(0.16, 0.88, 0.20), fingers=(0.05, 1.0, 0.05), palm=(-1.0, 0.0, 0.15), elbow=(1.0, -0.4, 0.2)
    )
    side = replace(
        wind, at=(0.10, -0.46, 0.34), fingers=(-0.2, 0.7, 0.7), palm=(-0.9, 0.3, -0.3), elbow=(0.8, -0.6, -0.8)
    )
    low, high = (0.0, -0.03, 0.0), (-0.012, 0.004, 0.0)
    return Score("cheer", (
        Key(0.0), Key(0.36, (0.0, -5.0, 0.0), (6.0, -4.0, -2.0), shift=low, right=wind, left=side),
        Key(0.62, (-3.0, 7.0, 6.0), (-6.0, 4.0, 4.0), shift=high, shrug=(0.0, 10.0), right=top, left=side),
        Key(0.92, (-3.0, 5.0, 6.0), (-6.0, 3.0, 4.0), shift=high, shrug=(0.0, 8.0), right=top, left=side),
        Key(1.16, (0.0, -1.0, 2.0), (2.0, -2.0, 0.0), shift=(0.0, -0.02, 0.0), right=wind, left=side),
        Key(1.40, (-3.0, 6.0, 6.0), (-5.0, 3.0, 4.0), shift=high, shrug=(0.0, 10.0), right=top, left=side),
        Key(1.68, (-2.0, 4.0, 5.0), (-4.0, 2.0, 3.0), shift=high, shrug=(0.0, 8.0), right=top, left=side),
        Key(2.3),
    ))  # fmt: skip


def _sad() -> Score:
    held = Hand("lap", (0.02, 0.02, 0.22), (-0.55, -1.0, 0.25), (-0.5, 0.1, -1.0), (0.8, -0.6, -0.5), "cup")
    under = replace(held, at=(-0.01, 0.0, 0.16))
    low = Key(0.0, head=(4.0, -15.0, 4.0), chest=(0.0, -6.0, 0.0), shrug=(-3.0, -3.0), shift=(0.0, -0.008, -0.01))
    deep = replace(low, head=(-3.0, -17.0, 4.0), chest=(0.0, -7.0, 0.0))
    return Score("sad", (
        Key(0.0), replace(low, at=0.9, left=held, right=under), replace(deep, at=1.7, left=held, right=under),
        replace(low, at=2.4, left=held, right=under), Key(3.3),
    ), fade_in=0.4, fade_out=0.5)  # fmt: skip


def _angry() -> Score:
    hip = Hand("waist", (0.02, -0.03, 0.06), (-0.75, -0.35, 0.75), (-1.0, -0.2, -0.35), (1.0, 0.0, -0.55), "flat")
    chest, shift = (0.0, -4.0, 0.0), (0.0, 0.0, 0.012)
    return Score("angry", (
        Key(0.0), Key(0.45, (0.0, -3.0, 0.0), (0.0, 1.0, 0.0), left=hip, right=hip, shrug=(2.0, 2.0)),
        Key(0.75, (0.0, -6.0, 3.0), chest, shift=shift, left=hip, right=hip),
        Key(1.00, (7.0, -5.0, 3.0), chest, shift=shift, left=hip, right=hip),
        Key(1.26, (-7.0, -5.0, 3.0), chest, shift=shift, left=hip, right=hip),
        Key(1.55, (3.0, -5.0, 3.0), chest, shift=shift, left=hip, right=hip),
        Key(2.10, (2.0, -5.0, 3.0), chest, shift=shift, left=hip, right=hip), Key(2.8),
    ))  # fmt: skip


def _surprised() -> Score:
    hand = Hand("shoulder", (0.10, -0.10, 0.44), (0.18, 1.0, 0.15), (-0.15, 0.0, 1.0), (0.9, -1.0, -0.1), "open")
    back = Key(0.0, head=(0.0, 4.0, 0.0), chest=(0.0, 6.0, 0.0), shift=(0.0, 0.004, -0.022), shrug=(6.0, 6.0))
    held = replace(back, head=(0.0, 2.0, 3.0), chest=(0.0, 4.0, 0.0), shrug=(4.0, 4.0))
    return Score("surprised", (
        Key(0.0), replace(back, at=0.42, left=hand, right=hand), replace(held, at=0.95, left=hand, right=hand),
        replace(held, at=1.25, left=hand, right=hand), Key(2.0),
    ), fade_in=0.25)  # fmt: skip


def _shy() -> Score:
    left = Hand("chest", (0.05, 0.02, 0.22), (-0.5, 1.0, 0.2), (-0.9, -0.2, 0.25), (0.75, -1.0, 0.0), "cup")
    right = replace(left, at=(0.04, -0.02, 0.20))
    away = Key(0.0, head=(13.0, -7.0, 7.0), chest=(7.0, -2.0, 2.0), turn=(4.0, 0.0, 0.0), shrug=(4.0, 4.0))
    back = replace(away, head=(8.0, -8.0, 8.0), chest=(2.0, -2.0, 2.0), turn=(-2.0, 0.0, 0.0))
    return Score("shy", (
        Key(0.0), replace(away, at=0.7, left=left, right=right), replace(back, at=1.3, left=left, right=right),
        replace(away, at=1.9, left=left, right=right), replace(away, at=2.3, left=left, right=right), Key(3.1),
    ))  # fmt: skip


def _thinking() -> Score:
    chin = Hand("chin", (0.06, -0.10, 0.10), (-0.45, 1.0, -0.25), (-0.6, 0.3, -0.7), (0.12, -1.0, 0.15), "point")
    arm = Hand("belly", (-0.23, 0.09, 0.21), (-1.0, 0.05, -0.15), (0.0, 1.0, -0.3), (0.8, -1.0, -0.1), "cup")
    up = Key(0.0, head=(-9.0, 6.0, -6.0), chest=(2.0, 1.0, -1.5), shift=(0.015, 0.0, 0.0))
    more = replace(up, head=(-12.0, 8.0, -7.0))
    return Score("thinking", (
        Key(0.0), replace(up, at=0.7, left=arm, right=chin), replace(more, at=1.5, left=arm, right=chin),
        replace(up, at=2.6, left=arm, right=chin), Key(3.4),
    ))  # fmt: skip


def _relaxed() -> Score:
    left = Hand("lap", (0.03, 0.16, 0.20), (-0.85, -0.7, 0.2), (-0.3, 0.2, -1.0), (0.9, -0.6, -0.3), "cup")
    right = replace(left, at=(0.0, 0.13, 0.14))
    calm = Key(0.0, head=(0.0, 2.0, 6.0), chest=(0.0, 1.0, 1.0), shift=(0.016, 0.0, 0.0))
    sway = replace(calm, head=(0.0, 0.0, -4.0), chest=(0.0, 0.0, -1.0), shift=(-0.016, 0.0, 0.0))
    return Score("relaxed", (
        Key(0.0), replace(calm, at=0.8, left=left, right=right), replace(sway, at=2.0, left=left, right=right),
        replace(sway, at=2.8, left=left, right=right), Key(3.6),
    ))  # fmt: skip


def _bow() -> Score:
    hand = Hand("lap", (0.05, 0.06, 0.16), (-0.5, -1.0, 0.15), (-0.2, 0.1, -1.0), (0.9, -0.5, -0.4), "flat")
    down = Key(0.0, head=(0.0, -13.0, 0.0), chest=(0.0, -20.0, 0.0), turn=(0.0, -7.0, 0.0), shift=(0.0, -0.01, -0.05))
    return Score("bow", (
        Key(0.0), Key(0.40, left=hand, right=hand), replace(down, at=0.85, left=hand, right=hand),
        replace(down, at=1.20, left=hand, right=hand), Key(1.75, left=hand, right=hand), Key(2.3),
    ))  # fmt: skip


def _nod() -> Score:
    return Score("nod", (
        Key(0.0), Key(0.24, (0.0, -14.0, 0.0), (0.0, -2.0, 0.0)), Key(0.45, (0.0, 1.0, 0.0)),
        Key(0.70, (0.0, -9.0, 0.0), (0.0, -1.0, 0.0)), Key(1.0),
    ), fade_in=0.25, fade_out=0.25)  # fmt: skip


def _look_around() -> Score:
    return Score("look_around", (
        Key(0.0), Key(0.8, (24.0, 3.0, 3.0), (6.0, 0.0, 0.0), (3.0, 0.0, 0.0), (0.012, 0.0, 0.0)),
        Key(1.6, (24.0, 5.0, 4.0), (6.0, 0.0, 0.0), (3.0, 0.0, 0.0), (0.012, 0.0, 0.0)),
        Key(2.8, (-22.0, 2.0, -3.0), (-6.0, 0.0, 0.0), (-3.0, 0.0, 0.0), (-0.012, 0.0, 0.0)),
        Key(3.5, (-20.0, 4.0, -4.0), (-5.0, 0.0, 0.0), (-3.0, 0.0, 0.0), (-0.012, 0.0, 0.0)), Key(4.4),
    ))  # fmt: skip


def _stretch() -> Score:
    """Hands clasped before her chest and pushed away, shoulders up; then let go."""
    hand = Hand("chest", (0.05, -0.05, 0.26), (-0.8, 0.5, 0.3), (-0.3, -0.4, 0.8), (0.9, -0.5, -0.1), "cup")
    fore = replace(hand, at=(0.05, 0.12, 0.70), fingers=(-0.85, 0.45, 0.2), palm=(-0.1, 0.1, 1.0), shape="flat")
    # Her left hand lies before her right one: fingers laced would pass through each other.
    before, front = replace(hand, at=(0.03, -0.05, 0.34)), replace(fore, at=(0.03, 0.12, 0.78))
    up = Key(0.0, head=(0.0, 5.0, 7.0), chest=(0.0, 4.0, 3.0), shrug=(8.0, 8.0))
    over = replace(up, head=(0.0, 5.0, -7.0), chest=(0.0, 4.0, -3.0))
    return Score("stretch", (
        Key(0.0), Key(0.8, left=before, right=hand), replace(up, at=1.6, left=front, right=fore),
        replace(over, at=2.5, left=front, right=fore), Key(3.1, left=before, right=hand, shrug=(-2.0, -2.0)), Key(4.0),
    ), fade_in=0.4, fade_out=0.5)  # fmt: skip


def _hair() -> Score:
    """A hand to the hair beside her cheek, drawn along it once."""
    touch = Hand("beside", (-0.12, 0.30, 0.36), (0.10, 1.0, -0.15), (-1.0, 0.1, -0.25), (0.8, -1.0, 0.1), "cup")
    along = replace(touch, at=(-0.12, 0.0, 0.42), fingers=(0.0, 1.0, 0.1), palm=(-1.0, 0.0, -0.2))
    tilt = Key(0.0, head=(-5.0, -3.0, -8.0), chest=(-2.0, 0.0, -1.0), shift=(0.015, 0.0, 0.0))
    return Score("hair", (
        Key(0.0), replace(tilt, at=0.9, right=touch), replace(tilt, at=1.4, right=touch),
        replace(tilt, at=2.3, right=along),
        Key(2.6, (-2.0, -1.0, -5.0), right=along), Key(3.5),
    ), fade_in=0.4, fade_out=0.4)  # fmt: skip


def _explain() -> Score:
    """Both palms opened to the viewer, for a listing or a point that matters."""
    hand = Hand("shoulder", (0.10, -0.36, 0.52), (0.25, 0.65, 1.0), (-0.35, 1.0, 0.2), (0.6, -1.0, -0.3), "open")
    wide = replace(hand, at=(0.24, -0.26, 0.50), fingers=(0.6, 0.7, 0.9))
    return Score("explain", (
        Key(0.0), Key(0.45, (0.0, -2.0, 3.0), (0.0, -1.0, 0.0), left=hand, right=hand),
        Key(0.80, (0.0, 1.0, 4.0), (0.0, 1.0, 1.0), left=wide, right=wide),
        Key(1.35, (0.0, 0.0, 4.0), (0.0, 0.0, 1.0), left=wide, right=wide), Key(2.0),
    ))  # fmt: skip


SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        _wave(), _happy(), _cheer(), _sad(), _angry(), _surprised(), _shy(), _thinking(), _relaxed(), _bow(), _nod(),
        _explain(), _look_around(), _stretch(), _hair(), mirrored(_hair(), "hair_left"),
    )
}  # fmt: skip

TALK: tuple[Hand, Hand] = (
    Hand("shoulder", (0.05, -0.42, 0.48), (-0.15, 0.45, 1.0), (-0.75, 0.6, 0.1), (0.7, -1.0, -0.4), "relaxed"),
    Hand("shoulder", (0.15, -0.25, 0.52), (0.25, 0.85, 0.9), (-0.5, 0.75, 0.35), (0.7, -1.0, -0.3), "open"),
)
"""A talking hand at rest before her, and at the height of a beat."""
