"""The same models stored in every way that glTF and its extensions allow load as the same arrays."""

from __future__ import annotations

import base64
import io
import json
import sys
from typing import Any

import DracoPy
import meshopt
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from idol.avatar import Avatar, AvatarError, load_avatar, parse_avatar
from tests.avatar.conftest import DATA
from tests.avatar.rewrite import Glb, attribute_accessors, glb, index_accessors, take_apart

NAMES = ("RiggedFigure.glb", "godette_vrm1.vrm", "AnimatedMorphCube.glb")


def model(name: str) -> tuple[Glb, Avatar]:
    path = DATA / "models" / name
    return take_apart(path), load_avatar(path)


def assert_same(a: Avatar, b: Avatar, tolerance: float = 1e-6) -> None:
    assert len(a.data.primitives) == len(b.data.primitives)
    for p, q in zip(a.data.primitives, b.data.primitives, strict=True):
        assert (p.indices == q.indices).all() and (p.joints == q.joints).all()
        for field in ("positions", "normals", "uv", "weights"):
            one, other = getattr(p, field), getattr(q, field)
            assert one.shape == other.shape and np.abs(one - other).max(initial=0) <= tolerance, field
        assert len(p.targets) == len(q.targets)
        for s, t in zip(p.targets, q.targets, strict=True):
            assert np.abs(spread(s, p) - spread(t, q)).max(initial=0) <= tolerance


def spread(target: Any, primitive: Any) -> NDArray[np.float32]:
    out = np.zeros_like(primitive.positions)
    out[target.vertices] = target.positions
    return out


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("extension", ["EXT_meshopt_compression", "KHR_meshopt_compression"])
def test_meshopt_views(name: str, extension: str) -> None:
    pieces, plain = model(name)
    document = pieces.document
    indices = index_accessors(document)
    for index in sorted({*attribute_accessors(document), *indices}):
        if "sparse" in document["accessors"][index] or "bufferView" not in document["accessors"][index]:
            continue
        values = pieces.array(index)
        if index in indices:
            mode = "TRIANGLES" if len(values) % 3 == 0 and index % 2 else "INDICES"
            if mode == "TRIANGLES":
                # This codec may turn the corners of a triangle around; the first index that is new leads.
                values = values.astype(np.uint32)
                values = meshopt.decode_gltf_buffer(
                    meshopt.encode_gltf_buffer(values, mode), len(values), 4, mode
                ).reshape(-1, 1)
                pieces.store(index, values)
            values = values.astype(np.uint32)
        else:
            mode = "ATTRIBUTES"
            pad = -values.strides[0] % 4
            values = np.pad(values.view(np.uint8).reshape(len(values), -1), ((0, 0), (0, pad)))
        packed = meshopt.encode_gltf_buffer(values, mode)
        stride = values.itemsize * values.shape[1]
        pieces.document["accessors"][index] |= {"byteOffset": 0}
        if index in indices:
            pieces.document["accessors"][index]["componentType"] = 5125
        source = pieces.add_view(packed)
        place = pieces.add_view(b"")
        document["bufferViews"][place]["meshopt"] = (source, len(values), stride, mode)
        document["accessors"][index]["bufferView"] = place
    pieces.content()
    for view in document["bufferViews"]:
        if "meshopt" in view:
            source, count, stride, mode = view.pop("meshopt")
            packed_view = document["bufferViews"][source]
            view["extensions"] = {
                extension: {
                    "buffer": 0, "byteOffset": packed_view["byteOffset"], "byteLength": packed_view["byteLength"],
                    "byteStride": stride, "count": count, "mode": mode,
                }
            }  # fmt: skip
            view.update(buffer=1, byteLength=count * stride, byteOffset=0)
            if mode == "ATTRIBUTES":
                view["byteStride"] = stride
    pieces.need(extension)
    document["buffers"].append({"byteLength": 1 << 20, "extensions": {extension: {"fallback": True}}})
    loaded = parse_avatar(glb(document, pieces_binary(pieces)))
    if any(document["accessors"][i]["componentType"] == 5125 and i % 2 for i in indices):
        same_triangles(loaded, plain)
    else:
        assert_same(loaded, plain)


