"""glTF animations as plain data (glTF 2.0, section 3.11): of a GLB, or of a VRMA, which is glTF too. Plays nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from idol.avatar.accessors import Accessors
from idol.avatar.container import Container
from idol.avatar.cursor import Cursor
from idol.avatar.model import F32

ClipPath = Literal["translation", "rotation", "scale", "weights"]
Interpolation = Literal["LINEAR", "STEP", "CUBICSPLINE"]

MAX_CLIPS = 1_000
MAX_CHANNELS = 20_000
MAX_NUMBERS = 40_000_000
"""Key values of all clips of a file together: 160 MB, hours of a whole skeleton."""
_WIDTHS: dict[ClipPath, int] = {"translation": 3, "rotation": 4, "scale": 3, "weights": 1}


@dataclass(frozen=True, slots=True)
class Channel:
    """How one property of ``node`` moves. Channels of one sampler share their arrays: do not write to them.

    ``times`` (K,) float32 seconds, at least one, from 0 on and strictly rising. ``values`` (K, W) float32 with W = 3
    (translation in metres, scale), 4 (rotation as x y z w, of unit length) or the mesh's number of morphs (weights).
    CUBICSPLINE has (K, 3, W): in-tangent, value, out-tangent; its rotations are to be normalised once interpolated.
    """

    node: int
    path: ClipPath
    interpolation: Interpolation
    times: F32
    values: F32


@dataclass(frozen=True, slots=True)
class Clip:
    """One animation of the file. ``duration`` is its last key's time in seconds, 0 without channels."""

    name: str
    duration: float
    channels: tuple[Channel, ...]


def read_clips(container: Container) -> list[Clip]:
    """The animations of the file, in its order. Channels without a node or with a path that glTF 2.0 does not define
    (extensions move such things) are left out. Raises AvatarError with the place in the file."""
    reader = _ClipReader(container)
    animations = container.json.items("animations")
    if len(animations) > MAX_CLIPS:
        raise container.json.fail(f"has {len(animations)} animations; the limit is {MAX_CLIPS}.")
    return [reader.clip(item) for item in animations]


class _ClipReader:
    def __init__(self, container: Container) -> None:
        self.accessors = Accessors(container)
        self.nodes = len(container.json.items("nodes"))
        self._kept: dict[tuple[int, int, ClipPath, Interpolation], tuple[F32, F32]] = {}
        self._numbers = 0
        self._channels = 0

    def clip(self, item: Cursor) -> Clip:
        samplers = item.items("samplers")
        channels: dict[tuple[int, ClipPath], Channel] = {}
        for channel in item.items("channels"):
            target = channel.need("target")
            node = target.index("node", self.nodes, "node")
            path = target.text("path")
            if node is None or path not in get_args(ClipPath):
                continue
            self._channels += 1
            if self._channels > MAX_CHANNELS:
                raise channel.fail(f"is one channel more than the limit of {MAX_CHANNELS}.")
            index = channel.index("sampler", len(samplers), "sampler")
            if index is None:
                raise channel.fail("names no sampler.")
            read = self._channel(samplers[index], node, cast(ClipPath, path))
            # One property has one channel; where a file breaks that rule, its first counts.
            channels.setdefault((read.node, read.path), read)
        duration = max((float(channel.times[-1]) for channel in channels.values()), default=0.0)
        return Clip(item.text("name"), duration, tuple(channels.values()))

    def _channel(self, sampler: Cursor, node: int, path: ClipPath) -> Channel:
        given = sampler.text("interpolation", "LINEAR")
        if given not in get_args(Interpolation):
            raise sampler.fail(f"has the interpolation {given!r}; it must be LINEAR, STEP or CUBICSPLINE.")
        interpolation = cast(Interpolation, given)
        first = sampler.index("input", len(self.accessors), "accessor")
        second = sampler.index("output", len(self.accessors), "accessor")
        if first is None or second is None:
            raise sampler.fail("lacks its input or its output.")
        key = (first, second, path, interpolation)
        if key not in self._kept:
            self._kept[key] = self._keys(sampler, *key)
        return Channel(node, path, interpolation, *self._kept[key])

    def _keys(
        self, sampler: Cursor, first: int, second: int, path: ClipPath, interpolation: Interpolation
    ) -> tuple[F32, F32]:
        """Times and values of a sampler, checked against each other."""
        self._numbers += self.accessors.count(first) + self.accessors.count(second) * _WIDTHS[path]
        if self._numbers > MAX_NUMBERS:
            raise sampler.fail(f"brings the animations over the limit of {MAX_NUMBERS} numbers.")
        times = self.accessors.floats(first, 1, f"{sampler.path}.input")[:, 0]
        flat = self.accessors.floats(second, _WIDTHS[path], f"{sampler.path}.output")
        if not len(times):
            raise sampler.fail("has no keys.")
        if float(times[0]) < 0.0 or (np.diff(times) < 0.0).any():
            raise sampler.fail("has key times that are negative or run backwards.")
        per_key = 3 if interpolation == "CUBICSPLINE" else 1
        wanted = len(times) * per_key
        if not len(flat) or len(flat) % wanted or (path != "weights" and len(flat) != wanted):
            raise sampler.fail(f"has {len(times)} key times, but {len(flat)} values of {path}.")
        # The weights of all morphs of a key (in a spline: of each of its three parts) lie one after another.
        values = flat.reshape(len(times), per_key, -1) if per_key == 3 else flat.reshape(len(times), -1)
        if path == "rotation" and per_key == 1:
            values = _unit(values)
        # Of keys at one time the last counts: what plays them need not divide by a span of nothing.
        last = np.append(np.diff(times) > 0.0, True)
        return np.ascontiguousarray(times[last]), np.ascontiguousarray(values[last])


def _unit(turns: F32) -> NDArray[np.float32]:
    length = np.linalg.norm(turns, axis=1, keepdims=True)
    whole = np.asarray([0.0, 0.0, 0.0, 1.0], np.float32)
    return np.where(length > 1e-6, turns / np.maximum(length, 1e-6), whole).astype(np.float32)
