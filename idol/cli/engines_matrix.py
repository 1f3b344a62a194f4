"""``main.py engines matrix``: every graph of every family for every card family, without a card."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from idol.cli.engines_build import checked_jobs, finish
from idol.cli.engines_choice import BadInput
from idol.cli.engines_progress import BuildBar

if TYPE_CHECKING:
    from engines.models.decoder_config import DecoderConfig
    from engines.models.trt_parts import LocalModel
    from engines.trt.flavours import Flavour
    from engines.trt.jobs import Outcome
    from engines.trt.matrix import MatrixPart, MatrixTable

_QUICK = {"kokoro B": (86, 89), "kokoro S": (89, 120)}
"""What ``--quick`` builds of the voice besides SM89."""
_CONTEXT = 2048


def add_matrix_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("engine_matrix"), metavar="DIR",
        help="where plans, matrix.md and matrix.json go (default: engine_matrix); started again it goes on there",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true",
        help="what the tests build: the voice for SM89, of it one part each for SM86 and SM120, one decoder per family",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="builds side by side (default 1; each takes a core and memory)"
    )


def run_matrix(arguments: argparse.Namespace) -> int:
    from engines.trt.jobs import check_storage, expected_bytes, run_jobs
    from engines.trt.matrix import MatrixTable, matrix_jobs

    at_once = checked_jobs(arguments.jobs)
    flavour = _flavour()
    folder: Path = arguments.output.expanduser()
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file.", "Name a folder with -o.")
    check_storage(folder, 0)
    print(f"{flavour.label} builds into {folder}", flush=True)
    bar = BuildBar(0)
    try:
        parts = matrix_parts(folder, flavour, arguments.quick, bar.preparing)
        check_storage(folder, sum(expected_bytes(part.request) for part in parts))
        table = MatrixTable(folder, flavour, parts)
        jobs = matrix_jobs(parts, flavour, folder)
        bar = _SavingBar(len(jobs), table)
        outcomes = run_jobs(jobs, bar, at_once)
    except KeyboardInterrupt:
        bar.end()
        print("cancelled; start again to go on", file=sys.stderr)
        return 130
    finally:
        bar.end()
    table.save()
    status = finish(outcomes, [])
    print(f"saved {folder / 'matrix.md'} and {folder / 'matrix.json'}")
    return status


class _SavingBar(BuildBar):
    """Saves the table after every cell."""

    def __init__(self, total: int, table: MatrixTable) -> None:
        super().__init__(total)
        self._table = table

    def ended(self, outcome: Outcome) -> None:
        super().ended(outcome)
        self._table.add(outcome)


def matrix_parts(
    folder: Path, flavour: Flavour, quick: bool, preparing: Callable[[str], Callable[[float, str], None]]
) -> list[MatrixPart]:
    """Rows of the table, their graphs made where they are missing: the voice, and decoders of every family.

    The decoders: a published model of each family, and (without ``quick``) whatever other sizes are on this machine.
    """
    from engines.models.decoder_trt import decoder_requests, plan_name
    from engines.models.published_sizes import PUBLISHED
    from engines.models.trt_parts import DECODER_PARTS, engine_parts, local_models
    from engines.trt.matrix import TARGETS, MatrixPart

    models = local_models()
    rows: list[MatrixPart] = []
    for model in models:
        if model.kind == "voice":
            for part in engine_parts(model, flavour, progress=preparing(model.name)):
                targets = _QUICK.get(part.label, (89,)) if quick else TARGETS
                rows.append(MatrixPart(part.label, part.forms[0], targets))
    if not rows:
        raise BadInput("The voice is not on this machine.", "Fetch it: main.py models fetch kokoro.")
    decoders = dict(PUBLISHED.values())
    if not quick:
        decoders |= _others(models, {plan_name(config) for config in decoders.values()})
    for name, config in decoders.items():
        requests = decoder_requests(folder / "graphs" / name, config, min(_CONTEXT, config.context))
        for part_name, request in zip(DECODER_PARTS, requests, strict=True):
            rows.append(MatrixPart(f"{name} {part_name}", request))
    return rows


def _others(models: list[LocalModel], known: set[str]) -> dict[str, DecoderConfig]:
    """Language models here whose sizes are not known yet."""
    from engines.errors import EngineError
    from engines.models.decoder_trt import plan_name
    from engines.models.families import model_config

    found = {}
    for model in models:
        if model.kind != "llm":
            continue
        try:
            config = model_config(model.path)
        except EngineError as error:
            print(f"{model.name} is left out: {error}", file=sys.stderr)
            continue
        if plan_name(config) not in known:
            known.add(plan_name(config))
            found[model.name] = config
    return found


def _flavour() -> Flavour:
    from engines.trt.flavours import installed

    for flavour in installed():
        if flavour.builds_without_gpu:
            return flavour
    raise BadInput(
        "The matrix needs TensorRT-RTX, which builds for cards that are not here; it is not installed.",
        "Install it: pip install tensorrt_rtx_cu13_libs tensorrt_rtx_cu13_bindings.",
    )
