"""The avatar in motion: a FacePose in, skinning matrices, morph weights and material changes out. No GL here.

Order within a frame, as three-vrm's: humanoid, look-at, expressions, constraints, springs, materials.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from idol.avatar import arkit
from idol.avatar.animation_player import AvatarMotion, BodyPose
from idol.avatar.constraints import Constraints
from idol.avatar.expressions import MOUTH, Expressions, MaterialChange
from idol.avatar.framing import Framing, measure
from idol.avatar.gaze import Gaze
from idol.avatar.model import AvatarData, LookAt
from idol.avatar.morphs import MorphBlend
from idol.avatar.posing import Poser
from idol.avatar.rig import Rig
from idol.avatar.rotation import Quaternion, head_turn, to_matrix
from idol.avatar.skeleton import Skeleton
from idol.avatar.springs import Springs
from idol.seams import ARKIT_INDEX, ARKIT_NAMES, EMOTIONS, Emotion, FacePose

EMOTION_PRESETS: dict[Emotion, tuple[tuple[str, float], ...]] = {
    "neutral": (), "happy": (("happy", 0.8),), "sad": (("sad", 0.8),), "angry": (("angry", 0.8),),
    "surprised": (("surprised", 0.8),), "relaxed": (("relaxed", 0.8),),
    "shy": (("relaxed", 0.35), ("happy", 0.35)), "thinking": (("angry", 0.25), ("surprised", 0.2)),
}  # fmt: skip
INSTEAD: dict[Emotion, tuple[tuple[str, float], ...]] = {"surprised": (("oh", 0.45),)}
"""For a model whose preset of that name moves nothing."""
BESIDES: dict[Emotion, tuple[tuple[str, float], ...]] = {"shy": (("blush", 1.0),)}
"""What the 52 shapes cannot show: asked of every model that has an expression of that name."""
EMOTION_SECONDS = 0.18
"""Time constant of an emotion's rise and fall on models that show it by presets."""


