"""``main.py chat --text TEXT …``: she answers one or more lines, one after another."""

from __future__ import annotations

import argparse

from idol.cli.headless_run import add_headless_arguments, run_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", action="append", required=True, metavar="TEXT", help="a line; can be given again")
    add_headless_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.headless:
        from idol.cli.app import open_with_lines

        return open_with_lines(arguments, arguments.text, source="chat")
    return run_lines(arguments, arguments.text, "chat", with_llm=True)
