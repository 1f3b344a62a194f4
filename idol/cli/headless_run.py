"""What ``say``, ``chat`` and ``bench`` share: their options, the terminal's view of events, the files they write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from idol.cli.log_file import log_to_file
from idol.cli.outputs import tell_unwritten, unwritable
from idol.cli.printable import printable
from idol.settings import Settings, load_settings
from idol.show.headless import HeadlessError, HeadlessRun, run_headless
from idol.show.interface import Loading, Notice, ReplyText, ShowEvent, TurnEnded, TurnStarted
from idol.show.latency import TurnRecord
from idol.show.show import Show

FILES = ("wav", "face", "report")
"""Options that name a file to write."""


def add_headless_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the issue's headless commands."""
    parser.add_argument("--headless", action="store_true", help="no window; sound goes to the device all the same")
    parser.add_argument("--no-audio", action="store_true", help="no sound device; the clock runs as if there were one")
    parser.add_argument("--wav", type=Path, metavar="F", help="record what was heard, pauses included")
    parser.add_argument("--face", type=Path, metavar="F", help="record the 52 BlendShapes at 30 fps as JSON")
    parser.add_argument("--report", type=Path, metavar="F", help="write stages, text and runtimes as JSON")
    parser.add_argument("--model", metavar="ID", help="language model: a catalogue id or an added model's name")
    parser.add_argument("--voice", metavar="NAME", help="voice for all languages, e.g. af_heart")
    parser.add_argument("--speed", type=float, metavar="X", help="speed of speech, 0.5 to 2")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads per engine")
    parser.add_argument("--seed", type=int, metavar="N", help="the same seed draws the same replies")


def settings_from(arguments: argparse.Namespace) -> Settings:
    """The user's settings with the command's options on top. Raises ``ValueError`` on a value out of range."""
    settings, _ = load_settings()
    if arguments.model:
        settings.llm.model = arguments.model
    if arguments.threads is not None:
        settings.llm.threads = arguments.threads
    if arguments.speed is not None:
        settings.voice.speed = arguments.speed
    if arguments.voice:
        settings.voice.en = settings.voice.zh = settings.voice.ja = arguments.voice
    if arguments.no_audio:
        settings.audio.output = "none"
    return settings


def is_line(text: str) -> bool:
    """Whether there is anything to see in ``text``."""
    return any(character.isprintable() and not character.isspace() for character in text)


def senseless(arguments: argparse.Namespace, *, with_llm: bool) -> str:
    """Which option has no meaning for this command, or names what is not here; '' when all is well."""
    from engines.catalogue import load_catalogue
    from engines.store import files_dir
    from idol.show.model_files import model_file, not_here
    from idol.show.understudies import VOICE

    model = arguments.model
    here = model is None or model == "auto" or model_file(model) is not None
    if not arguments.headless:
        for name in (*FILES, "seed"):
            if getattr(arguments, name) is not None:
                return f"--{name} works without a window only. Add --headless, or leave it out."
    elif not with_llm:
        for name in ("model", "seed"):
            if getattr(arguments, name) is not None:
                return (
                    f"--{name} is for the language model, and say reads its text as it is, without one. "
                    "Leave it out, or use chat."
                )
    if not here and (arguments.headless or model not in load_catalogue().models):  # the window fetches by itself
        return f"--model: {not_here(model)}"
    voices = sorted(path.stem for path in (files_dir() / VOICE / "voices").glob("*.bin"))
    if arguments.voice is not None and voices and arguments.voice not in voices:
        return f"--voice: there is no voice {arguments.voice!r}. Installed: {', '.join(voices)}."
    if arguments.seed is not None and arguments.seed < 0:
        return f"--seed is {arguments.seed}. Give a whole number, 0 or more."
    return ""


