"""``main.py say TEXT``: she says exactly this, with voice and face; no language model is needed."""

from __future__ import annotations

import argparse
import sys

from idol.cli.headless_run import add_headless_arguments, is_line, run_lines, senseless
from idol.cli.printable import printable, readable
from idol.seams import LANGUAGES
from idol.voice.speakable import has_words, speakable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="what to say; - reads it from standard input")
    add_headless_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if arguments.text == "-" else readable(arguments.text)
    if is_line(text) and not any(has_words(speakable(text, language)) for language in LANGUAGES):
        print(
            f"There is nothing to speak in “{printable(text.strip()[:60])}”. Give her words or numbers.",
            file=sys.stderr,
        )
        return 2
    if not arguments.headless:
        wrong = senseless(arguments, with_llm=True)
        if wrong:
            print(wrong, file=sys.stderr)
            return 2
        from idol.cli.app import open_with_lines

        return open_with_lines(arguments, [text], source="say")
    return run_lines(arguments, [text], "say", with_llm=False)
