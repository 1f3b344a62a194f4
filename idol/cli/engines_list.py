"""``main.py engines list``: what the models run on here, and the plan of every part of every model."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engines.models.trt_parts import EnginePart
    from engines.trt.flavours import Card, Flavour

Row = tuple[str, ...]
_HEADS: Row = ("model", "part", "plan", "target", "flavour", "MB", "seconds", "key or reason")


def run_list(arguments: argparse.Namespace) -> int:
    from engines.errors import EngineError
    from engines.models.trt_parts import engine_parts
    from engines.trt.flavours import choose, find_card, installed
    from engines.trt.plans import known_plans, plans_dir
    from idol.cli.engines_verify import known_models
    from idol.settings import load_settings

    flavours = installed()
    for flavour in flavours:
        print(f"installed: {flavour.label}")
    choice = choose(load_settings()[0].engines.runtime)
    print(f"engines run on: {choice.flavour.label if choice.flavour else 'the CPU'} ({choice.reason})")
    print(f"plans are kept in {plans_dir()}")
    card = find_card()
    rows: list[Row] = []
    context = load_settings()[0].llm.context
    for model in known_models():
        if not flavours:
            rows += [(model.name, part, "none", "-", "-", "-", "-", "no TensorRT installed") for part in model.parts]
        for flavour in flavours:
            try:
                parts = engine_parts(model, flavour, context=context, make=False)
            except EngineError as error:
                rows.append((model.name, "*", "none", "-", flavour.name, "-", "-", error.message))
                continue
            for part in parts:
                rows += part_rows(part, flavour, None if isinstance(card, str) else card)
    if not rows:
        print("no model is on this machine; fetch the usual ones: main.py models fetch default")
        return 0
    _print_table(rows)
    others = len(known_plans()) - sum(row[2] in ("present", "damaged") for row in rows)
    if others:
        print(f"{others} more plans belong to none of these: main.py engines verify")
    return 0


def part_rows(part: EnginePart, flavour: Flavour, card: Card | None) -> list[Row]:
    """A row for each target that has a plan or failed to get one; else one that says what is missing."""
    from engines.trt.flavours import RTX_TARGETS
    from engines.trt.plans import plan_note, plan_path

    if not part.forms:
        return [(part.model, part.part, "missing", "-", flavour.name, "-", "-", "the graph is not made yet")]
    rows: list[Row] = []
    targets: list[tuple[int, ...]] = [(number,) for number in RTX_TARGETS] if flavour.builds_without_gpu else [()]
    for target in targets:
        label = f"SM{target[0]}" if target else (card.name if card is not None else "card")
        failed = ""
        for form in part.at(target).forms:
            path = plan_path(form, flavour, card)
            if path.exists():
                note, size = plan_note(path), path.stat().st_size
                # Only what a look at the sizes tells; ``verify`` reads the files.
                state = "present" if size == note.get("bytes") else "damaged"
                seconds, key = str(note.get("seconds", "?")), path.stem.rpartition("-")[2]
                rows.append((part.model, part.part, state, label, flavour.name, f"{size / 1e6:.1f}", seconds, key))
                break
            if path.with_suffix(".failed").exists():
                failed = short_reason(path.with_suffix(".failed").read_text(encoding="utf-8", errors="replace"))
        else:
            here = not target or (card is not None and target == (card.capability,))
            if failed or (here and card is not None):
                state = "failed" if failed else "missing"
                rows.append(
                    (
                        part.model,
                        part.part,
                        state,
                        label,
                        flavour.name,
                        "-",
                        "-",
                        failed or "not built: main.py engines build",
                    )
                )
    return rows or [(part.model, part.part, "missing", "-", flavour.name, "-", "-", "not built: main.py engines build")]


def short_reason(text: str) -> str:
    """The sentence of a builder's message that names the layer, at most 140 characters."""
    words = " ".join(text.split())
    found = re.search(r"Cannot compile operation .*?(?=\. In |$)|node \S+ \(.*", words)
    return (found.group() if found else words)[:140]


def _print_table(rows: list[Row]) -> None:
    widths = [max(len(row[column]) for row in (_HEADS, *rows)) for column in range(len(_HEADS) - 1)]
    for row in (_HEADS, *rows):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[-1]]))
