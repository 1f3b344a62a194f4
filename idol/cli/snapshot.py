"""``main.py snapshot``: one picture of an avatar, posed from the command line."""

from __future__ import annotations

import argparse
import difflib
import io
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from idol.cli.backgrounds import BACKGROUND_HELP, KEY_NAMES, UsageError, is_picture, parse_background
from idol.cli.outputs import tell_unwritten, unwritable
from idol.face.behaviour import emotion_weights
from idol.render.background_file import BackgroundError, read_background
from idol.render.lighting import DEFAULT_LIGHTING, LIGHTINGS
from idol.seams import ARKIT_INDEX, ARKIT_NAMES, EMOTIONS, FacePose
from idol.show.whole_file import write_whole

if TYPE_CHECKING:
    from idol.avatar import Avatar

DEFAULT_AVATAR = Path(__file__).resolve().parents[2] / "avatars" / "default.vrm"
FORMATS = {
    ".png": "PNG", ".webp": "WEBP", ".jpg": "JPEG", ".jpeg": "JPEG", ".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF",
}  # fmt: skip
"""Endings of pictures and Pillow's names of them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--avatar", type=Path, help="a .vrm or .glb file (default: the idol that comes along)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=W", help="a BlendShape, e.g. jawOpen=1")
    parser.add_argument(
        "--expression", action="append", default=[], metavar="NAME=W", help="an expression of the model"
    )
    parser.add_argument("--emotion", choices=EMOTIONS, default="neutral")
    parser.add_argument("--gesture", metavar="NAME", help="a gesture of hers, e.g. wave; --at says when in it")
    parser.add_argument("--animation", type=Path, metavar="F.vrma", help="a VRM animation to pose her with")
    parser.add_argument(
        "--at", type=float, metavar="SECONDS", help="when in --gesture or --animation (default: its middle)"
    )
    parser.add_argument("--gaze", default="0,0", metavar="YAW,PITCH", help="degrees to her left and up, or: camera")
    parser.add_argument("--head", default="0,0,0", metavar="YAW,PITCH,ROLL", help="degrees, roll to her left shoulder")
    parser.add_argument("--orbit", default="0,0", metavar="YAW,PITCH", help="degrees the camera goes around her")
    parser.add_argument("--zoom", type=float, default=1.0, metavar="X", help="so many times nearer (default: 1)")
    parser.add_argument("--pan", default="0,0", metavar="RIGHT,UP", help="moves her, in heights of the picture")
    parser.add_argument("--framing", choices=("face", "bust", "full"), default="bust")
    parser.add_argument("--lighting", choices=tuple(LIGHTINGS), default=DEFAULT_LIGHTING)
    parser.add_argument("--size", default="720x720", metavar="WxH")
    parser.add_argument("--background", default="#e9e4ee", metavar="B", help=BACKGROUND_HELP)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="F.png", help=f"the picture: {', '.join(FORMATS)}"
    )
    parser.add_argument("--list", action="store_true", help="also list what the model's face can do")


def parse_size(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() and 16 <= int(part) <= 8192 for part in parts):
        raise UsageError(f"--size {text!r}: write WIDTHxHEIGHT, each within 16 to 8192, for example 1280x720.")
    return int(parts[0]), int(parts[1])


def picture_format(path: Path, background: str) -> str:
    """Pillow's name of the format that ``path`` ends in."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        given = f"ends in {path.suffix}, which is no picture this can write" if path.suffix else "has no ending"
        raise UsageError(f"--output {path} {given}. End it in {', '.join(FORMATS)}.")
    if kind == "JPEG" and background == "transparent":
        raise UsageError(f"--output {path}: a JPEG cannot be transparent. End it in .png, or choose a colour.")
    return kind


