"""Expressions for a model that has none of its own: its morphs, by the names that face rigs use.

Known are Oculus visemes (``viseme_aa``, ``vrc.v_aa``), VRoid's ``Fcl_MTH_A``, MMD's Japanese names and plain English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from idol.avatar.arkit import ENOUGH_VISEMES, OCULUS
from idol.avatar.model import AvatarData, Expression, MorphBind

_MOUTH = {
    "aa": ("fclmtha", "visemeaa", "あ", "a", "aa", "ah", "moutha", "mouthopen"),
    "ih": ("fclmthi", "visemei", "い", "i", "ih", "mouthi"),
    "ou": ("fclmthu", "visemeu", "う", "u", "ou", "mouthu"),
    "ee": ("fclmthe", "visemee", "え", "e", "ee", "eh", "mouthe"),
    "oh": ("fclmtho", "visemeo", "お", "o", "oh", "moutho"),
}
_BLINK = {
    "blink": ("fcleyeclose", "まばたき", "blink", "blinkboth", "vrcblink", "eyesclosed", "eyeclosed", "eyeclose"),
    "blinkLeft": ("fcleyeclosel", "ウィンク2", "ウィンク", "blinkleft", "blinkl", "winkleft", "winkl", "eyeclosel"),
    "blinkRight": (
        "fcleyecloser", "ウィンク2右", "ウィンク右", "blinkright", "blinkr", "winkright", "winkr", "eyecloser",
    ),
}  # fmt: skip
_MOOD = {
    "happy": ("fclalljoy", "笑い", "happy", "joy", "smile", "mouthsmile"),
    "angry": ("fclallangry", "怒り", "angry"),
    "sad": ("fclallsorrow", "困る", "悲しい", "sad", "sorrow"),
    "relaxed": ("fclallfun", "なごみ", "relaxed", "fun"),
    "surprised": ("fclallsurprised", "びっくり", "surprised"),
}
_CLOSES_EYES = ("fclalljoy", "笑い", "なごみ")
"""Moods that narrow the eyes themselves: a blink on top would push the lids through the cheeks."""
_OCULUS = {name.replace("_", "").lower(): name for name in OCULUS}
_SAME = {"visemeih": "visemei", "visemeoh": "visemeo", "visemeou": "visemeu"}


def plain_key(name: str) -> str:
    """Width and case folded, no separators, without what exporters put before the name."""
    folded = unicodedata.normalize("NFKC", name).lower()
    # "Face.M_F00_000_00_Fcl_MTH_A" of VRoid, "blendShape1.viseme_aa" of Maya, "vrc.v_aa" of VRChat.
    folded = re.sub(r"^.*(?=fcl_)|^blendshapes?\d*\.", "", folded)
    folded = re.sub(r"^(vrc\.)?v_", "viseme_", folded)
    key = re.sub(r"[\s_.\-:|]", "", folded)
    return _SAME.get(key, key)


def add_named_expressions(data: AvatarData) -> None:
    """Add vowels, blinks and moods to a model that is no VRM. A VRM says itself which expressions it has."""
    if data.vrm_version:
        return
    keys = {
        node: [plain_key(name) for name in data.morph_names[mesh]]
        for node, mesh in data.mesh_of_node.items()
        if data.morph_names[mesh]
    }
    if not keys:
        return
    for group in (_MOUTH, _BLINK, _MOOD):
        for name, wanted in group.items():
            found = next((key for key in wanted if any(key in names for names in keys.values())), None)
            if found is not None:
                _add(data, name, found, keys)
    known = {key for names in keys.values() for key in names if key in _OCULUS}
    if len(known) >= ENOUGH_VISEMES:
        for key in sorted(known):
            _add(data, _OCULUS[key], key, keys)


def _add(data: AvatarData, name: str, key: str, keys: dict[int, list[str]]) -> None:
    data.expressions[name] = Expression(
        name=name,
        custom=name in OCULUS,
        override_blink="blend" if key in _CLOSES_EYES else "none",
        # A whole face of VRoid's moves the mouth with it.
        override_mouth="blend" if key.startswith("fclall") else "none",
        morphs=tuple(_binds(key, keys)),
    )


def _binds(key: str, keys: dict[int, list[str]]) -> Iterator[MorphBind]:
    """Each mesh's morph of that name: head, brows and lashes are often meshes of their own."""
    for node, names in keys.items():
        if key in names:
            yield MorphBind(node, names.index(key), 1.0)
