"""``main.py engines``: what the models run on here, and the plans TensorRT has built for this machine."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("list", "forget"), help="list: runtimes and plans; forget: build all plans anew next time"
    )


def run(arguments: argparse.Namespace) -> int:
    from engines.store import built_dir
    from engines.trt.flavours import choose, installed
    from engines.trt.plans import known_plans

    folder = built_dir() / "plans"
    if arguments.action == "forget":
        old = [path for pattern in ("*.plan", "*.json", "*.failed") for path in folder.glob(pattern)]
        for path in old:
            path.unlink(missing_ok=True)
        plans = sum(path.suffix == ".plan" for path in old)
        print(f"{plans} plans forgotten; they are built again at the next start.")
        return 0
    for flavour in installed():
        print(f"installed: {flavour.label}")
    choice = choose()
    print(f"engines run on: {choice.flavour.label if choice.flavour else 'the CPU'} ({choice.reason})")
    for path, note in known_plans():
        size = path.stat().st_size / 1e6
        print(f"{note.get('name', path.stem)}: {size:.0f} MB, built in {note.get('seconds', '?')} s, {path.name}")
    for path in sorted(folder.glob("*.failed")):
        print(f"{path.stem}: could not be built: {path.read_text(encoding='utf-8', errors='replace')[:200]}")
    return 0
