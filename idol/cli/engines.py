"""``main.py engines``: what the models run on here, and the plans TensorRT has built for this machine."""

from __future__ import annotations

import argparse
import sys

from idol.cli.engines_bench import add_bench_arguments
from idol.cli.engines_build import add_build_arguments
from idol.cli.engines_matrix import add_matrix_arguments
from idol.cli.engines_verify import add_prune_arguments

_VERBS = {
    "list": "runtimes, models and the plans of each of their parts",
    "build": "build plans ahead of time, also for cards that are not here",
    "matrix": "build every graph for every card family, for checks and packages; needs no card",
    "verify": "read every plan: is it whole, does it belong to the models here, does it load",
    "prune": "remove plans that are damaged or that no model here uses any more",
    "bench": "time every engine here, alone, on the card or on the processor",
    "forget": "delete all plans; they are built anew at the next start",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True)
    parsers = {name: verbs.add_parser(name, help=text, description=text) for name, text in _VERBS.items()}
    add_build_arguments(parsers["build"])
    add_matrix_arguments(parsers["matrix"])
    add_prune_arguments(parsers["prune"])
    add_bench_arguments(parsers["bench"])


def run(arguments: argparse.Namespace) -> int:
    from engines.errors import Cancelled, EngineError
    from engines.trt.build import StorageError
    from idol.cli.engines_bench import run_bench
    from idol.cli.engines_build import run_build
    from idol.cli.engines_choice import BadInput
    from idol.cli.engines_list import run_list
    from idol.cli.engines_matrix import run_matrix
    from idol.cli.engines_verify import run_prune, run_verify

    verbs = {
        "list": run_list, "build": run_build, "matrix": run_matrix, "verify": run_verify, "prune": run_prune,
        "bench": run_bench, "forget": _forget,
    }  # fmt: skip
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
        return 2 if error.remedy.startswith("Free disk space") else 1  # the models' own errors say so too


def _forget(arguments: argparse.Namespace) -> int:
    from engines.trt.plans import plans_dir

    old = [path for pattern in ("*.plan", "*.json", "*.failed") for path in plans_dir().glob(pattern)]
    for path in old:
        path.unlink(missing_ok=True)
    plans = sum(path.suffix == ".plan" for path in old)
    print(f"{plans} plans forgotten; they are built again at the next start.")
    return 0