def corners(avatar: Avatar) -> list[NDArray[np.float32]]:
    """The triangles of each primitive as sorted rows of corner positions, uv and weights, in any order."""
    found = []
    for p in avatar.data.primitives:
        rows = np.concatenate([p.positions, p.uv, p.weights, p.joints.astype(np.float32)], 1)
        triangles = rows[p.indices.reshape(-1, 3)].round(4) + 0.0
        order = np.lexsort(triangles.transpose(2, 0, 1), axis=1)
        triangles = np.take_along_axis(triangles, order[:, :, None], 1).reshape(len(triangles), -1)
        found.append(triangles[np.lexsort(triangles.T)])
    return found


def same_triangles(a: Avatar, b: Avatar, tolerance: float = 1e-6) -> None:
    for one, other in zip(corners(a), corners(b), strict=True):
        assert one.shape == other.shape and np.abs(one - other).max() <= tolerance


@pytest.mark.parametrize(
    ("chosen", "rows", "encode", "tolerance"),
    [
        ("OCTAHEDRAL", 4, lambda v: meshopt.encode_filter_oct(v, 4, 8), 0.02),
        ("EXPONENTIAL", 3, lambda v: meshopt.encode_filter_exp(v, 15), 1e-3),
    ],
)
def test_meshopt_filters(chosen: str, rows: int, encode: Any, tolerance: float) -> None:
    pieces, plain = model("RiggedFigure.glb")
    document = pieces.document
    name = "NORMAL" if chosen == "OCTAHEDRAL" else "POSITION"
    index = document["meshes"][0]["primitives"][0]["attributes"][name]
    values = pieces.array(index).astype(np.float32)
    if chosen == "OCTAHEDRAL":
        values = np.concatenate([values, np.zeros((len(values), 1), np.float32)], 1)
    filtered = encode(values)
    stride = filtered.shape[1]
    packed = meshopt.encode_gltf_buffer(filtered, "ATTRIBUTES")
    view = pieces.add_view(packed)
    accessor = document["accessors"][index]
    accessor.update(bufferView=view, byteOffset=0)
    if chosen == "OCTAHEDRAL":
        accessor.update(componentType=5120, normalized=True)
    pieces.content()
    place = document["bufferViews"][view]
    place["extensions"] = {
        "EXT_meshopt_compression": {
            **{key: place[key] for key in ("buffer", "byteOffset", "byteLength")},
            "byteStride": stride, "count": len(values), "mode": "ATTRIBUTES", "filter": chosen,
        }
    }  # fmt: skip
    place["byteStride"] = stride
    pieces.need("EXT_meshopt_compression", "KHR_mesh_quantization")
    loaded = parse_avatar(glb(document, pieces_binary(pieces)))
    assert_same(loaded, plain, tolerance)


def pieces_binary(pieces: Glb) -> bytes:
    binary = bytearray()
    for data in pieces.views:
        binary += bytes(-len(binary) % 16) + data
    return bytes(binary)


def draco(name: str, lossless_order: bool) -> tuple[bytes, Avatar]:
    """The model with every primitive packed by Draco; its accessors have no buffer views any more."""
    pieces, plain = model(name)
    document = pieces.document
    for mesh in document["meshes"]:
        for primitive in mesh["primitives"]:
            attributes = primitive["attributes"]
            faces = pieces.array(primitive["indices"]).reshape(-1, 3).astype(np.uint32)
            generic = {
                unique: pieces.array(attributes[key])
                for unique, key in ((20, "JOINTS_0"), (21, "WEIGHTS_0"))
                if key in attributes
            }
            used, flat = np.unique(faces, return_inverse=True)
            faces = flat.reshape(-1, 3).astype(np.uint32)
            data = DracoPy.encode(
                pieces.array(attributes["POSITION"])[used], faces, quantization_bits=20, compression_level=5,
                preserve_order=lossless_order,
                normals=pieces.array(attributes["NORMAL"])[used].astype(np.float64),
                tex_coord=pieces.array(attributes["TEXCOORD_0"])[used].astype(np.float64)
                if "TEXCOORD_0" in attributes else None,
                generic_attributes={key: value[used] for key, value in generic.items()} or None,
            )  # fmt: skip
            mesh_data = DracoPy.decode(data)
            kinds = {0: "POSITION", 1: "NORMAL", 3: "TEXCOORD_0"}
            ids = {kinds[int(a["attribute_type"])]: int(a["unique_id"]) for a in mesh_data.attributes
                   if int(a["attribute_type"]) in kinds}  # fmt: skip
            ids |= {key: unique for unique, key in ((20, "JOINTS_0"), (21, "WEIGHTS_0")) if unique in generic}
            for key in [*attributes]:
                if key not in ids:
                    del attributes[key]
                    continue
                accessor = dict(document["accessors"][attributes[key]], count=len(mesh_data.points))
                accessor.pop("bufferView", None)
                accessor.pop("byteOffset", None)
                attributes[key] = len(document["accessors"])
                document["accessors"].append(accessor)
            document["accessors"].append({"componentType": 5125, "count": mesh_data.faces.size, "type": "SCALAR"})
            primitive["indices"] = len(document["accessors"]) - 1
            primitive["extensions"] = {
                "KHR_draco_mesh_compression": {"bufferView": pieces.add_view(data), "attributes": ids}
            }
            primitive.pop("targets", None)
    pieces.need("KHR_draco_mesh_compression")
    return pieces.content(), plain


