"""``main.py engines verify`` and ``prune``: are the plans whole, do they still belong to the models, do they load."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engines.models.trt_parts import LocalModel
    from engines.trt.flavours import Flavour
    from engines.trt.plans import BuildRequest
    from engines.trt.verify import CheckedPlan, Expected


def add_prune_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def run_verify(arguments: argparse.Namespace) -> int:
    from engines.trt.flavours import choose, find_card
    from engines.trt.plans import plans_dir
    from engines.trt.verify import check_loading

    checked = _checked()
    if not checked:
        print(f"no plans in {plans_dir()}")
        return 0
    choice, card = choose(), find_card()
    why = f"no card ({card})" if isinstance(card, str) else choice.reason
    checked = check_loading(checked, choice.flavour, choice.card, why)
    for plan in checked:
        targets = ",".join(f"SM{target}" for target in plan.targets)
        reason = f": {plan.reason}" if plan.reason else ""
        print(f"{plan.path.name} ({plan.bytes / 1e6:.1f} MB, {plan.flavour} {targets}): {plan.state}{reason}")
    for said in dict.fromkeys(plan.loaded for plan in checked):
        print(f"{sum(plan.loaded == said for plan in checked)} {said}")
    damaged = [plan for plan in checked if plan.state == "damaged"]
    stale = [plan for plan in checked if plan.state == "stale"]
    good = sum(plan.state == "good" for plan in checked)
    print(f"{len(checked)} plans: {good} good, {len(damaged)} damaged, {len(stale)} stale")
    if damaged or stale:
        size = sum(plan.bytes for plan in (*damaged, *stale)) / 1e6
        print(f"remove the damaged and the stale ones ({size:.1f} MB): main.py engines prune")
    return 1 if damaged else 0


def run_prune(arguments: argparse.Namespace) -> int:
    from engines.errors import EngineError
    from engines.trt.verify import remove, rubbish

    checked = _checked()
    reasons = {plan.path: f"{plan.state}: {plan.reason}" for plan in checked}
    paths = rubbish(checked)
    for path in paths:
        size = path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.rglob("*"))
        if path in reasons or path.with_suffix(".plan") not in reasons:
            print(f"{path.name} ({size / 1e6:.1f} MB), {reasons.get(path, 'left behind by a build that was ended')}")
    if not paths:
        print("nothing to remove")
        return 0
    if arguments.dry_run:
        print("nothing was removed (--dry-run)")
        return 0
    freed, kept = remove(paths)
    print(f"{freed / 1e6:.1f} MB removed")
    if kept:
        raise EngineError("; ".join(kept) + ".", "Close the program and try again.")
    return 0


def _checked() -> list[CheckedPlan]:
    from engines.trt.flavours import find_card, installed
    from engines.trt.verify import check_plans

    card = find_card()
    models = known_models()
    return check_plans(lambda flavour: _expected(models, flavour), installed(), None if isinstance(card, str) else card)


def known_models() -> list[LocalModel]:
    """Models here, and the one that the settings name by its path."""
    from engines.errors import EngineError
    from engines.models.trt_parts import find_model, local_models
    from idol.settings import load_settings

    models = local_models()
    wanted = load_settings()[0].llm.model
    if wanted != "auto" and all(model.name != wanted for model in models):
        with contextlib.suppress(EngineError):  # what the settings name may be gone; show and doctor say so
            models.append(find_model(wanted))
    return models


def _expected(models: Iterable[LocalModel], flavour: Flavour) -> Expected:
    from engines.errors import EngineError
    from engines.models.trt_parts import engine_parts, plan_base
    from engines.trt.verify import Expected
    from idol.settings import load_settings

    context = load_settings()[0].llm.context
    requests: dict[str, Sequence[BuildRequest]] = {}
    complete = True
    for model in models:
        try:
            for part in engine_parts(model, flavour, context=context, make=False):
                base = plan_base(model, part.part)
                requests[base] = (*requests.get(base, ()), *part.forms)
        except EngineError:
            complete = False  # ``models verify`` says what is wrong with it
    return Expected(requests, complete)
