"""From a file to an ``Avatar``: container, scene, then VRM's meaning on top."""

from __future__ import annotations

import logging
from pathlib import Path

from idol.avatar.avatar import Avatar
from idol.avatar.container import Container, parse_container, read_container
from idol.avatar.errors import AvatarError
from idol.avatar.humanoid import guess_bones
from idol.avatar.model import AvatarData
from idol.avatar.morph_names import add_named_expressions
from idol.avatar.scene import read_scene
from idol.avatar.textures import fill_textures
from idol.avatar.vrm0 import apply_vrm0
from idol.avatar.vrm1 import apply_vrm1

MAX_MATERIALS = 2_000
MAX_EXPRESSIONS = 2_000
MAX_WEIGHTS = 8_000_000
MAX_SPRING_PAIRS = 500_000

_LOG = logging.getLogger(__name__)


def load_avatar(path: Path) -> Avatar:
    """Read a VRM 1.0, VRM 0.x or plain GLB file. Raises AvatarError with the place in the file and a way out."""
    return avatar_of(read_container(Path(path)), Path(path))


def avatar_of(container: Container, path: Path) -> Avatar:
    """The same from the container that was read from ``path``."""
    avatar = Avatar(read_avatar(container, path.stem))
    for text in avatar.data.warnings[:8]:
        _LOG.warning("%s: %s", path.name, text)
    return avatar


def parse_avatar(content: bytes, name: str = "avatar") -> Avatar:
    """The same from bytes in memory."""
    return Avatar(read_avatar(parse_container(content, name), name))


def read_avatar(container: Container, name: str) -> AvatarData:
    """The avatar at rest as plain data."""
    try:
        extensions = container.json.child("extensions")
        if extensions is not None and extensions.has("VRMC_vrm_animation"):
            raise AvatarError(f"{name} is an animation (VRMA), not an avatar.", fix="Choose a .vrm or .glb file.")
        data = read_scene(container, name)
        vrm1 = None if extensions is None else extensions.child("VRMC_vrm")
        vrm0 = None if extensions is None else extensions.child("VRM")
        if vrm1 is not None:
            apply_vrm1(data, vrm1, container.json)
        elif vrm0 is not None:
            apply_vrm0(data, vrm0)
        else:
            data.human_bones = guess_bones(data.node_names)
            data.meta.title = name
            data.meta.copyright = container.json.need("asset").text("copyright")
    except RecursionError as error:
        raise AvatarError(f"{name} nests its JSON too deeply.") from error
    data.hidden_nodes = frozenset(node for node, kind in data.first_person.items() if kind == "firstPersonOnly")
    for primitive in data.primitives:
        primitive.drawn_third_person = primitive.node not in data.hidden_nodes
    add_named_expressions(data)
    if not data.primitives:
        raise AvatarError(f"{name} holds nothing that can be drawn (no triangles).", "meshes")
    _check_size(data)
    fill_textures(data, container)
    return data


def _check_size(data: AvatarData) -> None:
    """What an update's cost is proportional to stays within what a frame has time for, with far more than any model."""
    morphs = sum(len(data.morph_names[mesh]) for mesh in data.mesh_of_node.values())
    pairs = sum(len(spring.joints) * (1 + len(spring.colliders)) for spring in data.springs)
    counts = (
        ("materials", len(data.materials), MAX_MATERIALS, "materials"),
        ("expressions", len(data.expressions), MAX_EXPRESSIONS, "expressions"),
        ("expressions", len(data.expressions) * morphs, MAX_WEIGHTS, "pairs of an expression and a morph target"),
        ("springs", pairs, MAX_SPRING_PAIRS, "pairs of a spring joint and a collider"),
    )
    for where, count, limit, what in counts:
        if count > limit:
            raise AvatarError(f"come to {count} {what}; the limit is {limit}.", where, "Simplify the model.")
