"""``main.py models``: list, fetch, verify, add and remove model files."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from engines.errors import Cancelled, EngineError

if TYPE_CHECKING:
    from engines.fetch import FetchProgress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="what there is, what is here, and where")
    fetch = verbs.add_parser("fetch", help="fetch models or sets (default, small, test)")
    fetch.add_argument("names", nargs="*", metavar="ID|SET")
    verify = verbs.add_parser("verify", help="read all files and check their SHA-256; added models are read too")
    verify.add_argument("names", nargs="*", metavar="ID|SET")
    verify.add_argument("--repair", action="store_true", help="delete damaged files and fetch them again")
    add = verbs.add_parser("add", help="use your own model: a GGUF file or a safetensors folder")
    add.add_argument("path", type=Path)
    add.add_argument("--name", default="", help="the name to call it by")
    add.add_argument("--copy", action="store_true", help="copy it into the models' folder")
    remove = verbs.add_parser("remove", help="delete a fetched model's files, or forget an added one")
    remove.add_argument("name", metavar="ID")


def run(arguments: argparse.Namespace) -> int:
    verbs = {"list": _list, "fetch": _fetch, "verify": _verify, "add": _add, "remove": _remove}
    try:
        return verbs[arguments.verb](arguments)
    except Cancelled as error:
        print(error, file=sys.stderr)
        return 130
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1


def _list(arguments: argparse.Namespace) -> int:
    from engines.added import added_models
    from engines.catalogue import load_catalogue
    from engines.fetch_part import arrived
    from engines.store import files_dir

    catalogue = load_catalogue()
    print(f"models are kept in {files_dir()}")
    for model in catalogue.models.values():
        missing = model.missing()
        begun = any(arrived(model.folder / file.name) for file in missing)
        state = "here" if not missing else "incomplete" if begun or len(missing) < len(model.files) else "not here"
        print(
            f"{model.id:<20} {state:<11}{size(model.bytes):>8}  {model.licence:<11} "
            f"{','.join(model.languages):<9} {model.what}"
        )
    for name, path in added_models().items():
        print(f"{name:<20} {'added' if path.exists() else 'missing':<11} {path}")
    for name, ids in catalogue.sets.items():
        print(f"set {name}: {', '.join(ids)} ({size(sum(catalogue.models[i].bytes for i in ids))})")
    return 0


def _fetch(arguments: argparse.Namespace) -> int:
    return fetch(arguments.names or ["default"])


def fetch(names: list[str]) -> int:
    """Fetch with a progress bar. Raises ``EngineError``; Ctrl-C gives 130."""
    from engines.added import added_models
    from engines.catalogue import load_catalogue
    from engines.fetch import Fetcher
    from engines.store import files_dir

    own = [name for name in names if name in added_models()]
    if own:
        raise EngineError(f"{own[0]!r} is a model that you added: there is nothing to fetch.", "Leave it out.")
    todo = [model for model in load_catalogue().select(names) if model.missing()]
    if todo:
        total = sum(file.bytes for model in todo for file in model.missing())
        print(f"fetching {size(total)} to {files_dir()}", flush=True)
        bar = ProgressBar()
        try:
            Fetcher(todo, bar.show).run()
        except KeyboardInterrupt:
            bar.end()
            print("cancelled; what has arrived is kept, start again to go on", file=sys.stderr)
            return 130
        finally:
            bar.end()
    print("all files are here")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from engines.added import added_models
    from engines.catalogue import load_catalogue
    from engines.fetch_verify import verify

    catalogue, added = load_catalogue(), added_models()
    own = [name for name in dict.fromkeys(arguments.names or added) if name in added]
    names = [name for name in arguments.names if name not in added] if arguments.names else list(catalogue.models)
    damaged: list[str] = []
    bad: list[Path] = []
    for model in catalogue.select(names):
        if not arguments.names and not model.folder.exists():
            continue  # never fetched
        problems = verify(model)
        print(f"{model.id}: {'good' if not problems else 'damaged'}", flush=True)
        for problem in problems:
            print(f"  {problem.file.name} {problem.what}")
            if problem.present:
                bad.append(model.folder / problem.file.name)
        if problems:
            damaged.append(model.id)
    status = 0 if all([_verify_added(name, added[name]) for name in own]) else 1
    if not damaged:
        return status
    if arguments.repair:
        return _repair(damaged, bad) or status
    print(f"repair: main.py models verify --repair {' '.join(damaged)}")
    return 1


def _verify_added(name: str, path: Path) -> bool:
    """Of the user's own file no SHA-256 is known: whether it can be read is what can be told."""
    from engines.models.families import inspect_model

    try:
        if not path.exists():
            raise EngineError(f"{path} is gone.", f"Put it back, or forget it: main.py models remove {name}.")
        inspect_model(path)
    except EngineError as error:
        print(f"{name}: damaged\n  {error}", flush=True)
        return False
    print(f"{name}: whole (your own; no SHA-256 is known of it)", flush=True)
    return True


