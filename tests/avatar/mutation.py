"""Avatar files broken on purpose, and what every one of them must come to: a reason, or an avatar that moves."""

from __future__ import annotations

import copy
import json
import math
import random
import struct
from typing import Any

import numpy as np

from idol.avatar import AvatarError
from idol.avatar.avatar import Avatar
from idol.avatar.clips import read_clips
from idol.avatar.container import parse_container
from idol.avatar.licence import describe_terms
from idol.avatar.loading import read_avatar
from idol.seams import FacePose

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 255, 65_535, 70_000, 1 << 31, 1 << 40, -(1 << 40), 10**40, 0.5, -0.5, 1e-30, 1e9,
    1e29, 1e300, -1e300, "", "x", "NaN", "a" * 5000, "\ud800", "\n\x1b[31m", [], {}, [[]], [None], [-1], [0, 0, 0],
    [1e20, 1e20, 1e20, 1e20], [0] * 16, {"x": 1e20, "y": None, "z": "a"}, {"": {}},
)  # fmt: skip
"""What a value of the JSON becomes."""
RAW = ("NaN", "-Infinity", "1e999", "[" * 3000, "9" * 5000, "\x00", '"\\ud800"', "{", "01")
"""What stands in the text of the JSON where a value stood, without being written as JSON."""


def mutated(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """One of many ways to break a GLB, and its name."""
    kind = rng.choice(("values", "values", "values", "swap", "raw", "binary", "floats", "bytes", "chunks", "cut"))
    size = struct.unpack_from("<I", content, 12)[0]
    text, rest = content[20 : 20 + size], content[20 + size :]
    if kind in ("values", "swap"):
        document = json.loads(text)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            _change(document, rng, swap=kind == "swap")
        return kind, _joined(json.dumps(document).encode(), rest)
    if kind == "raw":
        numbers = [i for i, byte in enumerate(text) if byte in b'0123456789"[{']
        at = rng.choice(numbers)
        return kind, _joined(text[:at] + rng.choice(RAW).encode() + text[at + 1 :], rest)
    broken = bytearray(content)
    if kind == "binary":
        for _ in range(rng.randint(1, 60)):
            broken[rng.randrange(min(28 + size, len(broken) - 1), len(broken))] = rng.randrange(256)
    elif kind == "floats":
        for _ in range(rng.randint(1, 8)):
            at = 28 + size + 4 * rng.randrange(max(1, (len(content) - size - 32) // 4))
            value = rng.choice((math.nan, math.inf, -math.inf, 1e38, -1e38, 1e-40, 1e20))
            if at + 4 <= len(broken):
                struct.pack_into("<f", broken, at, value)
    elif kind == "bytes":
        for _ in range(rng.randint(1, 30)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
    elif kind == "chunks":
        at = rng.choice((4, 8, 12, 16, 20 + size, 24 + size))
        if at + 4 <= len(broken):
            old = struct.unpack_from("<I", broken, at)[0]
            new = rng.choice((0, 1, old - 1, old + 1, old + 4, old * 2, 0xFFFFFFFF, 0x7FFFFFFF, 3))
            struct.pack_into("<I", broken, at, new & 0xFFFFFFFF)
    else:
        del broken[rng.randrange(len(broken)) :]
    return kind, bytes(broken)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every container and key of the document."""
    for key in value if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], dict | list):
            _places(value[key], found)
    return found


def _change(document: Any, rng: random.Random, swap: bool) -> None:
    places = _places(document, [])
    if not places:
        return
    # Half of the time under a rare key: accessors and nodes are most of a file.
    rare = [(held, key) for held, key in places if isinstance(key, str)]
    held, key = rng.choice(rare if rare and rng.random() < 0.5 else places)
    if swap:
        other, name = rng.choice(places)
        held[key] = copy.deepcopy(other[name])
    elif rng.random() < 0.2 and isinstance(held, dict):
        del held[key]
    elif rng.random() < 0.3 and isinstance(held[key], int | float) and not isinstance(held[key], bool):
        number = held[key]
        held[key] = rng.choice(
            (
                number + 1,
                number - 1,
                -number,
                number * 1000,
                number * 1e9,
                number / 3,
                number << 8 if isinstance(number, int) else -1,
            )
        )
    else:
        held[key] = copy.deepcopy(rng.choice(VALUES))


def _joined(text: bytes, rest: bytes) -> bytes:
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text + rest
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def poses() -> list[tuple[FacePose, float]]:
    """Poses and the time since the one before: at rest, everything at once, a long pause, and back."""
    rest, full = np.zeros(52, np.float32), np.ones(52, np.float32)
    return [
        (FacePose(rest), 0.0),
        (FacePose(full, head=(0.5, -0.3, 0.2), gaze=(0.4, -0.3), emotion="happy", speaking=True), 1 / 60),
        (FacePose(full * 0.5, head=(-0.5, 0.3, -0.2), gaze=(-0.4, 0.3), emotion="angry"), 1.0),
        (FacePose(rest), 1 / 30),
    ]


def check(content: bytes) -> str:
    """What became of the file: "refused REASON" or "loaded". Anything else is an exception."""
    try:
        container = parse_container(content, "mutated")
        data = read_avatar(container, "mutated")
        avatar = Avatar(data)
    except AvatarError as error:
        assert str(error).isprintable() and error.fix and len(str(error)) < 1000
        return f"refused {error}"
    try:
        read_clips(container)
    except AvatarError as error:
        assert str(error).isprintable()
    for pose, dt in poses():
        avatar.update(pose, dt)
        assert np.isfinite(avatar.palette).all(), "the palette is not finite"
        assert np.isfinite(avatar.morph_weights).all(), "the morph weights are not finite"
        assert all(np.isfinite(blend.offsets).all() for blend in avatar.blends), "an offset is not finite"
    "\n".join([*describe_terms(data.meta).lines(), *data.warnings, avatar.title, *avatar.expression_names]).encode()
    return "loaded"
