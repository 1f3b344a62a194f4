"""Broken and hostile files: each is refused with a reason of one line, or loads and moves. None takes long."""

from __future__ import annotations

import io
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from PIL import Image

from idol.avatar import AvatarError, parse_avatar
from idol.avatar.container import parse_container
from idol.avatar.licence import describe_terms
from tests.avatar.conftest import DATA
from tests.avatar.mutation import check, mutated
from tests.avatar.rewrite import glb, take_apart
from tests.avatar.test_compression import draco

MODELS = sorted(path.name for path in (DATA / "models").iterdir())
FILES = 240
SECONDS = 5


@contextmanager
def alarm(what: str) -> Iterator[None]:
    """Fails the test when its body takes over ``SECONDS``; a hang is ended."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"over {SECONDS} s: {what}")

    if not hasattr(signal, "SIGALRM"):  # pragma: no cover - Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_mutated_files_are_refused_with_a_reason_or_load_and_move() -> None:
    contents = {name: (DATA / "models" / name).read_bytes() for name in MODELS}
    contents["packed by Draco"], _ = draco("RiggedFigure.glb", False)
    names = [*contents]
    outcomes: Counter[str] = Counter()
    before = peak_megabytes()
    with np.errstate(all="warn", under="ignore"):
        for seed in range(FILES):
            rng = random.Random(seed)
            name = names[seed % len(names)]
            kind, content = mutated(contents[name], rng)
            try:
                with alarm(f"{name} {kind}"):
                    outcome = check(content)
            except Exception as error:
                error.add_note(f"mutation {seed} ({kind}) of {name}")
                raise
            outcomes[outcome.split(" ")[0]] += 1
    assert peak_megabytes() - before < 512
    # Both ends are reached: mutations that break nothing, or everything, would prove nothing.
    assert outcomes["refused"] > FILES // 4 and outcomes["loaded"] > FILES // 10, outcomes


def peak_megabytes() -> int:
    resource = pytest.importorskip("resource")  # of Unix
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) >> 10


def refuse(document: dict[str, Any], match: str, binary: bytes = b"") -> None:
    with alarm(match), pytest.raises(AvatarError, match=match):
        parse_avatar(glb(document, binary))


def small() -> dict[str, Any]:
    """A document of one triangle, ten meshes' worth of which fit into a line."""
    return {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"componentType": 5126, "count": 3, "type": "VEC3"}],
    }


def test_a_small_document_loads() -> None:
    assert len(parse_avatar(glb(small(), b"")).data.primitives) == 1


def test_nodes_nested_too_deep() -> None:
    document = small()
    document["nodes"] += [{"children": [i + 2]} for i in range(5000)] + [{}]
    refuse(document, "nodes: are nested more than 256 deep")


def test_nodes_in_a_ring() -> None:
    document = small()
    document["nodes"] += [{"children": [2]}, {"children": [1]}]
    refuse(document, r"nodes\[1\].children: the nodes form a ring")


def test_scales_that_multiply_beyond_numbers() -> None:
    document = small()
    document["nodes"] += [{"scale": [1e6, 1e6, 1e6], "children": [i + 2]} for i in range(60)] + [{}]
    refuse(document, r"nodes\[2\]: is .*large or far away")


def test_counts_that_would_take_the_memory() -> None:
    document = small()
    document["accessors"][0]["count"] = 1 << 39
    refuse(document, r"accessors\[0\].count: should be .*within 0 to")
    document["accessors"][0]["count"] = 13_000_000
    refuse(document, "has 13000000 vertices; the limit is")
    document["accessors"][0]["count"] = 300_000
    document["meshes"][0]["primitives"] *= 8
    refuse(document, "over the limit of .* vertices")


def test_more_parts_morphs_and_joints_than_can_be_drawn() -> None:
    document = small()
    document["meshes"][0]["primitives"] *= 5000
    refuse(document, "is one part more than the limit of 4000")
    document = small()
    document["meshes"][0]["primitives"][0]["targets"] = [{}] * 150_000
    refuse(document, "morph targets over the limit")
    document = small()
    document["nodes"] = [{"mesh": 0, "skin": i} for i in range(10)] + [{} for _ in range(10_000)]
    document["skins"] = [{"joints": list(range(10, 10_010))} for _ in range(10)]
    document["accessors"] += [
        {"componentType": 5121, "count": 3, "type": "VEC4"},
        {"componentType": 5126, "count": 3, "type": "VEC4"},
    ]
    document["meshes"][0]["primitives"][0]["attributes"] |= {"JOINTS_0": 1, "WEIGHTS_0": 2}
    refuse(document, "joints over the limit of 65535")