def parse_angles(option: str, text: str, count: int) -> tuple[float, ...]:
    """Radians from comma-separated degrees."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(value) and abs(value) <= 180 for value in values):
        raise UsageError(f"{option} {text!r}: write {count} numbers of degrees with commas, for example 10,-5.")
    return tuple(math.radians(value) for value in values)


def parse_shares(option: str, text: str) -> tuple[float, float]:
    """Two finite numbers."""
    try:
        right, up = (float(part) for part in text.split(","))
    except ValueError:
        right = up = math.nan
    if not (math.isfinite(right) and math.isfinite(up)):
        raise UsageError(f"{option} {text!r}: write two numbers with a comma, for example 0.2,-0.1.")
    return right, up


def parse_weight(option: str, text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        weight = float(number or "1")
    except ValueError:
        weight = math.nan
    if not 0.0 <= weight <= 1.0:
        raise UsageError(f"{option} {text!r}: write NAME=WEIGHT with a weight within 0 to 1.")
    return name.strip(), weight


def near(name: str, known: tuple[str, ...]) -> str:
    """The names that ``name`` may have meant, or all when none is near."""
    lower = {item.lower(): item for item in known}
    found = [lower[item] for item in difflib.get_close_matches(name.lower(), list(lower), 4, 0.5)]
    found += [item for item in known if name and name.lower() in item.lower() and item not in found][:4]
    if found:
        return f"Did you mean {', '.join(found)}?"
    return f"There are: {', '.join(known)}." if known else "This model has none."


def run(arguments: argparse.Namespace) -> int:
    from idol.avatar import AvatarError
    from idol.render.gl import RenderError

    try:
        return _run(arguments)
    except UsageError as error:
        print(f"snapshot: {error}", file=sys.stderr)
        return 2
    except (AvatarError, BackgroundError, RenderError) as error:
        print(f"snapshot: {error}", file=sys.stderr)
        return 1


def _begin_motion(avatar: Avatar, arguments: argparse.Namespace) -> float | None:
    """Start what --gesture or --animation ask for; returns the seconds to play, None without either."""
    from idol.avatar import load_animation
    from idol.avatar.gesture_scores import SCORES

    asked, limit = arguments.at, 600.0
    if arguments.gesture is None and arguments.animation is None:
        if asked is not None:
            raise UsageError("--at says when in a motion: give --gesture or --animation as well.")
        return None
    if arguments.gesture is not None and arguments.animation is not None:
        raise UsageError("--gesture and --animation are two motions: give one of them.")
    if asked is not None and not 0.0 <= asked <= limit:
        raise UsageError(f"--at {asked:g}: write seconds within 0 to {limit:g}.")
    if arguments.animation is not None:
        clip = load_animation(arguments.animation)
        avatar.motion.play(clip, loop=True, fade=0.0)
        return clip.duration / 2 if asked is None else asked
    if arguments.gesture not in SCORES:
        raise UsageError(
            f"--gesture {arguments.gesture}: she has no such gesture. {near(arguments.gesture, tuple(SCORES))}"
        )
    duration = avatar.motion.gesture(arguments.gesture)
    return duration / 2 if asked is None else asked


def _run(arguments: argparse.Namespace) -> int:
    from PIL import Image

    from idol.avatar import load_avatar
    from idol.render.offscreen import OffscreenStage, play_to, settle
    from idol.render.viewpoint import Viewpoint

    output: Path = arguments.output
    kind = picture_format(output, arguments.background)
    pictured = is_picture(arguments.background)
    background = (0.0, 0.0, 0.0, 1.0) if pictured else parse_background(arguments.background)
    size = parse_size(arguments.size)
    weights = np.zeros(len(ARKIT_NAMES), np.float32)
    for text in arguments.set:
        name, weight = parse_weight("--set", text)
        exact = {item.lower(): item for item in ARKIT_NAMES}.get(name.lower())
        if exact is None:
            raise UsageError(f"--set {name}: no BlendShape has this name. {near(name, ARKIT_NAMES)}")
        weights[ARKIT_INDEX[exact]] = weight
    at_camera = arguments.gaze == "camera"
    yaw, pitch = parse_angles("--gaze", "0,0" if at_camera else arguments.gaze, 2)
    head = parse_angles("--head", arguments.head, 3)
    around = parse_angles("--orbit", arguments.orbit, 2)
    aside = parse_shares("--pan", arguments.pan)
    if not 0.0 < arguments.zoom <= 100.0:
        raise UsageError(f"--zoom {arguments.zoom}: write a number above 0, at most 100; 2 is twice as near.")
    wrong = unwritable({"--output": output})
    if wrong:
        raise UsageError(wrong)
    avatar = load_avatar(arguments.avatar or DEFAULT_AVATAR)
    for text in arguments.expression:
        name, weight = parse_weight("--expression", text)
        if name not in avatar.expression_names:
            raise UsageError(f"--expression {name}: not in this model. {near(name, avatar.expression_names)}")
        avatar.set_expression(name, weight)
    if arguments.emotion != "neutral":
        weights = np.maximum(weights, emotion_weights(arguments.emotion))  # as the show mixes it in
    at = _begin_motion(avatar, arguments)
    if arguments.list:
        print(f"{avatar.title}: {len(avatar.arkit_names)} of 52 BlendShapes; gaze by {avatar.gaze.kind}")
        print("expressions:", ", ".join(avatar.expression_names) or "none")
    pose = FacePose(weights=weights, head=(head[0], head[1], head[2]), gaze=(yaw, pitch), emotion=arguments.emotion)
    behind = read_background(Path(arguments.background)) if pictured else None
    aspect = size[0] / size[1]
    view = Viewpoint(arguments.framing).orbited(around[0], around[1])
    view = view.zoomed(arguments.zoom, avatar.framing, aspect).panned(aside[0], aside[1], avatar.framing, aspect)
    with OffscreenStage() as stage:
        stage.renderer.lighting = LIGHTINGS[arguments.lighting]
        stage.load(avatar)
        if at is None:
            settle(avatar, pose)
        else:
            play_to(avatar, pose, at)
        camera = view.camera(avatar.framing, aspect)
        if at_camera:
            avatar.update(replace(pose, gaze=avatar.gaze_at(camera.eye)), 0.0)
        pixels = stage.picture(
            camera, size, background,
            behind=behind, key=KEY_NAMES.get(arguments.background, ""),
        )  # fmt: skip
    picture = Image.fromarray(pixels, "RGBA" if pixels.shape[2] == 4 else None)
    encoded = io.BytesIO()
    (picture.convert("RGB") if kind == "JPEG" else picture).save(encoded, kind)
    try:
        write_whole(output, encoded.getvalue())
    except OSError as error:
        tell_unwritten(error)
        return 1
    print(output)
    return 0
