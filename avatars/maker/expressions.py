"""VRM's expression presets, as weights of the face's morph targets."""

from __future__ import annotations

from typing import Any

ARKIT = (
    "eyeBlinkLeft", "eyeLookDownLeft", "eyeLookInLeft", "eyeLookOutLeft", "eyeLookUpLeft", "eyeSquintLeft",
    "eyeWideLeft", "eyeBlinkRight", "eyeLookDownRight", "eyeLookInRight", "eyeLookOutRight", "eyeLookUpRight",
    "eyeSquintRight", "eyeWideRight", "jawForward", "jawLeft", "jawRight", "jawOpen", "mouthClose", "mouthFunnel",
    "mouthPucker", "mouthLeft", "mouthRight", "mouthSmileLeft", "mouthSmileRight", "mouthFrownLeft",
    "mouthFrownRight", "mouthDimpleLeft", "mouthDimpleRight", "mouthStretchLeft", "mouthStretchRight",
    "mouthRollLower", "mouthRollUpper", "mouthShrugLower", "mouthShrugUpper", "mouthPressLeft", "mouthPressRight",
    "mouthLowerDownLeft", "mouthLowerDownRight", "mouthUpperUpLeft", "mouthUpperUpRight", "browDownLeft",
    "browDownRight", "browInnerUp", "browOuterUpLeft", "browOuterUpRight", "cheekPuff", "cheekSquintLeft",
    "cheekSquintRight", "noseSneerLeft", "noseSneerRight", "tongueOut",
)  # fmt: skip
TARGETS = (*ARKIT, "eyeSmileLeft", "eyeSmileRight", "blush", "eyesAside")
"""Morph targets of the face, in the file's order: ARKit's names first, then our own."""


def _pair(name: str, weight: float) -> dict[str, float]:
    return {name + "Left": weight, name + "Right": weight}


PRESETS: dict[str, dict[str, float]] = {
    "happy": {**_pair("mouthSmile", 0.95), **_pair("eyeSmile", 1.0), **_pair("browOuterUp", 0.4), "jawOpen": 0.40,
              "browInnerUp": 0.3},
    "angry": {**_pair("browDown", 1.0), **_pair("mouthFrown", 0.7), **_pair("eyeSquint", 0.35),
              **_pair("noseSneer", 0.5), **_pair("mouthPress", 0.3)},
    "sad": {"browInnerUp": 1.0, **_pair("mouthFrown", 0.8), **_pair("eyeLookDown", 0.45), "mouthShrugLower": 0.4},
    "relaxed": {**_pair("mouthSmile", 0.55), **_pair("eyeLookDown", 0.75), **_pair("eyeSquint", 0.3),
                "browInnerUp": 0.2},
    "surprised": {"browInnerUp": 0.8, **_pair("browOuterUp", 0.9), **_pair("eyeWide", 1.0), "jawOpen": 0.34,
                  "mouthFunnel": 0.35},
    "neutral": {},
    "aa": {"jawOpen": 0.72, **_pair("mouthUpperUp", 0.12), **_pair("mouthLowerDown", 0.2)},
    "ih": {"jawOpen": 0.16, **_pair("mouthStretch", 0.55), **_pair("mouthLowerDown", 0.35),
           **_pair("mouthUpperUp", 0.2)},
    "ou": {"jawOpen": 0.14, "mouthPucker": 0.75, "mouthFunnel": 0.3},
    "ee": {"jawOpen": 0.36, **_pair("mouthStretch", 0.5), **_pair("mouthSmile", 0.2), **_pair("mouthLowerDown", 0.2)},
    "oh": {"jawOpen": 0.46, "mouthFunnel": 0.7, "mouthPucker": 0.2},
    "blink": _pair("eyeBlink", 1.0),
    "blinkLeft": {"eyeBlinkLeft": 1.0},
    "blinkRight": {"eyeBlinkRight": 1.0},
    "lookUp": {}, "lookDown": {}, "lookLeft": {}, "lookRight": {},
}  # fmt: skip
CUSTOM: dict[str, dict[str, float]] = {
    "blush": {"blush": 1.0},
    "shy": {"blush": 1.0, **_pair("eyeLookDown", 0.75), **_pair("mouthSmile", 0.45),
            **_pair("mouthPress", 0.4), "browInnerUp": 1.0, **_pair("cheekSquint", 0.4)},
    "thinking": {"eyesAside": 1.0, "browOuterUpRight": 0.9, "browDownLeft": 0.55, "browInnerUp": 0.1,
                 "eyeSquintLeft": 0.35, **_pair("eyeLookUp", 0.6), "mouthRight": 0.7, "mouthPucker": 0.35},
}  # fmt: skip
"""Expressions of our own, beyond the presets of VRM."""
OVERRIDE: dict[str, dict[str, str]] = {
    "happy": {"overrideBlink": "block", "overrideMouth": "blend"},
    "sad": {"overrideBlink": "none"},
    "relaxed": {"overrideBlink": "blend"},
    "surprised": {"overrideMouth": "blend"},
    # She looks where she looks while she thinks, and no gaze comes on top.
    "thinking": {"overrideLookAt": "blend"},
}


def expressions_json(node: int) -> dict[str, Any]:
    """``expressions`` of VRMC_vrm; ``node`` holds the face's mesh."""
    return {"preset": _json(PRESETS, node), "custom": _json(CUSTOM, node)}


def _json(expressions: dict[str, dict[str, float]], node: int) -> dict[str, Any]:
    out = {}
    for name, weights in expressions.items():
        binds = [
            {"node": node, "index": TARGETS.index(target), "weight": weight}
            for target, weight in weights.items()
            if weight
        ]
        out[name] = {
            "isBinary": False, "overrideBlink": "none", "overrideLookAt": "none", "overrideMouth": "none",
            **OVERRIDE.get(name, {}), "morphTargetBinds": binds,
        }  # fmt: skip
    return out
