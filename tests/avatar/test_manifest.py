"""Every model and animation of the test data against every value that the manifest expects of it.

The manifest's values were read out of the files by another parser. A key without a check here fails.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from idol.avatar import Avatar
from idol.avatar.clips import Clip, read_clips
from idol.avatar.container import Container, read_container
from idol.avatar.cursor import Cursor
from idol.avatar.humanoid import read_vrm1_bones
from idol.avatar.loading import read_avatar
from idol.avatar.model import AvatarData
from idol.avatar.scene import read_scene
from tests.avatar.conftest import DATA, manifest

FILES = {f"{folder}/{name}": entry for folder in ("models", "animations") for name, entry in manifest(folder).items()}
VRM0_NAMES = {
    "a": "aa", "i": "ih", "u": "ou", "e": "ee", "o": "oh", "joy": "happy", "sorrow": "sad", "fun": "relaxed",
    "lookup": "lookUp", "lookdown": "lookDown", "lookleft": "lookLeft", "lookright": "lookRight",
    "blink_l": "blinkLeft", "blink_r": "blinkRight",
}  # fmt: skip


@dataclass(frozen=True)
class Loaded:
    container: Container
    data: AvatarData
    clips: list[Clip]
    avatar: Avatar | None

    @property
    def vrma(self) -> Cursor:
        return self.container.json.need("extensions").need("VRMC_vrm_animation")


@functools.cache
def loaded(file: str) -> Loaded:
    container = read_container(DATA / file)
    if file.startswith("animations/"):
        return Loaded(container, read_scene(container, file), read_clips(container), None)
    data = read_avatar(container, file)
    return Loaded(container, data, read_clips(container), Avatar(data))


def of_stats(key: str) -> Callable[[Loaded], Any]:
    return lambda it: getattr(it.data.stats, key)


def bones(it: Loaded) -> int:
    if it.avatar is None:
        return len(read_vrm1_bones(it.vrma.need("humanoid"), it.data.stats.nodes))
    return len(it.data.human_bones)


def animations(it: Loaded) -> list[dict[str, Any]]:
    return [
        {
            **({"name": clip.name} if clip.name else {}),
            "ch": len(clip.channels),
            "dur": clip.duration,
            "paths": sorted({channel.path for channel in clip.channels}),
            "interp": sorted({channel.interpolation for channel in clip.channels}),
        }
        for clip in it.clips
    ]


def rest_positions(it: Loaded) -> dict[str, list[float]]:
    assert it.avatar is not None
    # VRM 0.x faces -Z in the file and is turned to face +Z at load.
    turn = np.asarray([-1.0, 1.0, -1.0]) if it.data.vrm_version == "0.x" else np.ones(3)
    return {
        bone: (it.avatar.skeleton.rest_world[node, :3, 3] * turn).tolist() for bone, node in it.data.human_bones.items()
    }


FOUND: dict[str, Callable[[Loaded], Any]] = {
    "gltf_generator": of_stats("generator"),
    "extensions_used": lambda it: sorted(it.data.stats.extensions_used),
    **{
        key: of_stats(key)
        for key in ("nodes", "meshes", "primitives", "vertices", "triangles", "materials", "textures")
    },
    "morph_targets_per_mesh": lambda it: list(it.data.stats.morph_targets_per_mesh),
    "image_types": lambda it: list(it.data.stats.image_types),
    "skin_joints": lambda it: list(it.data.stats.skin_joints),
    "alpha_modes": lambda it: sorted({material.alpha_mode for material in it.data.materials}),
    "morph_names": lambda it: list(it.data.morph_names[0]),
    "morph_names_from": of_stats("morph_names_from"),
    "vrm_version": lambda it: it.data.vrm_version,
    "title": lambda it: it.data.meta.title,
    "human_bones": bones,
    "expressions": lambda it: {name: item.bind_count for name, item in it.data.expressions.items()},
    "look_at": lambda it: it.data.look_at.kind if it.data.look_at else "absent",
    "spring_groups": of_stats("springs"),
    "spring_collider_groups": of_stats("collider_groups"),
    "licence_in_meta": lambda it: it.data.meta.licence,
    "shaders": lambda it: sorted(it.data.stats.shaders),
    "mtoon_materials": lambda it: sum(material.shading == "mtoon" for material in it.data.materials),
    "allow_redistribution_in_meta": lambda it: it.data.meta.allow_redistribution,
    "springs": lambda it: len(it.data.springs),
    "spring_joints": lambda it: [len(spring.joints) for spring in it.data.springs],
    "colliders": lambda it: len(it.data.colliders),
    "animations": animations,
    "rest_world_positions": rest_positions,
    "vrma_spec": lambda it: it.vrma.text("specVersion"),
    "vrma_expressions": lambda it: {
        kind: [name for name, _ in it.vrma.need("expressions").members(kind)]
        for kind in it.vrma.need("expressions").value
    },
    "vrma_look_at_node": lambda it: -1 if it.vrma.child("lookAt") is None else it.vrma.need("lookAt").whole("node"),
}
"""What the loader found, under the manifest's keys."""

PRESENT: dict[str, Callable[[Any], Any]] = {
    "extensions_used": sorted,
    "alpha_modes": sorted,
    "shaders": sorted,
    "expressions": lambda value: {VRM0_NAMES.get(name, name): count for name, count in value.items()},
    "look_at": lambda value: {"Bone": "bone", "BlendShape": "expression"}.get(value, value),
}
"""How the manifest's value is written where it differs from the loader's (VRM 0.x is read in 1.0's terms)."""


@pytest.mark.parametrize("file", sorted(FILES))
def test_every_expected_value(file: str) -> None:
    entry = FILES[file]
    content = (DATA / file).read_bytes()
    assert len(content) == entry["bytes"] and hashlib.sha256(content).hexdigest() == entry["sha256"]
    it = loaded(file)
    for key, value in entry["expect"].items():
        if key == "note":
            continue
        assert key in FOUND, f"the manifest expects {key!r}, which no check here knows"
        expected, found = PRESENT.get(key, lambda same: same)(value), FOUND[key](it)
        if key == "rest_world_positions":
            for bone, place in expected.items():
                assert found[bone] == pytest.approx(place, abs=2e-3), bone
        elif key == "animations":
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert one == {**other, "dur": pytest.approx(other["dur"])}
        else:
            assert found == expected, key


def test_files_expect_nothing_where_the_manifest_is_silent() -> None:
    """A model without skins, animations or expressions in the manifest has none for the loader either."""
    silent = {"skin_joints": [], "image_types": [], "animations": [], "extensions_used": []}
    for file, entry in FILES.items():
        for key, nothing in silent.items():
            if key not in entry["expect"]:
                assert FOUND[key](loaded(file)) == nothing, (file, key)


def test_every_file_of_the_folders_is_in_the_manifest() -> None:
    there = {f"{folder}/{path.name}" for folder in ("models", "animations") for path in (DATA / folder).iterdir()}
    assert there == set(FILES)