@pytest.mark.parametrize("kept", [True, False])
def test_draco_primitives(kept: bool) -> None:
    content, plain = draco("RiggedFigure.glb", kept)
    loaded = parse_avatar(content)
    assert loaded.data.stats.triangles == plain.data.stats.triangles
    for p, q in zip(loaded.data.primitives, plain.data.primitives, strict=True):
        one, other = cloud(p), cloud(q)
        assert one.shape == other.shape
        assert np.abs(one - other).max() < 2e-3


def cloud(primitive: Any) -> NDArray[np.float32]:
    """Corners of all triangles with what skins them, in an order of their own."""
    strength = np.zeros((len(primitive.positions), 24), np.float32)
    np.put_along_axis(strength, primitive.joints.astype(np.int64), primitive.weights, 1)
    rows = np.concatenate([primitive.positions, primitive.normals, strength], 1)[primitive.indices]
    return rows[np.lexsort(rows[:, :6].round(3).T)]


def test_damaged_compressed_data_is_refused() -> None:
    content, _ = draco("RiggedFigure.glb", False)
    broken = bytearray(content)
    start = content.rindex(b"DRACO")
    broken[start : start + 400] = bytes(400)
    with pytest.raises(AvatarError, match=r"meshes\[0\].primitives\[0\].*KHR_draco.*unpacked"):
        parse_avatar(bytes(broken))


def test_a_missing_codec_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    content, _ = draco("RiggedFigure.glb", False)
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    with pytest.raises(AvatarError, match="KHR_draco_mesh_compression.*DracoPy.*Export without Draco"):
        parse_avatar(content)


# Plain glTF: interleaved, quantised, sparse, indices of every width, data URIs


def test_quantised_attributes() -> None:
    pieces, plain = model("RiggedFigure.glb")
    attributes = pieces.document["meshes"][0]["primitives"][0]["attributes"]
    normals = pieces.array(attributes["NORMAL"])
    pieces.store(attributes["NORMAL"], np.round(normals * 127).astype(np.int8), True, 4)
    weights = pieces.array(attributes["WEIGHTS_0"])
    pieces.store(attributes["WEIGHTS_0"], np.round(weights * 65535).astype(np.uint16), True)
    # Plain integers are their value: the file then scales them by a node above.
    positions = pieces.array(attributes["POSITION"])
    pieces.store(attributes["POSITION"], np.round(positions * 8192).astype(np.int16), False, 8)
    pieces.need("KHR_mesh_quantization")
    loaded = parse_avatar(pieces.content())
    p, q = loaded.data.primitives[0], plain.data.primitives[0]
    assert np.abs(p.positions / 8192 - q.positions).max() < 1e-4
    assert np.abs(p.normals - q.normals).max() < 0.01
    assert np.abs(p.weights - q.weights).max() < 1e-4