def _repair(names: list[str], bad: list[Path]) -> int:
    """Fetch ``names`` again. The ``bad`` files stand aside and come back when that fails: they may be all there is."""
    aside = [(path, path.with_name(f"{path.name}.damaged")) for path in bad]
    for path, kept in aside:
        path.replace(kept)
    status = 1
    try:
        status = fetch(names)
        return status
    finally:
        for path, kept in aside:
            if status == 0 or path.exists():
                kept.unlink(missing_ok=True)
            else:
                kept.replace(path)


def _add(arguments: argparse.Namespace) -> int:
    from engines.added import add_model

    short = _check_room(arguments.path.expanduser())
    name, summary = add_model(arguments.path, name=arguments.name, copy=arguments.copy)
    print(
        f"added {name}: {summary.name}, {summary.family}, {summary.parameters / 1e6:.0f} million weights, "
        f"{summary.quantisation}, context {summary.context}"
    )
    if short:
        print(f"its context is too short for {', '.join(short)}: lines in other languages only will be answered")
    print(f"use it: main.py --model {name}")
    return 0


def _check_room(path: Path) -> list[str]:
    """The languages in which the model's context is too short for an answer, with the tokens that would do.

    Raises ``EngineError`` where that is so in all of them.
    """
    from engines.models.families import inspect_model
    from idol.dialogue.persona import PersonaError, default_persona, load_persona
    from idol.dialogue.room import contexts_needed
    from idol.settings import load_settings

    context = inspect_model(path).context
    settings, _ = load_settings()
    try:
        persona = load_persona(Path(settings.persona)) if settings.persona else default_persona()
    except PersonaError:
        persona = default_persona()  # the show says what is wrong with the other
    needed = contexts_needed(path, persona, settings.llm.max_tokens)
    if context < min(needed.values()):
        raise EngineError(
            f"{path.name} has a context of {context} tokens; her persona, a line and an answer take "
            f"{min(needed.values())} with it.",
            f"Choose a model with a longer context, lower max_tokens in [llm] (now {settings.llm.max_tokens}) or "
            "shorten the persona.",
        )
    return [f"{language} (needs {tokens})" for language, tokens in needed.items() if tokens > context]


def _remove(arguments: argparse.Namespace) -> int:
    from engines.added import added_models, remove_model
    from engines.catalogue import load_catalogue

    if arguments.name in added_models():
        path = remove_model(arguments.name)
        print(f"forgot {arguments.name} ({path})")
        return 0
    models = load_catalogue().models
    if arguments.name not in models:
        raise EngineError(f"There is no model {arguments.name!r}.", f"Known: {', '.join([*models, *added_models()])}.")
    folder = models[arguments.name].folder
    if not folder.exists():
        print(f"{arguments.name} is not here")
        return 0
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise EngineError(f"{folder} could not be deleted: {error}.", "Close the program and try again.") from error
    print(f"deleted {folder}")
    return 0


def size(count: float) -> str:
    """Bytes for people."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


class ProgressBar:
    """One line that is rewritten on a terminal, a line every ten seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._last = float("-inf")
        self._open = False

    def show(self, state: FetchProgress) -> None:
        now = time.monotonic()
        if not self._terminal and now - self._last < 10:
            return
        self._last = now
        share = state.done / state.total if state.total else 1.0
        left = "" if state.seconds_left is None else f", {_duration(state.seconds_left)} left"
        text = (
            f"{share:>4.0%} {size(state.done)} of {size(state.total)}, {size(state.speed)}/s{left}  "
            f"{state.model}/{Path(state.file).name} ({state.source})"
        )
        if self._terminal:
            filled = int(share * 20)
            width = max(20, shutil.get_terminal_size().columns - 1)
            print("\r" + f"[{'#' * filled}{'.' * (20 - filled)}] {text}"[:width].ljust(width), end="", flush=True)
            self._open = True
        else:
            print(text, flush=True)

    def end(self) -> None:
        if self._open:
            print(flush=True)
            self._open = False


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"
