"""The command line: one module per command, imported only when its command is asked for.

Each module has ``add_arguments(parser)`` and ``run(arguments) -> int`` (the exit status: 0 good, 1 failed with a
message on stderr, 2 wrong usage, 130 cancelled by Ctrl-C).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence

COMMANDS: dict[str, str] = {
    "app": "open the window (what happens without a command)",
    "say": "speak a text with her voice and face",
    "chat": "answer one or more lines",
    "bench": "measure 30 scripted turns, stage by stage",
    "snapshot": "draw an avatar to a PNG",
    "models": "list, fetch, verify, add and remove model files",
    "engines": "what the models run on, and the plans built for this machine",
    "doctor": "check this machine and say what to do about each finding",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Parse ``argv`` (default: the process's own) and run the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or (words[0] not in COMMANDS and words[0] not in ("-h", "--help", "--version")):
        words = ["app", *words]
    parser = argparse.ArgumentParser(prog="main.py", description="Idol, a desktop virtual idol.")
    from idol import __version__

    parser.add_argument("--version", action="version", version=f"idol {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if words[0] == name:
            importlib.import_module(f"idol.cli.{name}").add_arguments(command)
    arguments = parser.parse_args(words)
    try:
        with _warnings_of("idol.settings"):
            status: int = importlib.import_module(f"idol.cli.{arguments.command}").run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("cancelled", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status


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
