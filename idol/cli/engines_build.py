"""``main.py engines build``: plans ahead of time, with a bar that tells how far they are."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engines.errors import EngineError
from idol.cli.engines_choice import BadInput, Builder, choose_builder, choose_models
from idol.cli.engines_progress import BuildBar, print_summary

if TYPE_CHECKING:
    from engines.models.trt_parts import EnginePart, LocalModel
    from engines.trt.jobs import Job, Outcome


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME",
        help="a model here (see: engines list), a path, or 'all'; again for more. "
        "Default: the voice and the language model of the settings",
    )  # fmt: skip
    parser.add_argument("--voice", action="store_true", help="the voice (with --model: as well)")
    add_builder_arguments(parser)
    parser.add_argument("--context", type=int, metavar="TOKENS", help="of language models; default: as in the settings")
    parser.add_argument("--force", action="store_true", help="build anew what is there, and what failed before")


def add_builder_arguments(parser: argparse.ArgumentParser) -> None:
    """``--target``, ``--flavour``, ``--jobs``: shared by all commands that build."""
    parser.add_argument(
        "--target", action="append", default=[], metavar="CARDS",
        help="for which cards: sm86 (RTX 30), sm89 (RTX 40), sm120 (RTX 50), this (default); several with commas. "
        "Cards that are not here need TensorRT-RTX",
    )  # fmt: skip
    parser.add_argument(
        "--flavour",
        default="auto",
        metavar="NAME",
        help="tensorrt_rtx, tensorrt or tensorrt_8; default: what runs here",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N",
        help="builds side by side (default 1; flavours that time kernels on the card are disturbed by more)",
    )  # fmt: skip


def run_build(arguments: argparse.Namespace) -> int:
    from engines.trt.jobs import check_storage, expected_bytes, run_jobs
    from engines.trt.plans import plan_path, plans_dir

    at_once = checked_jobs(arguments.jobs)
    builder = choose_builder(arguments.flavour, arguments.target)
    models = choose_models(arguments.model, arguments.voice)
    context = _context(arguments.context)
    check_storage(plans_dir(), 0)
    print(f"{builder.flavour.label} builds {', '.join(model.name for model in models)} in {plans_dir()}", flush=True)
    bar = BuildBar(0)
    try:
        parts, troubles = prepare(models, builder, context, bar.preparing)
        jobs = [
            _job(part.at((target,) if target else ()), builder, arguments.force)
            for part in parts
            for target in builder.targets
        ]
        missing = [
            expected_bytes(part.forms[0])
            for part in parts
            for target in builder.targets
            if arguments.force
            or not plan_path(part.at((target,) if target else ()).forms[0], builder.flavour, builder.card).exists()
        ]
        check_storage(plans_dir(), sum(missing))
        bar = BuildBar(len(jobs))
        outcomes = run_jobs(jobs, bar, at_once)
    except KeyboardInterrupt:
        bar.end()
        print("cancelled; nothing half done is left", file=sys.stderr)
        return 130
    finally:
        bar.end()
    return finish(outcomes, troubles)


def finish(outcomes: Sequence[Outcome], troubles: Sequence[str]) -> int:
    """Say how it went; the exit status."""
    from engines.trt.build import StorageError

    if outcomes:
        print_summary(outcomes)
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    failed = [outcome for outcome in outcomes if outcome.result == "failed"]
    for outcome in failed:
        print(f"{outcome.job.name}: {_told(outcome.error)}", file=sys.stderr)
    if any(isinstance(outcome.error, StorageError) for outcome in failed) or (troubles and not outcomes):
        return 2
    if any(outcome.result == "cancelled" for outcome in outcomes):
        done = sum(outcome.made is not None for outcome in outcomes)
        print(
            f"cancelled; {done} of {len(outcomes)} plans are there and kept, nothing half done is left", file=sys.stderr
        )
        return 130
    return 1 if failed or troubles else 0


def _told(error: EngineError | None) -> str:
    """The error without what the program does about it when it starts: nothing of the kind happens here."""
    if error is None:
        return ""
    return error.message if error.remedy.startswith("The next form") else str(error)


def prepare(
    models: Sequence[LocalModel],
    builder: Builder,
    context: int,
    preparing: Callable[[str], Callable[[float, str], None]],
) -> tuple[list[EnginePart], list[str]]:
    """Graphs of all ``models``, made where they are missing; and what is wrong with models that have none."""
    from engines.models.trt_parts import engine_parts
    from engines.trt.build import StorageError

    parts: list[EnginePart] = []
    troubles = []
    for model in models:
        try:
            parts += engine_parts(model, builder.flavour, context=context, progress=preparing(model.name))
        except StorageError:
            raise
        except EngineError as error:
            troubles.append(f"{model.name}: {error}")
    return parts, troubles


def checked_jobs(wanted: int) -> int:
    most = 4 * (os.cpu_count() or 1)
    if not 1 <= wanted <= most:
        raise BadInput(f"--jobs is {wanted}.", f"Give 1 to {most}.")
    return wanted


def _context(wanted: int | None) -> int:
    from idol.settings import load_settings

    if wanted is None:
        return load_settings()[0].llm.context
    if not 16 <= wanted <= 32768:
        raise BadInput(f"--context is {wanted} tokens.", "Give 16 to 32768.")
    return wanted


def _job(part: EnginePart, builder: Builder, force: bool) -> Job:
    from engines.trt.jobs import build_job

    return build_job(
        part.label, part.forms, builder.flavour, builder.card, force=force, expected=earlier_seconds(part.forms[0].name)
    )


def earlier_seconds(name: str) -> float:
    """How long the longest earlier build of ``name`` took; 0 when there was none."""
    from engines.trt.plans import known_plans

    times = [note["seconds"] for _, note in known_plans() if note.get("name") == name and "seconds" in note]
    return max((float(time) for time in times if isinstance(time, int | float)), default=0.0)
