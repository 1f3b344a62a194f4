"""The command line: one module per command, imported only when its command is asked for.

Each module has ``add_arguments(parser)`` and ``run(arguments) -> int`` (the exit status: 0 good, 1 failed with a
message on stderr, 2 wrong usage, 130 cancelled by Ctrl-C).
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import importlib
import io
import logging
import os
import re
import sys
from collections.abc import Iterator, Sequence

COMMANDS: dict[str, str] = {
    "app": "open the window (what happens without a command)",
    "say": "speak a text with her voice and face",
    "chat": "answer one or more lines",
    "bench": "measure 30 scripted turns, stage by stage",
    "snapshot": "draw an avatar to a PNG",
    "avatar": "what an avatar's author permits, and what its file holds",
    "models": "list, fetch, verify, add and remove model files",
    "engines": "what the models run on, and the plans built for this machine",
    "doctor": "check this machine and say what to do about each finding",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Parse ``argv`` (default: the process's own) and run the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without her languages' letters
    if words and words[0] not in COMMANDS and not words[0].startswith("-"):
        print(f"There is no command {words[0]!r}. {_nearest(words[0])}", file=sys.stderr)
        return 2
    if not words or (words[0] not in COMMANDS and words[0] not in ("-h", "--help", "--version")):
        words = ["app", *words]
    words = _with_signs(words)
    parser = argparse.ArgumentParser(prog="main.py", description="Idol, a desktop virtual idol.")
    from idol import __version__

    parser.add_argument("--version", action="version", version=f"idol {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    chosen = parser
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if words[0] == name:
            chosen = command
            importlib.import_module(f"idol.cli.{name}").add_arguments(command)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        chosen.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        with _warnings_of("idol.settings"):
            status: int = importlib.import_module(f"idol.cli.{arguments.command}").run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("cancelled", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        _drop_output()
        return 141
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        _drop_output()
        print(f"The output could not be written: {error.strerror}. Send it elsewhere.", file=sys.stderr)
        return 1
    return status


def _with_signs(words: list[str]) -> list[str]:
    """``--orbit -45,0`` as ``--orbit=-45,0``: argparse takes what begins with a minus, and is no plain number, for an
    option. None of ours begins with a digit."""
    joined: list[str] = []
    for word in words:
        if joined and re.match(r"-[.\d]", word) and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _nearest(word: str) -> str:
    if word.lower().endswith((".vrm", ".glb")):
        return f"To show an avatar, say: main.py app --avatar {word}"
    found = difflib.get_close_matches(word, COMMANDS, 1)
    return f"Did you mean {found[0]}?" if found else f"There are: {', '.join(COMMANDS)}."


def _drop_output() -> None:
    """What is still buffered goes nowhere, or Python would complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _OnTerminal(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(record.getMessage(), file=sys.stderr)


@contextlib.contextmanager
def _warnings_of(logger: str) -> Iterator[None]:
    """Warnings of ``logger`` reach the terminal, whichever command provokes them."""
    handler = _OnTerminal(logging.WARNING)
    logging.getLogger(logger).addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger(logger).removeHandler(handler)