def test_more_expressions_and_springs_than_a_frame_has_time_for() -> None:
    document = small()
    document["nodes"] += [{} for _ in range(2000)]
    custom = {f"e{i}": {} for i in range(5000)}
    document["extensions"] = {"VRMC_vrm": {"expressions": {"custom": custom}}}
    refuse(document, "5000 expressions; the limit is 2000")
    joints = [{"node": i} for i in range(1, 2000)]
    document["extensions"] = {
        "VRMC_vrm": {},
        "VRMC_springBone": {
            "colliders": [{"node": 0, "shape": {"sphere": {}}}] * 2000,
            "colliderGroups": [{"colliders": list(range(2000))}],
            "springs": [{"joints": joints, "colliderGroups": [0]}],
        },
    }
    refuse(document, "springs: come to .* pairs of a spring joint and a collider")


def picture(side: int) -> bytes:
    stream = io.BytesIO()
    Image.new("1", (side, side)).save(stream, "PNG")
    return stream.getvalue()


def textured(side: int, count: int) -> tuple[dict[str, Any], bytes]:
    """A triangle with ``count`` textures, each a picture of its own."""
    document, data = small(), picture(side)
    document["bufferViews"] = [{"buffer": 0, "byteLength": len(data)}]
    document["buffers"] = [{"byteLength": len(data)}]
    document["images"] = [{"bufferView": 0}] * count
    document["textures"] = [{"source": i} for i in range(count)]
    document["materials"] = [{"emissiveTexture": {"index": i}} for i in range(count)]
    return document, data


def test_pictures_too_large_alone_or_together() -> None:
    refuse(*_matching(textured(9000, 1), r"images\[0\]: is a picture of 9000 x 9000 pixels"))
    refuse(*_matching(textured(8000, 14), "images: hold .* million pixels"))


def _matching(made: tuple[dict[str, Any], bytes], match: str) -> tuple[dict[str, Any], str, bytes]:
    return made[0], match, made[1]


def test_pictures_that_are_too_many_are_kept_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idol.avatar.textures.PIXEL_BUDGET", 3 * 256 * 256)
    document, data = textured(1024, 3)
    loaded = parse_avatar(glb(document, data)).data
    assert [texture.pixels.shape for texture in loaded.textures] == [(256, 256, 4)] * 3
    assert any("shrunk to 256 pixels" in text for text in loaded.warnings)


def test_grey_of_16_bits_is_not_clipped() -> None:
    stream = io.BytesIO()
    Image.fromarray(np.asarray([[0, 32768, 65535]], np.uint16)).save(stream, "PNG")
    document, _ = textured(8, 1)
    data = stream.getvalue()
    document["bufferViews"][0]["byteLength"] = document["buffers"][0]["byteLength"] = len(data)
    pixels = parse_avatar(glb(document, data)).data.textures[0].pixels
    assert pixels[0, :, 0].tolist() == [0, 127, 255] and pixels[0, :, 3].tolist() == [255] * 3


def test_names_in_another_encoding_or_of_half_characters() -> None:
    pieces = take_apart(DATA / "models" / "godette_vrm1.vrm")
    pieces.document["extensions"]["VRMC_vrm"]["meta"]["name"] = "NAME"
    broken = pieces.content().replace(b'"NAME"', b'"\x83~\x83\x83"')  # a Japanese name in Shift JIS, same length
    assert "\ufffd" in parse_avatar(broken).title
    pieces.document["extensions"]["VRMC_vrm"]["meta"]["name"] = "half \ud83d"
    assert parse_avatar(pieces.content()).title.encode() == b"half ?"


def test_reasons_are_one_line_whatever_the_file_says() -> None:
    document = small()
    document["extensionsRequired"] = ["EVIL\n\x1b[2J\u202e" + "x" * 5000]
    with pytest.raises(AvatarError) as refused:
        parse_avatar(glb(document, b""))
    assert str(refused.value).isprintable() and len(str(refused.value)) < 600


def test_json_that_nests_without_end() -> None:
    text = b'{"asset":' + b"[" * 200_000
    with alarm("nesting"), pytest.raises(AvatarError, match="cannot be read"):
        parse_container(text)
    deep: Any = {}
    for _ in range(900):
        deep = {"a": deep}
    document = {**small(), "extras": deep}
    assert parse_avatar(json.dumps(document).encode()).data.primitives


def test_nothing_of_a_file_is_run_or_fetched() -> None:
    document = small()
    for uri in ("http://127.0.0.1:9/x.bin", "file:///etc/passwd", "../x.bin", "/etc/passwd"):
        document["buffers"] = [{"byteLength": 4, "uri": uri}]
        refuse(document, "lies in another file")
    document, data = textured(8, 1)
    document["images"][0] = {"uri": "file:///etc/passwd"}
    refuse(document, r"images\[0\]: lies in another file", data)
    started = time.monotonic()
    assert describe_terms(parse_avatar(glb(small(), b"")).data.meta).links == ()
    assert time.monotonic() - started < SECONDS
