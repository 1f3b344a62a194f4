"""``main.py engines``: what the models run on here, and the plans TensorRT has built for this machine."""

from __future__ import annotations

import argparse
import sys

from idol.cli.engines_build import add_build_arguments

_VERBS = {
    "list": "runtimes, models and the plans of each of their parts",
    "build": "build plans ahead of time, also for cards that are not here",
    "forget": "delete all plans; they are built anew at the next start",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True)
    parsers = {name: verbs.add_parser(name, help=text, description=text) for name, text in _VERBS.items()}
    add_build_arguments(parsers["build"])


def run(arguments: argparse.Namespace) -> int:
    from engines.errors import Cancelled, EngineError
    from engines.trt.build import StorageError
    from idol.cli.engines_build import run_build
    from idol.cli.engines_choice import BadInput

    verbs = {"build": run_build, "list": _list, "forget": _forget}
    try:
        return verbs[arguments.verb](arguments)
    except Cancelled as error:
        print(error, file=sys.stderr)
        return 130
    except (BadInput, StorageError) as error:
        print(error, file=sys.stderr)
        return 2
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1


def _forget(arguments: argparse.Namespace) -> int:
    from engines.trt.plans import plans_dir

    old = [path for pattern in ("*.plan", "*.json", "*.failed") for path in plans_dir().glob(pattern)]
    for path in old:
        path.unlink(missing_ok=True)
    plans = sum(path.suffix == ".plan" for path in old)
    print(f"{plans} plans forgotten; they are built again at the next start.")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from engines.trt.flavours import choose, installed
    from engines.trt.plans import known_plans, plans_dir

    for flavour in installed():
        print(f"installed: {flavour.label}")
    choice = choose()
    print(f"engines run on: {choice.flavour.label if choice.flavour else 'the CPU'} ({choice.reason})")
    for path, note in known_plans():
        size = path.stat().st_size / 1e6
        print(f"{note.get('name', path.stem)}: {size:.0f} MB, built in {note.get('seconds', '?')} s, {path.name}")
    for path in sorted(plans_dir().glob("*.failed")):
        print(f"{path.stem}: could not be built: {path.read_text(encoding='utf-8', errors='replace')[:200]}")
    return 0