class Avatar:
    """One loaded avatar and its state.

    After ``update``: ``palette`` (P, 3, 4) float32 skinning matrices (row-major, world space, metres);
    ``morph_weights`` float64 [all morphs of all nodes]; ``blends[i]`` the blended offsets of primitive ``i``;
    ``material_changes`` by material; ``time`` seconds since load.
    """

    def __init__(self, data: AvatarData) -> None:
        self.data = data
        self.skeleton = Skeleton(data)
        self.expressions = Expressions(data)
        self.framing: Framing = measure(data, self.skeleton)
        self.blends = [MorphBlend(primitive) for primitive in data.primitives]
        self._ranges = [
            (self.expressions.first[p.node], self.expressions.first[p.node] + len(p.targets)) for p in data.primitives
        ]
        self._map_arkit()
        self.gaze = Gaze(data, self.expressions, bool(self._has[arkit.LOOK_INDEX].any()))
        self._constraints = Constraints(data, self.skeleton)
        self._springs = Springs(data, self.skeleton)
        self._body = self.skeleton.without(self._springs.below)
        rig = Rig(data, self.skeleton)
        self._poser = Poser(data, self.skeleton, rig)
        self.motion = AvatarMotion(data, self.skeleton, rig, self._poser.stance)
        self._palette_nodes = data.palette_nodes.astype(np.int64)
        self._inverse = data.palette_inverse.astype(np.float64)
        self.palette: NDArray[np.float32] = np.zeros((len(self._palette_nodes), 3, 4), np.float32)
        self.morph_weights = self.expressions.default.copy()
        self.material_changes: dict[int, MaterialChange] = {}
        self.effective: NDArray[np.float64] = np.zeros(len(self.expressions.names))
        self._manual: dict[int, float] = {}
        self._emotion: dict[str, float] = {}
        self.time = 0.0
        self.update(FacePose(np.zeros(52, np.float32)), 0.0)

    # What it can do

    @property
    def title(self) -> str:
        return self.data.meta.title or self.data.name

    @property
    def arkit_names(self) -> tuple[str, ...]:
        """The ARKit shapes this model has, by expression or by morph."""
        return tuple(name for name, held in zip(ARKIT_NAMES, self._has, strict=True) if held)

    @property
    def uses_arkit_mouth(self) -> bool:
        """True when the 52 weights drive the mouth directly, False when they are mapped to aa ih ou ee oh."""
        return self._arkit_mouth

    @property
    def shows_arkit_brows(self) -> bool:
        return bool(self._has[ARKIT_INDEX["browInnerUp"]] or self._has[ARKIT_INDEX["browDownLeft"]])

    @property
    def expression_names(self) -> tuple[str, ...]:
        return self.expressions.names

    def set_expression(self, name: str, weight: float) -> None:
        """Hold an expression at ``weight`` (0 releases it), on top of what poses ask. Raises KeyError if unknown."""
        self._manual[self.expressions.index[name]] = float(min(max(weight, 0.0), 1.0))

    def reset_springs(self) -> None:
        self._springs.reset()

    def hold_bones(self, turns: Mapping[str, Quaternion] | None) -> None:
        """Hold human bones at ``turns`` (x y z w, in the model's axes, relative to the T-pose), all others at rest.

        The stance and what poses ask of head and body step back until None releases them; face and gaze go on.
        """
        self._poser.hold(turns)

    def bone_position(self, bone: str) -> NDArray[np.float64] | None:
        """World position of a human bone in the pose of the last update, None when the model lacks it."""
        node = self.data.human_bones.get(bone)
        return None if node is None else self.skeleton.world[node, :3, 3].copy()

    def gaze_at(self, point: NDArray[np.float64]) -> tuple[float, float]:
        """The ``FacePose.gaze`` (yaw, pitch) with which she looks at ``point`` (world, metres), her head being where
        the last update left it (VRMC_vrm 1.0, lookAt space)."""
        node = self.data.human_bones.get("head")
        if node is None:
            x, y, z = np.asarray(point, np.float64) - self.framing.head
        else:
            offset = (self.data.look_at or LookAt()).offset_from_head
            head = self.skeleton.world[node]
            turn = head[:3, :3] @ np.linalg.inv(self.skeleton.rest_world[node, :3, :3])
            x, y, z = np.linalg.solve(turn, point - (head @ [*offset, 1.0])[:3])
        return math.atan2(x, z), math.atan2(y, math.hypot(x, z))

    # One frame

    def update(self, pose: FacePose, dt: float) -> None:
        """Move to ``pose``, ``dt`` seconds after the last call. Any finite ``dt`` >= 0 is stable."""
        dt = min(max(dt, 0.0), 1.0) if math.isfinite(dt) else 0.0
        self.time += dt
        self.skeleton.translations[:] = self.skeleton.rest_translations
        body = self.motion.update(pose.motion, dt)
        self._poser.apply(pose, body)
        face = np.nan_to_num(np.asarray(pose.weights, np.float32), nan=0.0).clip(0.0, 1.0)
        gaze = _gaze(pose, body)
        asked, direct = self._ask(pose, gaze, face, dt)
        for name, weight in body.expressions.items():
            if name in self.expressions.index:
                i = self.expressions.index[name]
                asked[i] = min(asked[i] + weight, 1.0)
        if self.gaze.kind == "expression":
            self.gaze.apply(gaze, self._poser, asked, 1.0)
        weights, left = self.expressions.resolve(asked)
        if self.gaze.kind == "bone":
            self.gaze.apply(gaze, self._poser, asked, left["look_at"])
        self.effective = weights
        self._morph(weights, direct, left)
        self.skeleton.solve(self._body)
        if self._constraints.apply():
            self.skeleton.solve(self._body)
        self._springs.update(dt)
        self.material_changes = self.expressions.changes(weights)
        self._write_palette(pose)

    def _write_palette(self, pose: FacePose) -> None:
        matrices = self.skeleton.world[self._palette_nodes] @ self._inverse
        if not self._poser.turns_head:
            matrices = self._turn_whole(pose) @ matrices
        self.palette[:] = matrices[:, :3, :]
        for blend, (first, last) in zip(self.blends, self._ranges, strict=True):
            blend.blend(self.morph_weights[first:last])

    def _turn_whole(self, pose: FacePose) -> NDArray[np.float64]:
        """A model without a head bone is all head: turn it about its lower middle."""
        yaw, pitch, roll = (min(max(v, -1.2), 1.2) if math.isfinite(v) else 0.0 for v in pose.head)
        pivot = np.asarray(self.framing.head) - [0.0, 0.35 * self.framing.head_height, 0.0]
        turn = np.eye(4)
        turn[:3, :3] = to_matrix(head_turn(yaw, pitch, roll))
        turn[:3, 3] = pivot - turn[:3, :3] @ pivot
        return turn

    def _ask(
        self, pose: FacePose, gaze: tuple[float, float], face: NDArray[np.float32], dt: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Asked expression weights, and the 52 weights that go to morphs directly."""
        index = self.expressions.index
        asked = np.zeros(len(index))
        if self.gaze.kind == "shapes":
            self.gaze.shapes(gaze, face)
        else:
            # Bones or look expressions carry the gaze; the shapes would double it.
            face[arkit.LOOK_INDEX] = 0.0
        if self._arkit_mouth:
            # mouthClose only makes sense up to the jaw's opening: past it the lips cross.
            face[18] = min(face[18], face[17])
        for i, expression in self._by_expression:
            asked[expression] = max(asked[expression], float(face[i]))
        if not self._arkit_mouth:
            values = arkit.oculus(face) if self._oculus else arkit.visemes(face)
            asked[self._viseme_places] = values[self._visemes]
        if not self._has[arkit.BLINK_INDEX].all():
            self._ask_blink(asked, float(face[0]), float(face[7]))
        self._ask_emotion(asked, pose, dt)
        for i, weight in self._manual.items():
            asked[i] = max(asked[i], weight)
        return asked, face

    def _ask_blink(self, asked: NDArray[np.float64], left: float, right: float) -> None:
        index = self.expressions.index
        if self.expressions.has("blinkLeft") and self.expressions.has("blinkRight"):
            both = min(left, right) if self.expressions.has("blink") else 0.0
            if both > 0.0:
                asked[index["blink"]] = both
            asked[index["blinkLeft"]] = left - both
            asked[index["blinkRight"]] = right - both
        elif "blink" in index:
            asked[index["blink"]] = max(left, right) if min(left, right) > 0.05 else 0.0

    def _ask_emotion(self, asked: NDArray[np.float64], pose: FacePose, dt: float) -> None:
        wanted = self._moods.get(pose.emotion, {})
        pace = 1.0 - math.exp(-dt / EMOTION_SECONDS)
        for name in self._emotion.keys() | wanted.keys():
            i = self.expressions.index.get(name)
            if i is None:
                continue
            goal = wanted.get(name, 0.0)
            if pose.speaking and self._moves_mouth[i]:
                # Her words must be seen on her lips: a preset that opens the mouth itself steps back while she speaks.
                goal *= 0.35
            held = self._emotion.get(name, 0.0)
            held += (goal - held) * pace
            self._emotion[name] = held
            asked[i] = max(asked[i], held if held > 0.004 else 0.0)

    def _morph(self, weights: NDArray[np.float64], direct: NDArray[np.float32], left: dict[str, float]) -> None:
        total = self.expressions.morphs(weights)
        if self._direct_morphs.size:
            values = direct[self._direct_shapes].astype(np.float64)
            # VRM leaves overrides of custom shapes open; a blocked mouth or blink must hold for these as well.
            if left["mouth"] < 1.0:
                values = np.where(self._direct_is_mouth, values * left["mouth"], values)
            if left["blink"] < 1.0:
                values = np.where(self._direct_is_blink, values * left["blink"], values)
            np.add.at(total, self._direct_morphs, values)
        self.morph_weights = self.expressions.bounded(total)

    # At load

    def _map_arkit(self) -> None:
        """Find each of the 52 names: an expression that moves something first, then morphs of that name."""
        names = self.expressions.names
        usable = [name if self.expressions.has(name) else "" for name in names]
        by_expression = arkit.match(usable)
        shapes, morphs = [], []
        self._by_expression: list[tuple[int, int]] = []
        self._has = np.zeros(52, bool)
        for name, places in by_expression.items():
            self._has[ARKIT_INDEX[name]] = True
            self._by_expression += [(ARKIT_INDEX[name], place) for place in places]
        for node, mesh in self.data.mesh_of_node.items():
            for name, places in arkit.match(self.data.morph_names[mesh]).items():
                if name in by_expression:
                    continue
                self._has[ARKIT_INDEX[name]] = True
                for place in places:
                    shapes.append(ARKIT_INDEX[name])
                    morphs.append(self.expressions.first[node] + place)
        self._direct_shapes = np.asarray(shapes, np.int64)
        self._direct_morphs = np.asarray(morphs, np.int64)
        # As with what an expression moves, the weight asked for is the whole weight.
        self.expressions.default[self._direct_morphs] = 0.0
        self._direct_is_mouth = np.isin(self._direct_shapes, arkit.MOUTH_INDEX)
        self._direct_is_blink = np.isin(self._direct_shapes, arkit.BLINK_INDEX)
        mouth = int(self._has[arkit.MOUTH_INDEX].sum())
        self._oculus = sum(self.expressions.has(name) for name in arkit.OCULUS) >= arkit.ENOUGH_VISEMES
        names = arkit.OCULUS if self._oculus else arkit.VISEMES
        found = [(i, self.expressions.index[name]) for i, name in enumerate(names) if name in self.expressions.index]
        self._visemes, self._viseme_places = np.asarray(found, np.int64).reshape(-1, 2).T
        self._arkit_mouth = mouth >= arkit.ENOUGH_NAMES and bool(self._has[ARKIT_INDEX["jawOpen"]])
        lips = np.zeros(self.expressions.morph_count, bool)
        for name in MOUTH:
            if name in self.expressions.index:
                lips |= self.expressions.matrix[self.expressions.index[name]] > 0
        self._moves_mouth = [
            item.override_mouth != "none" or bool((self.expressions.matrix[i][lips] > 0).any())
            for i, item in enumerate(self.expressions.items)
        ]
        self._moods = {emotion: self._mood(emotion) for emotion in EMOTIONS}

    def _mood(self, emotion: Emotion) -> dict[str, float]:
        """The expressions that show ``emotion``, beside the 52 shapes: none where these show it.

        Custom expressions are found whatever the case of their names."""
        own = {name.casefold(): name for name in self.expressions.names if self.expressions.has(name)}
        besides = tuple((own[name], weight) for name, weight in BESIDES.get(emotion, ()) if name in own)
        if self.shows_arkit_brows:
            return dict(besides)
        presets = EMOTION_PRESETS[emotion]
        if emotion in own:
            return {own[emotion]: 0.8}
        if not any(self.expressions.has(name) for name, _ in presets):
            presets = INSTEAD.get(emotion, presets)
        return dict(presets + besides)


def _gaze(pose: FacePose, body: BodyPose) -> tuple[float, float]:
    """Her own gaze, or that of an animation that moves the eyes."""
    if not body.gaze_weight:
        return pose.gaze
    own, share = pose.gaze, body.gaze_weight
    return own[0] + (body.gaze[0] - own[0]) * share, own[1] + (body.gaze[1] - own[1]) * share
