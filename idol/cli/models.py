"""``main.py models``: list, fetch, verify, add and remove model files."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from engines.errors import Cancelled, EngineError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="what there is, what is here, and where")
    fetch = verbs.add_parser("fetch", help="fetch models or sets (default, small, test)")
    fetch.add_argument("names", nargs="*", default=["default"], metavar="ID|SET")
    verify = verbs.add_parser("verify", help="read all files and check their SHA-256")
    verify.add_argument("names", nargs="*", metavar="ID|SET")
    add = verbs.add_parser("add", help="use your own model: a GGUF file or a safetensors folder")
    add.add_argument("path", type=Path)
    add.add_argument("--name", default="", help="the name to call it by")
    add.add_argument("--copy", action="store_true", help="copy it into the models' folder")
    remove = verbs.add_parser("remove", help="delete a fetched model's files, or forget an added one")
    remove.add_argument("name", metavar="ID")


def run(arguments: argparse.Namespace) -> int:
    try:
        status: int = {"list": _list, "fetch": _fetch, "verify": _verify, "add": _add, "remove": _remove}[
            arguments.verb
        ](arguments)
    except Cancelled as error:
        print(f"\n{error}", file=sys.stderr)
        return 130
    except EngineError as error:
        print(f"\n{error}" if sys.stderr.isatty() else str(error), file=sys.stderr)
        return 1
    return status


def _list(arguments: argparse.Namespace) -> int:
    from engines.added import added_models
    from engines.catalogue import load_catalogue
    from engines.store import files_dir

    catalogue = load_catalogue()
    print(f"models are kept in {files_dir()}")
    for model in catalogue.models.values():
        missing = model.missing()
        state = "here" if not missing else "not here" if len(missing) == len(model.files) else "incomplete"
        print(
            f"{model.id:<20} {state:<11}{_size(model.bytes):>8}  {model.licence:<11} {','.join(model.languages):<9} {model.what}"
        )
    for name, path in added_models().items():
        print(f"{name:<20} {'added' if path.exists() else 'missing':<11} {path}")
    for name, ids in catalogue.sets.items():
        print(f"set {name}: {', '.join(ids)}")
    return 0


def _fetch(arguments: argparse.Namespace) -> int:
    from engines.catalogue import load_catalogue
    from engines.fetch import Fetcher
    from engines.store import files_dir

    models = load_catalogue().select(arguments.names or ["default"])
    todo = [model for model in models if model.missing()]
    if not todo:
        print("all files are here")
        return 0
    total = sum(file.bytes for model in todo for file in model.missing())
    print(f"fetching {_size(total)} to {files_dir()}")
    bar = ProgressBar()
    cancelled = False

    def cancel() -> bool:
        return cancelled

    try:
        Fetcher(todo, bar.show, cancel).run()
    except KeyboardInterrupt:
        bar.end()
        print("cancelled; what has arrived is kept, start again to go on", file=sys.stderr)
        return 130
    bar.end()
    print("all files are here")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from engines.catalogue import load_catalogue
    from engines.fetch import verify

    catalogue = load_catalogue()
    chosen = catalogue.select(arguments.names or list(catalogue.models))
    bad = 0
    for model in chosen:
        if not arguments.names and len(model.missing()) == len(model.files):
            continue  # never fetched
        problems = verify(model)
        print(f"{model.id}: {'good' if not problems else 'damaged'}")
        for problem in problems:
            print(f"  {problem}")
            damaged = model.folder / problem.split(" ")[0]
            if damaged.exists():
                damaged.unlink()
        if problems:
            bad += 1
            print(f"  damaged files were deleted; fetch them again: main.py models fetch {model.id}")
    return 1 if bad else 0


def _add(arguments: argparse.Namespace) -> int:
    from engines.added import add_model

    name, summary = add_model(arguments.path, name=arguments.name, copy=arguments.copy)
    print(
        f"added {name}: {summary.name}, {summary.family}, {summary.parameters / 1e6:.0f} million weights, "
        f"{summary.quantisation}, context {summary.context}"
    )
    print(f"use it: main.py --model {name}")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    import shutil

    from engines.added import added_models, remove_model
    from engines.catalogue import load_catalogue

    if arguments.name in added_models():
        path = remove_model(arguments.name)
        print(f"forgot {arguments.name} ({path})")
        return 0
    (model,) = load_catalogue().select([arguments.name])[:1]
    shutil.rmtree(model.folder, ignore_errors=True)
    print(f"deleted {model.folder}")
    return 0


def _size(count: float) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


class ProgressBar:
    """One line that is rewritten on a terminal, a line every ten seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._last = 0.0
        self._shown = False

    def show(self, state: object) -> None:
        from engines.fetch import FetchProgress

        assert isinstance(state, FetchProgress)
        now = time.monotonic()
        if not self._terminal and now - self._last < 10 and self._shown:
            return
        self._last, self._shown = now, True
        share = state.done / state.total if state.total else 1.0
        left = "" if state.seconds_left is None else f", {_duration(state.seconds_left)} left"
        text = (
            f"{share:>4.0%} {_size(state.done)} of {_size(state.total)}, {_size(state.speed)}/s{left}  "
            f"{state.model}/{Path(state.file).name} ({state.source})"
        )
        if self._terminal:
            filled = int(share * 20)
            print(f"\r[{'#' * filled}{'.' * (20 - filled)}] {text[:110]:<110}", end="", flush=True)
        else:
            print(text, flush=True)

    def end(self) -> None:
        if self._terminal and self._shown:
            print()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"
