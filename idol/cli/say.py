"""``main.py say TEXT``: she says exactly this, with voice and face; no language model is needed."""

from __future__ import annotations

import argparse
import sys

from idol.cli.headless_run import add_headless_arguments, run_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="what to say; - reads it from standard input")
    add_headless_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    if not arguments.headless:
        from idol.cli.app import open_with_lines

        return open_with_lines(arguments, [text], source="say")
    return run_lines(arguments, [text], "say", with_llm=False)
