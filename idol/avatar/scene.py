"""glTF nodes, meshes, skins and textures into arrays (glTF 2.0, sections 3.5 to 3.8). Knows nothing of VRM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from idol.avatar.accessors import Accessors
from idol.avatar.compression import DRACO, FIXES, MESHOPT, unpack_draco
from idol.avatar.container import Container
from idol.avatar.cursor import Cursor
from idol.avatar.errors import AvatarError
from idol.avatar.materials import parse_material
from idol.avatar.model import F32, I32, AvatarData, FileStats, MorphTarget, Primitive
from idol.avatar.rotation import from_matrix, to_matrix
from idol.avatar.textures import placeholders

MAX_NODES = 20_000
MAX_DEPTH = 256
MAX_METRES = 1e9
"""Where a node may be, and how much it may be scaled."""
MAX_PRIMITIVES = 4_000
MAX_DRAWN_VERTICES = 5_000_000
MAX_MORPHS = 4_000
MAX_MORPH_ROWS = 20_000_000
"""Vertices that morphs move, each counted once for every morph: 36 bytes here and as much again where they blend."""
_SIMPLER = "Simplify the model and export it again."
_SUPPORTED = {
    "VRM", "VRMC_vrm", "VRMC_materials_mtoon", "VRMC_springBone", "VRMC_node_constraint", "VRMC_vrm_animation",
    "VRMC_springBone_extended_collider", "VRMC_materials_hdr_emissiveMultiplier", "KHR_materials_unlit",
    "KHR_texture_transform", "KHR_mesh_quantization", "KHR_materials_emissive_strength", "EXT_texture_webp", DRACO,
    *MESHOPT,
}  # fmt: skip
_ORNAMENTS = ("KHR_materials_", "KHR_lights_", "KHR_xmp", "KHR_animation_pointer", "EXT_lights_", "VRMC_")
"""Extensions that begin so change how a model looks in places, not what it is: without them it is drawn plainer."""


def read_scene(container: Container, name: str) -> AvatarData:
    """Everything of the file that plain glTF defines; textures are placeholders still. Raises AvatarError."""
    root = container.json
    needed = [item for item in root.texts("extensionsRequired") if item not in _SUPPORTED]
    for item in needed:
        if not item.startswith(_ORNAMENTS):
            fix = FIXES.get(item, "Export without it.")
            raise AvatarError(f"needs {item}, which is not read here.", "extensionsRequired", fix)
    reader = _SceneReader(container)
    reader.warnings += [f"extensionsRequired names {item}, which is not drawn" for item in needed]
    return reader.read(name)


class _SceneReader:
    def __init__(self, container: Container) -> None:
        self.root = container.json
        self.accessors = Accessors(container)
        self.nodes = self._list("nodes")
        self.meshes = self._list("meshes")
        self.skins = self._list("skins")
        self.materials = self._list("materials")
        self.textures = self._list("textures")
        self.images = self._list("images")
        self._list("samplers")
        self.stats = FileStats()
        self.warnings: list[str] = []
        self._palette_nodes: list[int] = []
        self._palette_inverse: list[F32] = []
        self._skin_start: dict[int, int] = {}
        self._drawn_vertices = 0
        self._morph_rows = 0
        self._levels: list[NDArray[np.int64]] = []
        self._parent_of: I32 = np.zeros(0, np.int32)
        self._draco: dict[str, tuple[dict[str, NDArray[Any]], NDArray[np.uint32]]] = {}

    def _list(self, key: str) -> list[Cursor]:
        found = self.root.items(key)
        if len(found) != len(self.root.raw(key) or ()):
            raise AvatarError("has a null entry.", key)
        return found

    def read(self, name: str) -> AvatarData:
        if len(self.nodes) > MAX_NODES:
            raise AvatarError(f"has {len(self.nodes)} entries; the limit is {MAX_NODES}.", "nodes")
        parents = self._parents()
        translations, rotations, scales = self._transforms()
        skin_joints = tuple(len(skin.indices("joints", len(self.nodes), "node")) for skin in self.skins)
        mesh_of_node: dict[int, int] = {}
        primitives: list[Primitive] = []
        shown = self._shown(parents)
        for i, node in enumerate(self.nodes):
            mesh = node.index("mesh", len(self.meshes), "mesh")
            if mesh is not None:
                mesh_of_node[i] = mesh
                if shown[i]:
                    primitives += self._node_primitives(i, node, mesh)
                    self.accessors.forget()
                if len(primitives) > MAX_PRIMITIVES:
                    raise AvatarError(f"are drawn in more than {MAX_PRIMITIVES} parts.", "meshes", _SIMPLER)
        morph_names, per_mesh = self._count_meshes()
        textures = placeholders(len(self.textures))
        materials = [parse_material(item, len(textures)) for item in self.materials]
        asset = self.root.need("asset")
        self.stats.generator = asset.text("generator")
        self.stats.extensions_used = tuple(sorted(self.root.texts("extensionsUsed")))
        self.stats.nodes, self.stats.meshes = len(self.nodes), len(self.meshes)
        self.stats.materials, self.stats.textures = len(self.materials), len(self.textures)
        self.stats.image_types = tuple(_image_type(image) for image in self.images)
        self.stats.morph_targets_per_mesh, self.stats.skin_joints = per_mesh, skin_joints
        inverse = np.stack(self._palette_inverse) if self._palette_inverse else np.zeros((0, 4, 4), np.float32)
        return AvatarData(
            name=name,
            vrm_version="",
            node_names=tuple(node.text("name") for node in self.nodes),
            parents=parents,
            translations=translations,
            rotations=rotations,
            scales=scales,
            primitives=primitives,
            morph_names=morph_names,
            mesh_of_node=mesh_of_node,
            palette_nodes=np.asarray(self._palette_nodes, np.int32),
            palette_inverse=inverse,
            materials=materials,
            textures=textures,
            default_weights=self._default_weights(mesh_of_node),
            stats=self.stats,
            warnings=self.warnings,
        )

    def _parents(self) -> I32:
        parents = np.full(len(self.nodes), -1, np.int32)
        for i, node in enumerate(self.nodes):
            for child in node.indices("children", len(self.nodes), "node"):
                if parents[child] != -1 or child == i:
                    raise AvatarError(f"node {child} has two parents.", f"{node.path}.children")
                parents[child] = i
        level = np.flatnonzero(parents < 0)
        placed = 0
        while len(level):
            self._levels.append(level)
            placed += len(level)
            if len(self._levels) > MAX_DEPTH:
                raise AvatarError(f"are nested more than {MAX_DEPTH} deep.", "nodes", _SIMPLER)
            level = np.flatnonzero(np.isin(parents, level))
        self._parent_of = parents
        if placed < len(self.nodes):
            lost = next(i for i in range(len(self.nodes)) if not any(i in held for held in self._levels))
            raise AvatarError("the nodes form a ring, not a tree.", f"nodes[{lost}].children")
        return parents

    def _shown(self, parents: I32) -> NDArray[np.bool_]:
        """Which nodes the file's scene holds; all when it names no scene, or one without a mesh."""
        every = np.ones(len(self.nodes), bool)
        scenes = self._list("scenes")
        number = self.root.index("scene", len(scenes), "scene")
        if not scenes:
            return every
        scene = scenes[0 if number is None else number]
        shown = np.zeros(len(self.nodes), bool)
        shown[scene.indices("nodes", len(self.nodes), "node")] = True
        for level in self._levels:
            above = parents[level]
            shown[level] |= (above >= 0) & shown[above]
        return shown if any(shown[i] and node.has("mesh") for i, node in enumerate(self.nodes)) else every

    def _transforms(self) -> tuple[F32, F32, F32]:
        count = len(self.nodes)
        translations = np.zeros((count, 3), np.float32)
        rotations = np.tile(np.asarray([0, 0, 0, 1], np.float32), (count, 1))
        scales = np.ones((count, 3), np.float32)
        for i, node in enumerate(self.nodes):
            if node.has("matrix"):
                columns = np.asarray(node.vector("matrix", (), 16), np.float64).reshape(4, 4).T
                translations[i] = columns[:3, 3]
                basis = columns[:3, :3]
                size = np.linalg.norm(basis, axis=0)
                if np.linalg.det(basis) < 0:
                    size = size * np.asarray([-1.0, 1.0, 1.0])
                scales[i] = size
                rotations[i] = from_matrix(basis / np.where(np.abs(size) < 1e-9, 1.0, size))
            else:
                translations[i] = node.vector("translation", (0.0, 0.0, 0.0))
                scales[i] = node.vector("scale", (1.0, 1.0, 1.0))
                turn = np.asarray(node.vector("rotation", (0.0, 0.0, 0.0, 1.0)))
                length = float(np.linalg.norm(turn))
                rotations[i] = turn / length if length > 1e-6 else (0.0, 0.0, 0.0, 1.0)
        self._check_size(translations, rotations, scales)
        return translations, rotations, scales

    def _check_size(self, translations: F32, rotations: F32, scales: F32) -> None:
        """Scales multiply from node to node: what they come to must be a size that can be computed with."""
        world = np.tile(np.eye(4), (len(self.nodes), 1, 1))
        world[:, :3, :3] = to_matrix(rotations.astype(np.float64)) * scales[:, None, :].astype(np.float64)
        world[:, :3, 3] = translations
        for level in self._levels:
            above = self._parent_of[level]
            if above[0] >= 0:
                world[level] = world[above] @ world[level]
            worst = np.abs(world[level]).max(axis=(1, 2))
            if worst.max() > MAX_METRES:
                where = f"nodes[{level[int(worst.argmax())]}]"
                raise AvatarError(f"is {worst.max():.0e} metres large or far away.", where, _SIMPLER)

    def _skin(self, index: int) -> tuple[int, int]:
        """First palette slot of a skin and how many joints it has."""
        skin = self.skins[index]
        joints = skin.indices("joints", len(self.nodes), "node")
        if not joints:
            raise skin.fail("has no joints.")
        if index not in self._skin_start:
            inverse = np.tile(np.eye(4, dtype=np.float32), (len(joints), 1, 1))
            accessor = skin.index("inverseBindMatrices", len(self.accessors), "accessor")
            if accessor is not None:
                stored = self.accessors.floats(accessor, 16, f"{skin.path}.inverseBindMatrices")
                if len(stored) < len(joints):
                    raise skin.fail(f"has {len(joints)} joints but {len(stored)} inverse bind matrices.")
                inverse = stored[: len(joints)].reshape(-1, 4, 4).transpose(0, 2, 1)
            self._skin_start[index] = len(self._palette_nodes)
            self._palette_nodes += joints
            self._palette_inverse += [np.ascontiguousarray(matrix) for matrix in inverse]
        return self._skin_start[index], len(joints)

    def _node_primitives(self, number: int, node: Cursor, mesh_index: int) -> list[Primitive]:
        mesh = self.meshes[mesh_index]
        skin = node.index("skin", len(self.skins), "skin")
        found = []
        rigid = -1
        for item in mesh.items("primitives"):
            if item.whole("mode", 4, high=6) < 4:
                self.warnings.append(f"{item.path} holds points or lines, which are not drawn")
                continue
            start, count = (-1, 0) if skin is None else self._skin(skin)
            attributes = item.need("attributes")
            if skin is None or not attributes.has("JOINTS_0"):
                if rigid < 0:
                    rigid = len(self._palette_nodes)
                    self._palette_nodes.append(number)
                    self._palette_inverse.append(np.eye(4, dtype=np.float32))
                start, count = rigid, 0
            primitive = self._primitive(item, number, mesh_index, start, count)
            if primitive is not None:
                found.append(primitive)
        return found

    def _attribute(self, attributes: Cursor, key: str, width: int, count: int) -> F32 | None:
        index = attributes.index(key, len(self.accessors), "accessor")
        if index is None:
            return None
        values = self.accessors.floats(index, width, f"{attributes.path}.{key}")
        if len(values) != count:
            raise AvatarError(f"has {len(values)} entries for {count} vertices.", f"{attributes.path}.{key}")
        return values

    def _primitive(self, item: Cursor, node: int, mesh: int, start: int, joints: int) -> Primitive | None:
        attributes = item.need("attributes")
        where = attributes.path
        self._unpack(item, attributes)
        index = attributes.index("POSITION", len(self.accessors), "accessor")
        if index is None:
            self.warnings.append(f"{where} has no POSITION and is not drawn")
            return None
        positions = self.accessors.floats(index, 3, f"{where}.POSITION")
        total = len(positions)
        triangles = self._triangles(item, total)
        if len(triangles) == 0:
            return None
        used, remapped = np.unique(triangles, return_inverse=True)
        self._drawn_vertices += len(used)
        if self._drawn_vertices > MAX_DRAWN_VERTICES:
            raise item.fail(f"brings the model over the limit of {MAX_DRAWN_VERTICES} vertices.")
        indices = remapped.reshape(-1).astype(np.uint32)
        positions = positions[used]
        normals = self._attribute(attributes, "NORMAL", 3, total)
        kept_normals = _flat_normals(positions, indices) if normals is None else _unit(normals[used])
        uv = self._attribute(attributes, "TEXCOORD_0", 2, total)
        uv1 = self._attribute(attributes, "TEXCOORD_1", 2, total)
        if joints:
            slots, weights = self._weights(attributes, total, start, joints)
            slots, weights = slots[used], weights[used]
        else:
            slots = np.full((len(used), 4), start, np.int32)
            weights = np.zeros((len(used), 4), np.float32)
            weights[:, 0] = 1.0
        material = item.index("material", len(self.materials), "material")
        targets = item.items("targets")
        if len(targets) > MAX_MORPHS:
            raise item.fail(f"has {len(targets)} morph targets; the limit is {MAX_MORPHS}.", _SIMPLER)
        return Primitive(
            mesh=mesh,
            node=node,
            material=-1 if material is None else material,
            positions=np.ascontiguousarray(positions),
            normals=kept_normals,
            uv=np.zeros((len(used), 2), np.float32) if uv is None else np.ascontiguousarray(uv[used]),
            uv1=None if uv1 is None else np.ascontiguousarray(uv1[used]),
            colors=self._colors(attributes, total, used),
            joints=slots,
            weights=weights,
            indices=indices,
            targets=tuple(self._target(target, total, used) for target in targets),
        )

    def _unpack(self, item: Cursor, attributes: Cursor) -> None:
        """Give the accessors of a Draco primitive what its compressed mesh holds."""
        extensions = item.child("extensions")
        packed = None if extensions is None else extensions.child(DRACO)
        if packed is None:
            return
        if packed.path not in self._draco:
            data = self.accessors.view_bytes(packed.whole("bufferView"), packed.path)
            self._draco[packed.path] = unpack_draco(packed, data)
        values, faces = self._draco[packed.path]
        for name, held in values.items():
            index = attributes.index(name, len(self.accessors), "accessor")
            if index is not None:
                self.accessors.preset(index, held, f"{attributes.path}.{name}")
        index = item.index("indices", len(self.accessors), "accessor")
        if index is not None:
            self.accessors.preset(index, faces[:, None], f"{item.path}.indices")

    def _colors(self, attributes: Cursor, total: int, used: I32) -> F32 | None:
        index = attributes.index("COLOR_0", len(self.accessors), "accessor")
        if index is None:
            return None
        kind = self.root.items("accessors")[index].text("type")
        width = 3 if kind == "VEC3" else 4
        values = self._attribute(attributes, "COLOR_0", width, total)
        if values is None:
            return None
        colors = np.ones((len(used), 4), np.float32)
        colors[:, :width] = values[used]
        return colors

    def _triangles(self, item: Cursor, total: int) -> I32:
        index = item.index("indices", len(self.accessors), "accessor")
        if index is None:
            flat = np.arange(total, dtype=np.int32)
        else:
            wide = self.accessors.integers(index, 1, f"{item.path}.indices")[:, 0]
            if len(wide) and not 0 <= int(wide.min()) <= int(wide.max()) < total:
                raise item.fail(f"has an index that is not within its {total} vertices.")
            flat = wide.astype(np.int32)
        mode = item.whole("mode", 4)
        if mode == 4:
            return flat[: len(flat) // 3 * 3]
        if len(flat) < 3:
            return flat[:0]
        if mode == 5:
            rows = np.stack([flat[:-2], flat[1:-1], flat[2:]], 1)
            rows[1::2] = rows[1::2][:, [1, 0, 2]]
            return rows.reshape(-1)
        return np.stack([np.full(len(flat) - 2, flat[0]), flat[1:-1], flat[2:]], 1).reshape(-1)

    def _weights(self, attributes: Cursor, total: int, start: int, joints: int) -> tuple[I32, F32]:
        slots, weights = [], []
        for layer in range(4):
            index = attributes.index(f"JOINTS_{layer}", len(self.accessors), "accessor")
            if index is None:
                break
            where = f"{attributes.path}.JOINTS_{layer}"
            slot = self.accessors.integers(index, 4, where)
            weight = self._attribute(attributes, f"WEIGHTS_{layer}", 4, total)
            if weight is None or len(slot) != total:
                raise AvatarError(f"has {len(slot)} entries for {total} vertices, or no weights.", where)
            slot = np.where(weight > 0, slot, 0)
            if slot.size and int(slot.max()) >= joints:
                raise AvatarError(f"uses joint {int(slot.max())}, but the skin has {joints}.", where)
            slots.append(slot)
            weights.append(np.maximum(weight, 0.0))
        all_slots, all_weights = np.concatenate(slots, 1), np.concatenate(weights, 1)
        if all_slots.shape[1] > 4:
            # More than four influences are rare; the four strongest carry what the eye can see.
            best = np.argsort(-all_weights, axis=1, kind="stable")[:, :4]
            all_slots = np.take_along_axis(all_slots, best, 1)
            all_weights = np.take_along_axis(all_weights, best, 1)
        sums = all_weights.sum(1, keepdims=True)
        all_weights = np.where(sums > 1e-6, all_weights / np.maximum(sums, 1e-6), [[1.0, 0.0, 0.0, 0.0]])
        return (all_slots + start).astype(np.int32), all_weights.astype(np.float32)

    def _target(self, target: Cursor, total: int, used: I32) -> MorphTarget:
        positions = self._attribute(target, "POSITION", 3, total)
        normals = self._attribute(target, "NORMAL", 3, total)
        moved = np.zeros((len(used), 3), np.float32) if positions is None else positions[used]
        turned = np.zeros((len(used), 3), np.float32) if normals is None else normals[used]
        # A tenth of a micrometre is nothing: exporters leave such noise on vertices a morph does not mean to move.
        live = np.flatnonzero((np.abs(moved) > 1e-7).any(1) | (np.abs(turned) > 1e-4).any(1)).astype(np.int32)
        self._morph_rows += len(live)
        if self._morph_rows > MAX_MORPH_ROWS:
            raise target.fail(f"brings the morph targets over the limit of {MAX_MORPH_ROWS} moved vertices.", _SIMPLER)
        return MorphTarget(live, np.ascontiguousarray(moved[live]), np.ascontiguousarray(turned[live]))

    def _count_meshes(self) -> tuple[dict[int, tuple[str, ...]], tuple[int, ...]]:
        names: dict[int, tuple[str, ...]] = {}
        per_mesh = []
        for i, mesh in enumerate(self.meshes):
            primitives = mesh.items("primitives")
            count = max((len(item.items("targets")) for item in primitives), default=0)
            given: list[str] = []
            # UniVRM writes the names beside the primitive, newer exporters beside the mesh.
            for holder in (mesh, *primitives):
                extras = holder.raw("extras")
                if isinstance(extras, dict) and not given:
                    given = Cursor(extras, f"{holder.path}.extras").texts("targetNames")
                    if given and not self.stats.morph_names_from:
                        kind = "mesh" if holder is mesh else "primitive"
                        self.stats.morph_names_from = f"{kind}.extras.targetNames"
            names[i] = tuple(given[:count]) + tuple(f"morph_{k}" for k in range(len(given), count))
            per_mesh.append(count)
            for item in primitives:
                self._count_primitive(item)
        return names, tuple(per_mesh)

    def _count_primitive(self, item: Cursor) -> None:
        self.stats.primitives += 1
        position = item.need("attributes").index("POSITION", len(self.accessors), "accessor")
        vertices = 0 if position is None else self.accessors.count(position)
        index = item.index("indices", len(self.accessors), "accessor")
        corners = vertices if index is None else self.accessors.count(index)
        self.stats.vertices += vertices
        self.stats.triangles += corners // 3 if item.whole("mode", 4) == 4 else max(0, corners - 2)

    def _default_weights(self, mesh_of_node: dict[int, int]) -> dict[int, tuple[float, ...]]:
        found = {}
        for node, mesh in mesh_of_node.items():
            for holder in (self.nodes[node], self.meshes[mesh]):
                values = holder.raw("weights")
                if isinstance(values, list) and values:
                    found[node] = holder.vector("weights", (), len(values))
                    break
        return found


def _image_type(image: Cursor) -> str:
    uri = image.raw("uri")
    declared = uri[5:].split(";")[0] if isinstance(uri, str) and uri.startswith("data:") else ""
    return image.text("mimeType", declared[:40])


def _unit(vectors: F32) -> F32:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.maximum(length, 1e-12), dtype=np.float32)


def _flat_normals(positions: F32, indices: I32 | np.ndarray) -> F32:
    """Area-weighted vertex normals, for files that store none."""
    corners = positions[indices.reshape(-1, 3)]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(positions)
    for k in range(3):
        np.add.at(normals, indices.reshape(-1, 3)[:, k], face)
    return _unit(normals)
