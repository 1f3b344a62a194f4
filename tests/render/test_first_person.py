"""A mesh that only the one inside the avatar would see is not drawn for a camera outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar, load_avatar, parse_avatar
from idol.render.camera import Camera
from idol.render.offscreen import OffscreenStage, settle
from idol.seams import FacePose
from tests.avatar.rewrite import take_apart

MODEL = Path(__file__).resolve().parents[1] / "data" / "models" / "godette_vrm1.vrm"


def annotated(kind: str) -> Avatar:
    """Godette with one of her two meshes marked."""
    pieces = take_apart(MODEL)
    node = max(i for i, node in enumerate(pieces.document["nodes"]) if "mesh" in node)
    first_person = {"meshAnnotations": [{"node": node, "type": kind}]}
    pieces.document["extensions"]["VRMC_vrm"]["firstPerson"] = first_person
    return parse_avatar(pieces.content())


def picture(stage: OffscreenStage, avatar: Avatar) -> NDArray[np.uint8]:
    stage.load(avatar)
    settle(avatar, FacePose(np.zeros(52, np.float32)))
    return stage.picture(Camera.framed(avatar.framing, "full"), (160, 160), (0.0, 0.0, 0.0, 0.0))


def test_meshes_for_the_first_person_only_are_not_drawn() -> None:
    with OffscreenStage() as stage:
        plain = picture(stage, load_avatar(MODEL))
        for kind in ("both", "auto", "thirdPersonOnly"):
            assert (picture(stage, annotated(kind)) == plain).all(), kind
        without = picture(stage, annotated("firstPersonOnly"))
    covered, left = (plain[..., 3] > 128).sum(), (without[..., 3] > 128).sum()
    assert 0.05 * covered < left < 0.9 * covered
