"""``main.py chat --text TEXT …``: she answers one or more lines, one after another."""

from __future__ import annotations

import argparse
import sys

from idol.cli.headless_run import add_headless_arguments, run_lines, senseless
from idol.cli.printable import readable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", action="append", required=True, metavar="TEXT", help="a line; can be given again")
    add_headless_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    lines = [readable(text) for text in arguments.text]
    if not arguments.headless:
        wrong = senseless(arguments, with_llm=True)
        if wrong:
            print(wrong, file=sys.stderr)
            return 2
        from idol.cli.app import open_with_lines

        return open_with_lines(arguments, lines, source="chat")
    return run_lines(arguments, lines, "chat", with_llm=True)
