"""Skin below the head: neck, arms, hands, thighs. And the torso's surface, which the clothes are cut from. Metres."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from avatars.maker.curves import F64, Monotone, smooth
from avatars.maker.mesh import Part, grid, join, tube
from avatars.maker.skeleton import ARM_Y, ARM_Z, CHIN, ELBOW_X, FINGERS, SHOULDER_X, WRIST_X, H, finger_joints

SKIN_UV = (0.02, 0.985)
"""A plain corner of the skin's texture."""

WIDTH = Monotone((0.70, 0.150), (0.78, 0.140), (0.84, 0.124), (0.89, 0.100), (0.945, 0.0865), (1.0, 0.091),
                 (1.06, 0.102), (1.11, 0.111), (1.16, 0.119), (1.195, 0.119), (1.222, 0.096), (1.240, 0.056),
                 (1.255, 0.036), (1.30, 0.030))  # fmt: skip
FRONT = Monotone((0.70, 0.095), (0.78, 0.085), (0.86, 0.080), (0.94, 0.066), (1.0, 0.073), (1.05, 0.091),
                 (1.100, 0.108), (1.15, 0.090), (1.19, 0.062), (1.222, 0.040), (1.240, 0.030), (1.255, 0.026),
                 (1.30, 0.028))  # fmt: skip
REAR = Monotone((0.70, -0.115), (0.78, -0.110), (0.85, -0.094), (0.94, -0.062), (1.0, -0.068), (1.10, -0.084),
                (1.16, -0.088), (1.20, -0.080), (1.222, -0.070), (1.240, -0.056), (1.255, -0.044),
                (1.30, -0.038))  # fmt: skip


def torso(theta: ArrayLike, y: ArrayLike, off: ArrayLike = 0.0) -> F64:
    """A point of the torso: ``theta`` from the front to her left, radians; ``off`` metres outward."""
    theta, y = np.broadcast_arrays(np.asarray(theta, np.float64), np.asarray(y, np.float64))
    off = np.asarray(off, np.float64)
    s, c = np.sin(theta), np.cos(theta)
    p = 2 / 2.25
    x = (WIDTH(y) + off) * np.sign(s) * np.abs(s) ** p
    middle = 0.35 * (FRONT(y) + REAR(y))
    far = np.where(c > 0, FRONT(y) - middle, middle - REAR(y)) + off
    bust = 0.012 * np.exp(-(((np.abs(theta) - 0.62) / 0.30) ** 2) - ((y - 1.105) / 0.035) ** 2)
    z = middle + (far + np.where(c > 0, bust, 0.0)) * np.sign(c) * np.abs(c) ** p
    return np.stack([x, y, z], -1)


def torso_weights(points: F64) -> dict[str, F64]:
    """By height along the spine; the outer shoulders follow the shoulder bones."""
    y = points[:, 1]
    marks = [("hips", 0.84), ("spine", 0.92), ("chest", 1.02), ("upperChest", 1.12), ("neck", 1.262), ("head", 1.315)]
    at = np.interp(y, [m[1] for m in marks], np.arange(len(marks)))
    out = {name: np.clip(1 - np.abs(at - k), 0, 1) for k, (name, _) in enumerate(marks)}
    x = points[:, 0]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        share = 0.75 * smooth(sign * x, 0.045, 0.115) * smooth(y, 1.10, 1.19) * smooth(y, 1.30, 1.24)
        for name in list(out):
            if not name.endswith("Shoulder"):
                out[name] = out[name] * (1 - share)
        out[f"{side}Shoulder"] = share
    return out


def arm_weights(points: F64) -> dict[str, F64]:
    """Her left arm, by x."""
    x = points[:, 0]
    low, hand = smooth(x, ELBOW_X - 0.035, ELBOW_X + 0.035), smooth(x, WRIST_X - 0.018, WRIST_X + 0.018)
    return {"leftUpperArm": 1 - low, "leftLowerArm": low * (1 - hand), "leftHand": low * hand}


def sleeve_weights(points: F64) -> dict[str, F64]:
    """Of cloth on her left arm: near the shoulder it follows that bone too."""
    weights = arm_weights(points)
    shoulder = 0.40 * smooth(points[:, 0], SHOULDER_X + 0.025, SHOULDER_X - 0.03)
    weights["leftUpperArm"] = weights["leftUpperArm"] * (1 - shoulder)
    weights["leftShoulder"] = shoulder
    return weights


