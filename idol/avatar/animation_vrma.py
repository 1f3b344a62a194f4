"""VRM animations (VRMC_vrm_animation 1.0): a glTF file whose nodes are human bones, expressions and a gaze.

Rotations are brought to normalised humanoid terms with the rig's own rest rotations, so that a file plays alike on
every avatar; nodes between two human bones that move as well are folded into the bone below them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idol.avatar.animation import MotionClip, Track, Tracks, chained
from idol.avatar.clips import Channel, Clip, read_clips
from idol.avatar.container import Container, parse_container, read_container
from idol.avatar.cursor import Cursor
from idol.avatar.errors import AvatarError
from idol.avatar.humanoid import read_vrm1_bones
from idol.avatar.rotation import inverse, multiply
from idol.avatar.scene import read_scene
from idol.avatar.skeleton import Skeleton

F64 = NDArray[np.float64]
_EXTENSION = "VRMC_vrm_animation"
_NOT_FOR_ANIMATION = ("leftEye", "rightEye")
_LOOKS = ("lookUp", "lookDown", "lookLeft", "lookRight")


def load_animation(path: Path) -> MotionClip:
    """Read a ``.vrma``. Raises AvatarError with the place in the file and a way out."""
    path = Path(path)
    return read_vrma(read_container(path), path.stem)


def parse_animation(content: bytes, name: str = "animation") -> MotionClip:
    """The same from bytes in memory."""
    return read_vrma(parse_container(content, name), name)


def read_vrma(container: Container, name: str) -> MotionClip:
    """The first animation of the file, as the specification asks."""
    extensions = container.json.child("extensions")
    extension = None if extensions is None else extensions.child(_EXTENSION)
    if extension is None:
        raise AvatarError(
            f"{name} is no VRM animation: it lacks the extension {_EXTENSION}.",
            fix="Choose a .vrma file; export or convert other animations (BVH, FBX) to VRMA first.",
        )
    version = extension.text("specVersion", "1.0")
    if not version.startswith("1."):
        raise extension.fail(f"says specVersion {version!r}; only 1.0 can be read.", "Export it as VRMA 1.0.")
    try:
        data = read_scene(container, name)
    except RecursionError as error:
        raise AvatarError(f"{name} nests its JSON too deeply.") from error
    clips = read_clips(container)
    if not clips:
        raise AvatarError(f"{name} holds no animation.", "animations", "Export the file again with its animation.")
    humanoid = extension.child("humanoid")
    bones = {} if humanoid is None else read_vrm1_bones(humanoid, len(data.parents))
    if bones and "hips" not in bones:
        raise AvatarError("lacks the bone hips.", f"extensions.{_EXTENSION}.humanoid.humanBones")
    return _Reader(clips[0], Skeleton(data), bones).clip(extension, len(data.parents), name)


class _Reader:
    def __init__(self, clip: Clip, skeleton: Skeleton, bones: dict[str, int]) -> None:
        self._clip, self._skeleton, self._bones = clip, skeleton, bones
        self._turns = {c.node: c for c in clip.channels if c.path == "rotation"}
        self._moves = {c.node: c for c in clip.channels if c.path == "translation"}

    def clip(self, extension: Cursor, nodes: int, name: str) -> MotionClip:
        turned = {}
        human = set(self._bones.values())
        for bone, node in self._bones.items():
            if bone in _NOT_FOR_ANIMATION:
                continue
            chain, at = [node], int(self._skeleton.parents[node])
            while at >= 0 and at not in human:
                chain.insert(0, at)
                at = int(self._skeleton.parents[at])
            tracks = [self._normalised(n) for n in chain if n in self._turns]
            if tracks:
                turned[bone] = chained(tracks)
        hips = self._hips(self._bones["hips"]) if "hips" in self._bones else None
        expressions: dict[str, Track] = {}
        groups = extension.child("expressions")
        for group in ("preset", "custom") if groups is not None else ():
            assert groups is not None
            for expression, entry in groups.members(group):
                node_or_none = entry.index("node", nodes, "node")
                if node_or_none is None or (group == "preset" and expression in _LOOKS):
                    continue
                moved = self._moves.get(node_or_none)
                if moved is not None:
                    expressions.setdefault(expression, _track(moved, moved.values[..., :1]))
        gaze = None
        look = extension.child("lookAt")
        if look is not None:
            node_or_none = look.index("node", nodes, "node")
            channel = self._turns.get(node_or_none) if node_or_none is not None else None
            if channel is not None:
                gaze = _track(channel, channel.values)
        return MotionClip(self._clip.name or name, self._clip.duration, turned, hips, expressions, gaze)

    def _normalised(self, node: int) -> Track:
        """W_parent * q * W^-1 with the rest rotations W; linear in q, so it holds for spline tangents as well."""
        rest = self._skeleton.rest_world_rotations
        parent = int(self._skeleton.parents[node])
        values = self._turns[node].values.astype(np.float64)
        if parent >= 0:
            values = multiply(np.broadcast_to(rest[parent], values.shape), values)
        values = multiply(values, np.broadcast_to(inverse(rest[node]), values.shape))
        return _track(self._turns[node], values)

    def _hips(self, node: int) -> Track | None:
        """Where the hips are, relative to rest, in heights of the resting hips above the origin."""
        skeleton = self._skeleton
        rest = skeleton.rest_world[node, :3, 3]
        height = float(rest[1])
        if height < 1e-4:
            height = 1.0
        above = []
        at = int(skeleton.parents[node])
        while at >= 0:
            above.append(at)
            at = int(skeleton.parents[at])
        if any(n in self._moves or n in self._turns for n in above):
            return self._hips_with_parents(node, above, rest, height)
        channel = self._moves.get(node)
        if channel is None:
            return None
        parent = skeleton.rest_world[above[0]] if above else np.eye(4)
        values = channel.values.astype(np.float64) @ parent[:3, :3].T / height
        points = (parent[:3, 3] - rest) / height
        if channel.interpolation == "CUBICSPLINE":
            values[:, 1] += points
        else:
            values = values + points
        return _track(channel, values)

    def _hips_with_parents(self, node: int, above: list[int], rest: F64, height: float) -> Track:
        """Nodes above the hips move as well: their way is followed at all of their keys."""
        skeleton = self._skeleton
        chain = [*reversed(above), node]
        channels = [c for n in chain for c in (self._moves.get(n), self._turns.get(n)) if c is not None]
        times = np.unique(np.concatenate([c.times for c in channels])).astype(np.float64)
        moves = {n: Tracks([_track(c, c.values)]) for n, c in self._moves.items() if n in chain}
        turns = {n: Tracks([_track(c, c.values)], spherical=True) for n, c in self._turns.items() if n in chain}
        skeleton.reset()
        places = []
        for at in times.tolist():
            for n, track in moves.items():
                skeleton.translations[n] = track.sample(at)[0]
            for n, track in turns.items():
                skeleton.rotations[n] = track.sample(at)[0]
            places.append((skeleton.solve()[node, :3, 3] - rest) / height)
        skeleton.reset()
        skeleton.solve()
        return Track(times, np.asarray(places))


def _track(channel: Channel, values: NDArray[np.floating]) -> Track:
    return Track(channel.times.astype(np.float64), values.astype(np.float64), channel.interpolation)
