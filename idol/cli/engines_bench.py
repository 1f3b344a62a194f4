"""``main.py engines bench``: how fast each engine is here, alone, on the card or on the processor."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engines.errors import EngineError
from idol.cli.engines_choice import BadInput, choose_models
from idol.cli.outputs import unwritable

if TYPE_CHECKING:
    from engines.models.trt_parts import LocalModel
    from engines.trt.device import Device
    from idol.cli.engines_timing import Timing
    from idol.settings import Settings

FACE = "face"


def add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME",
        help="a model here, a path, 'kokoro', 'face' or 'all'; again for more (default: all)",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=5.0, metavar="N", help="for each figure (default 5)")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="save the figures here")


def run_bench(arguments: argparse.Namespace) -> int:
    from engines.trt.flavours import choose
    from idol.settings import load_settings

    if not 0.05 <= arguments.seconds <= 600:
        raise BadInput(f"--seconds is {arguments.seconds:g}.", "Give 0.05 to 600.")
    names = arguments.model or ["all"]
    face = FACE in names or "all" in names
    models = [name for name in names if name != FACE]
    chosen = choose_models(models, voice=False) if models else []
    output: Path | None = arguments.output
    if output is not None and not output.parent.is_dir():
        raise BadInput(f"{output} cannot be written: there is no folder {output.parent}.", "Name another file with -o.")
    wrong = unwritable({"--output": output})
    if wrong:
        raise BadInput(wrong)
    settings, _ = load_settings()
    choice = choose(settings.engines.runtime)
    device: Device | None = None
    if choice.flavour is not None and chosen:
        from engines.trt.device import Device

        device = Device(choice)
    where = device.label if device is not None else f"the CPU ({choice.reason}), {os.cpu_count()} cores"
    print(f"engines run on {where}", flush=True)
    rows: list[Timing] = []
    troubles: list[str] = []
    try:
        for model in chosen:
            _collect(rows, troubles, model.name, partial(_time, model, device, arguments.seconds, settings))
        if face:
            from idol.cli.engines_timing import time_face

            _collect(rows, troubles, FACE, partial(time_face, arguments.seconds))
    except KeyboardInterrupt:
        troubles.append("cancelled; the figures above stand")
    finally:
        if device is not None:
            device.close()
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    if output is not None:
        _save(output, rows, troubles, where)
        print(f"saved {output}")
    return 130 if "cancelled; the figures above stand" in troubles else 1 if troubles else 0


def _time(model: LocalModel, device: Device | None, seconds: float, settings: Settings) -> list[Timing]:
    from idol.cli.engines_timing import time_chat, time_voice

    if model.kind == "voice":
        return time_voice(model, device, seconds, settings.llm.threads, _progress(model.name))
    return time_chat(model, device, seconds, settings.llm.threads, settings.llm.context, _progress(model.name))


def _collect(rows: list[Timing], troubles: list[str], name: str, work: Callable[[], list[Timing]]) -> None:
    """Time and print; what fails is told and the rest goes on."""
    try:
        made = work()
    except EngineError as error:
        troubles.append(f"{name}: {error}")
        return
    print_rows(made, heads=not rows)
    rows += made


def print_rows(rows: Sequence[Timing], *, heads: bool) -> None:
    """In ms, except the rate."""
    if heads:
        print(
            f"{'engine':<20}{'what':<28}{'runs':>6}{'median':>10}{'p95':>10}{'p99':>10}{'sd':>9}  {'rate':<26}runtime"
        )
    for row in rows:
        summary = row.summary
        figures = f"{summary.median:>10.3f}{summary.p95:>10.3f}{summary.p99:>10.3f}{summary.sd:>9.3f}"
        rate = f"{row.rate:.3g} {row.unit}" if row.unit else ""
        print(f"{row.engine:<20}{row.what:<28}{summary.count:>6}{figures}  {rate:<26}{row.runtime}", flush=True)


def _progress(name: str) -> Callable[[float, str], None]:
    from idol.cli.engines_progress import BuildBar

    bar = BuildBar(0)
    show = bar.preparing(name)

    def tell(fraction: float, text: str) -> None:
        if fraction < 1:
            show(fraction, text)
        else:
            bar.end()

    return tell


def _save(path: Path, rows: Sequence[Timing], troubles: Sequence[str], where: str) -> None:
    import onnxruntime

    from idol.show.report import write_json

    document: dict[str, object] = {
        "where": where,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "rows": [row.document() for row in rows],
        "troubles": list(troubles),
    }
    try:
        write_json(path, document)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", "Name another file with -o.") from error