def leg_weights(points: F64) -> dict[str, F64]:
    """Her left leg, by y."""
    y = points[:, 1]
    hips, low, foot = smooth(y, 0.76, 0.82), smooth(y, 0.465, 0.385), smooth(y, 0.125, 0.07)
    toes = foot * smooth(points[:, 2], 0.06, 0.10)
    return {
        "hips": hips, "leftUpperLeg": (1 - hips) * (1 - low), "leftLowerLeg": low * (1 - foot), "leftFoot": foot - toes,
        "leftToes": toes,
    }  # fmt: skip


def skin(points: F64, triangles: np.ndarray, weights: dict[str, F64]) -> Part:
    return Part(points, triangles, np.tile(SKIN_UV, (len(points), 1)), weights)


def neck() -> Part:
    theta = np.linspace(-np.pi, np.pi, 29)
    y = np.array([1.205, 1.222, 1.236, 1.247, 1.258, 1.272, 1.288, 1.304, 1.32, 1.335])
    points = torso(theta[None], y[:, None]).reshape(-1, 3)
    lean = smooth(points[:, 1], 1.24, 1.33) * 0.004
    points[:, 2] += lean
    part = skin(points, grid(len(y), 29), torso_weights(points))
    # The shadow of the chin falls on the throat.
    down = smooth(points[:, 1], 1.250, 1.285)[:, None] * np.array([0.0, -1.4, 0.0])
    part.normals = part.normals + down
    part.normals /= np.linalg.norm(part.normals, axis=1, keepdims=True)
    # It is painted: further right in the texture's lower left corner the skin is dark. A soft arc under the jaw.
    edge = 1.272 + 0.022 * np.abs(np.sin(np.tile(theta, len(y)))) ** 2
    part.uv[:, 0] = 0.08 + np.clip((points[:, 1] - edge) * 2.0, -0.06, 0.06)
    return part


def arm_path(x: ArrayLike) -> F64:
    x = np.asarray(x, np.float64)
    return np.stack([x, np.full_like(x, ARM_Y), np.full_like(x, ARM_Z)], 1)


ARM_RADIUS = Monotone((SHOULDER_X, 0.036), (0.18, 0.0330), (0.25, 0.0300), (0.30, 0.0262), (ELBOW_X, 0.0252),
                      (0.365, 0.0272), (0.41, 0.0258), (0.48, 0.0198), (0.515, 0.0172), (WRIST_X, 0.0165))  # fmt: skip


def left_arm() -> Part:
    x = np.concatenate([np.linspace(0.16, 0.28, 4), np.linspace(0.295, 0.35, 6), np.linspace(0.38, 0.545, 6)])
    r = ARM_RADIUS(x)
    points, tri, _ = tube(arm_path(x), np.stack([r, r * 0.96], 1), 14)
    return skin(points, tri, arm_weights(points))


def left_hand() -> Part:
    """Palm and five fingers."""
    parts = []
    t = np.array([-0.012, 0.0, 0.015, 0.035, 0.055, 0.072, 0.082, 0.086])
    across = np.array([0.0168, 0.0175, 0.0220, 0.0305, 0.0335, 0.0325, 0.0290, 0.0200])
    thick = np.array([0.0158, 0.0155, 0.0145, 0.0140, 0.0128, 0.0108, 0.0085, 0.0040])
    path = arm_path(WRIST_X + t)
    points, tri, _ = tube(path, np.stack([across, thick], 1), 12)
    hand = smooth(points[:, 0], WRIST_X - 0.018, WRIST_X + 0.018)
    parts.append(skin(points, tri, {"leftLowerArm": 1 - hand, "leftHand": hand}))
    for name in FINGERS:
        joints, radius = finger_joints(name)
        knots = np.array([-0.35, 0.0, 0.5, 0.85, 1.15, 1.85, 2.15, 2.6, 2.9, 3.0])
        path = np.stack([np.interp(knots, np.arange(4), joints[:, c]) for c in range(3)], 1)
        path += np.minimum(knots, 0.0)[:, None] * (joints[1] - joints[0])
        r = radius * np.interp(
            knots, [-0.35, 0, 1, 2, 2.6, 2.85, 2.97, 3.0], [0.9, 1.05, 1.0, 0.92, 0.82, 0.62, 0.34, 0.05]
        )
        points, tri, uv = tube(path, np.stack([r, r * 0.92], 1), 6)
        at = np.interp(uv[:, 1] * (len(knots) - 1), np.arange(len(knots)), knots)
        parts_names = (
            ("Metacarpal", "Proximal", "Distal") if name == "Thumb" else ("Proximal", "Intermediate", "Distal")
        )
        a, b, c = (smooth(at, k - 0.18, k + 0.18) for k in (0.0, 1.0, 2.0))
        weights = {
            "leftHand": 1 - a, f"left{name}{parts_names[0]}": a * (1 - b),
            f"left{name}{parts_names[1]}": a * b * (1 - c), f"left{name}{parts_names[2]}": a * b * c,
        }  # fmt: skip
        parts.append(skin(points, tri, weights))
    return join(parts)


