"""``main.py avatar``: what an avatar file holds, and what its author permits."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idol.cli.snapshot import DEFAULT_AVATAR

if TYPE_CHECKING:
    from idol.avatar import Avatar
    from idol.avatar.clips import Clip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="F", help="a .vrm or .glb file (default: the idol that comes along)"
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(arguments: argparse.Namespace) -> int:
    from idol.avatar import Avatar, AvatarError
    from idol.avatar.clips import read_clips
    from idol.avatar.container import read_container
    from idol.avatar.loading import read_avatar

    path: Path = arguments.file or DEFAULT_AVATAR
    try:
        container = read_container(path)
        avatar = Avatar(read_avatar(container, path.stem))
        clips = read_clips(container)
    except AvatarError as error:
        print(f"avatar: {error}", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(_as_data(avatar, clips), ensure_ascii=False, indent=2))
    else:
        print("\n".join(_as_text(avatar, clips)))
    return 0


def _as_data(avatar: Avatar, clips: list[Clip]) -> dict[str, Any]:
    from idol.avatar.licence import describe_terms

    data = avatar.data
    return {
        "vrm": data.vrm_version,
        "terms": asdict(describe_terms(data.meta)),
        "counts": asdict(data.stats),
        "human_bones": sorted(data.human_bones),
        "expressions": {name: item.bind_count for name, item in data.expressions.items()},
        "arkit": list(avatar.arkit_names),
        "look_at": data.look_at.kind if data.look_at else None,
        "springs": [len(spring.joints) for spring in data.springs],
        "colliders": len(data.colliders),
        "constraints": len(data.constraints),
        "animations": [{"name": clip.name, "seconds": clip.duration} for clip in clips],
        "warnings": data.warnings,
    }


def _as_text(avatar: Avatar, clips: list[Clip]) -> list[str]:
    from idol.avatar.licence import describe_terms

    data, stats = avatar.data, avatar.data.stats
    pixels = sum(texture.pixels.shape[0] * texture.pixels.shape[1] for texture in data.textures)
    rows = [
        ("File", f"VRM {data.vrm_version}" if data.vrm_version else "glTF 2.0 without VRM"),
        ("Exporter", stats.generator),
        ("Meshes", f"{stats.triangles} triangles, {stats.vertices} vertices in {stats.primitives} parts"),
        ("Morphs", f"{sum(stats.morph_targets_per_mesh)}, of them {len(avatar.arkit_names)} of the 52 BlendShapes"),
        ("Bones", f"{len(data.human_bones)} human bones, {sum(stats.skin_joints)} joints, {stats.nodes} nodes"),
        ("Materials", f"{stats.materials}, {stats.textures} textures of {pixels / 1e6:.1f} million pixels in all"),
        ("Face", ", ".join(data.expressions) or "no expressions"),
        ("Gaze", f"by {avatar.gaze.kind}"),
        ("Springs", f"{len(data.springs)} chains, {len(data.colliders)} colliders"),
        ("Clips", ", ".join(f"{clip.name or 'unnamed'} ({clip.duration:.1f} s)" for clip in clips)),
    ]
    lines = [f"{name + ':':<11}{text}" for name, text in rows if text]
    lines += [f"{'Beware:':<11}{text}" for text in data.warnings]
    return [*describe_terms(data.meta).lines(), "", *("".join(c for c in line if c.isprintable()) for line in lines)]
