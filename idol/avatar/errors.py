"""What a bad avatar file raises."""

from __future__ import annotations


class AvatarError(Exception):
    """An avatar file cannot be used. ``where`` is the JSON path in the file (``nodes[3].mesh``), ``fix`` what to do."""

    def __init__(self, problem: str, where: str = "", fix: str = "") -> None:
        self.problem = _line(problem)
        self.where = _line(where)
        self.fix = fix or "Export the model again (VRM 1.0 or GLB) and try that file."
        place = f"{self.where}: " if self.where else ""
        super().__init__(f"{place}{self.problem} {self.fix}")


def _line(text: str) -> str:
    """On one line that can be printed: names in it come from a stranger's file."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain if len(plain) <= 400 else plain[:397] + "..."
