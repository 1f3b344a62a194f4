"""Idol's entry: without arguments the app opens; with a command the same program works headless."""

import sys

from idol.cli import main

if __name__ == "__main__":
    sys.exit(main())