def test_interleaved_attributes() -> None:
    pieces, plain = model("RiggedFigure.glb")
    document = pieces.document
    attributes = document["meshes"][0]["primitives"][0]["attributes"]
    parts = [pieces.array(index) for index in attributes.values()]
    rows = np.concatenate([part.view(np.uint8).reshape(len(part), -1) for part in parts], 1)
    view = pieces.add_view(rows.tobytes(), byteStride=rows.shape[1])
    offset = 0
    for index, part in zip(attributes.values(), parts, strict=True):
        document["accessors"][index].update(bufferView=view, byteOffset=offset)
        offset += part.itemsize * part.shape[1]
    assert_same(parse_avatar(pieces.content()), plain)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_indices_of_every_width(kind: Any) -> None:
    pieces, plain = model("AnimatedMorphCube.glb")
    index = pieces.document["meshes"][0]["primitives"][0]["indices"]
    pieces.store(index, pieces.array(index).astype(kind))
    assert_same(parse_avatar(pieces.content()), plain)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("based", [True, False])
def test_sparse_values(kind: Any, based: bool) -> None:
    pieces, plain = model("AnimatedMorphCube.glb")
    document = pieces.document
    index = document["meshes"][0]["primitives"][0]["targets"][0]["POSITION"]
    values = pieces.array(index)
    changed = np.flatnonzero(np.abs(values).any(1))
    base = np.zeros_like(values)
    if based:
        base[...] = values
        changed = changed[::2]
        base[changed] = 99.0
    pieces.store(index, base)
    if not based:
        del document["accessors"][index]["bufferView"]
    document["accessors"][index]["sparse"] = {
        "count": len(changed),
        "indices": {
            "bufferView": pieces.add_view(changed.astype(kind).tobytes()),
            "componentType": {np.uint8: 5121, np.uint16: 5123, np.uint32: 5125}[kind],
        },
        "values": {"bufferView": pieces.add_view(values[changed].tobytes())},
    }
    assert_same(parse_avatar(pieces.content()), plain)


def test_buffers_and_images_as_data_uris() -> None:
    path = DATA / "models" / "arkit52_head.glb"
    pieces, plain = take_apart(path), load_avatar(path)
    pieces.content()
    document = pieces.document
    binary = pieces_binary(pieces)
    document["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
    document["buffers"][0]["byteLength"] = len(binary)
    picture = pieces.views[document["images"][0].pop("bufferView")]
    document["images"][0]["uri"] = "data:image/png;base64," + base64.b64encode(picture).decode()
    loaded = parse_avatar(json.dumps(document).encode())
    assert_same(loaded, plain)
    assert (loaded.data.textures[0].pixels == plain.data.textures[0].pixels).all()


def test_webp_textures() -> None:
    pieces, plain = model("arkit52_head.glb")
    document = pieces.document
    pixels = plain.data.textures[0].pixels
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "WEBP", lossless=True, exact=True)
    document["images"].append({"bufferView": pieces.add_view(stream.getvalue()), "mimeType": "image/webp"})
    document["textures"][0] = {"extensions": {"EXT_texture_webp": {"source": len(document["images"]) - 1}}}
    pieces.need("EXT_texture_webp")
    assert (parse_avatar(pieces.content()).data.textures[0].pixels == pixels).all()


@pytest.mark.parametrize("extension", ["KHR_texture_basisu", "EXT_texture_avif"])
def test_pictures_that_cannot_be_read_are_told_unless_another_is_there(extension: str) -> None:
    pieces, plain = model("arkit52_head.glb")
    texture = pieces.document["textures"][0]
    texture["extensions"] = {extension: {"source": 0}}
    assert_same(parse_avatar(pieces.content()), plain)
    del texture["source"]
    with pytest.raises(AvatarError, match=rf"textures\[0\].*{extension}.*PNG"):
        parse_avatar(pieces.content())
    pieces.need(extension)
    with pytest.raises(AvatarError, match=rf"{extension}.*PNG"):
        parse_avatar(pieces.content())


def test_required_ornaments_do_not_keep_a_model_away() -> None:
    pieces, plain = model("RiggedFigure.glb")
    pieces.need("KHR_materials_sheen", "KHR_lights_punctual")
    loaded = parse_avatar(pieces.content())
    assert_same(loaded, plain)
    assert any("KHR_materials_sheen" in text for text in loaded.data.warnings)
    pieces.need("ACME_cloth")
    with pytest.raises(AvatarError, match="ACME_cloth"):
        parse_avatar(pieces.content())