def plain(error: ValueError) -> str:
    """The first complaint of a settings error in one sentence: which option, what it is, what it may be."""
    complaints = getattr(error, "errors", None)
    if complaints is None:
        return str(error)
    first = complaints()[0]
    return f"{'.'.join(str(part) for part in first['loc'])} is {first['input']!r}. {first['msg']}."


def run_lines(
    arguments: argparse.Namespace,
    lines: Sequence[str],
    source: str,
    *,
    with_llm: bool,
    quiet: bool = False,
    finish: Callable[[list[TurnRecord]], None] | None = None,
) -> int:
    """Run ``lines`` headless and write the files asked for; returns the exit status. ``finish`` gets the rows."""
    from idol.show.assembly import make_show

    wrong = senseless(arguments, with_llm=with_llm)
    if wrong:
        print(wrong, file=sys.stderr)
        return 2
    said = [line for line in lines if is_line(line)]
    if not said:
        print("The line is empty. Give her something to say.", file=sys.stderr)
        return 2
    if len(said) < len(lines):
        print(f"{len(lines) - len(said)} empty lines are left out", file=sys.stderr)
    try:
        settings = settings_from(arguments)
    except ValueError as error:
        print(f"wrong option: {plain(error)}", file=sys.stderr)
        return 2
    wrong = unwritable({f"--{name}": getattr(arguments, name) for name in FILES})
    if wrong:
        print(wrong, file=sys.stderr)
        return 2
    log_to_file()
    show = make_show(settings, with_llm=with_llm, seed=arguments.seed)
    terminal = _Terminal(quiet)
    try:
        result = run_headless(show, said, source, terminal.show)
        if source == "say" and not any(row.audio_seconds > 0 or row.reason != "done" for row in show.book.rows):
            print("Nothing of it can be spoken in her languages; no file is written.", file=sys.stderr)
            return 1
        written = _write_files(arguments, show, result)
        if finish is not None:
            finish(show.book.rows)
    except HeadlessError as error:
        if not error.told:
            print(error, file=sys.stderr)
        return 1
    finally:
        show.close()
    if result.interrupted:
        return 130
    return 1 if not written or any(turn.reason == "failed" for turn in result.ended) else 0


def _write_files(arguments: argparse.Namespace, show: Show, result: HeadlessRun) -> bool:
    """Each file by itself: where one cannot be written the others still are. False when one could not."""
    from idol.face.export import face_document
    from idol.show.report import report_document, write_json

    recorder, engines = result.recorder, show.engines
    if recorder is None:
        return True
    frames = [(at, pose.weights) for at, pose in recorder.frames]
    writers: dict[str, Callable[[Path], None]] = {
        "wav": recorder.write_wav,
        "face": lambda path: write_json(path, face_document(30, frames)),
        "report": lambda path: write_json(
            path, report_document(show.book.rows, engines.runtimes if engines is not None else ())
        ),
    }
    good = True
    for name in FILES:
        path: Path | None = getattr(arguments, name)
        if path is None:
            continue
        try:
            writers[name](path)
        except OSError as error:
            tell_unwritten(error)
            good = False
    return good


class _Terminal:
    """Prints events as they come: progress on stderr, the chat on stdout."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._loading = ""

    def show(self, event: ShowEvent) -> None:
        if isinstance(event, Notice):
            print(printable(f"{event.level}: {event.sentence}"), file=sys.stderr)
        elif isinstance(event, Loading):
            if event.what != self._loading:
                self._loading = event.what
                print(printable(f"… {event.what}"), file=sys.stderr)
        elif self._quiet:
            return
        elif isinstance(event, TurnStarted):
            print(printable(f"> {event.text[:500]}"), flush=True)
        elif isinstance(event, ReplyText):
            print(printable(event.text), end="", flush=True)
        elif isinstance(event, TurnEnded):
            ending = (
                "" if event.reason == "done" else f" [{event.reason}{': ' if event.message else ''}{event.message}]"
            )
            print(printable(ending), flush=True)
