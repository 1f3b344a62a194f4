"""``python -m avatars.maker [--character wren] -o avatars/default.vrm``"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from avatars.maker.character import CHARACTERS
from avatars.maker.vrm import build


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m avatars.maker", description="Make one of our idols.")
    parser.add_argument("--character", choices=tuple(CHARACTERS), default="default", help="who is made")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the .vrm to write")
    arguments = parser.parse_args()
    output: Path = arguments.output
    data = build(CHARACTERS[arguments.character])
    try:
        output.write_bytes(data)
    except OSError as error:
        sys.stderr.write(f"{output} cannot be written ({error}). Choose a folder that exists and may be written.\n")
        return 1
    sys.stdout.write(f"{output}: {len(data) / 1e6:.2f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