LEG_X = Monotone((0.085, 0.0655), (0.26, 0.0670), (0.425, 0.0665), (0.62, 0.0700), (0.80, 0.0690))
LEG_RADIUS = Monotone((0.06, 0.0290), (0.10, 0.0262), (0.15, 0.0300), (0.22, 0.0400), (0.295, 0.0440), (0.36, 0.0405),
                      (0.425, 0.0390), (0.48, 0.0440), (0.56, 0.0540), (0.64, 0.0620), (0.72, 0.0675),
                      (0.80, 0.070))  # fmt: skip
LEG_Z = Monotone((0.06, -0.013), (0.14, -0.015), (0.29, -0.020), (0.37, -0.008), (0.43, 0.002), (0.62, 0.006),
                 (0.80, 0.0))  # fmt: skip


def leg_tube(y: F64, off: float | F64, around: int = 20) -> tuple[F64, np.ndarray, F64]:
    """Round her left leg at heights ``y``; ``off`` metres outward. The front lies at u = 0.25."""
    path = np.stack([LEG_X(y), y, LEG_Z(y)], 1)
    r = LEG_RADIUS(y) + off
    points, tri, uv = tube(path, np.stack([r, r * 1.05], 1), around, up=(0, 0, 1))
    # The knee stands out a little; the calf swells outward.
    angle = uv[:, 0] * 2 * np.pi
    knee = 0.0045 * np.exp(-(((points[:, 1] - 0.440) / 0.030) ** 2)) * np.maximum(np.sin(angle), 0.0) ** 2
    calf = 0.0040 * np.exp(-(((points[:, 1] - 0.300) / 0.060) ** 2)) * np.maximum(-np.cos(angle), 0.0)
    points = points + np.stack([calf, np.zeros_like(calf), knee], 1)
    return points, tri, uv


def left_thigh() -> Part:
    y = np.linspace(0.52, 0.80, 12)
    points, tri, _ = leg_tube(y, 0.0)
    return skin(points, tri, leg_weights(points))


def left_ear() -> Part:
    """A shell with a darker hollow; hair covers most of it. Drawn in heights of the head."""
    angle = np.linspace(0, 2 * np.pi, 25)
    rings = [(1.02, -0.030, 0.0), (1.06, 0.006, 0.0), (1.0, 0.024, 0.0), (0.88, 0.027, 0.0), (0.76, 0.016, 0.6),
             (0.45, 0.004, 1.0), (0.0, 0.006, 0.8)]  # fmt: skip
    points, dark = [], []
    for size, out, shade in rings:
        # Wide above, a lobe below; it leans back.
        back = 0.044 * size * np.cos(angle) * (1 + 0.28 * np.sin(angle))
        high = 0.086 * size * np.sin(angle)
        stands = out + 0.25 * back + 0.08 * high
        points.append(np.stack([0.350 + stands, 0.325 + high, -0.010 - 0.9 * back - 0.12 * high], 1))
        dark.append(np.full(25, shade))
    flat = np.concatenate(points) * H + np.array([0.0, CHIN, 0.0])
    tri = grid(len(rings), 25)
    normal = np.cross(flat[tri[:, 1]] - flat[tri[:, 0]], flat[tri[:, 2]] - flat[tri[:, 0]])
    if normal[:, 0].sum() < 0:
        tri = tri[:, ::-1].copy()
    part = skin(flat, tri, {"head": np.ones(len(flat))})
    part.uv[:, 0] += 0.11 * np.concatenate(dark)
    return part


def body_skin() -> list[Part]:
    left = [left_arm(), left_hand(), left_thigh(), left_ear()]
    return [neck(), *left, *[p.mirrored() for p in left]]
