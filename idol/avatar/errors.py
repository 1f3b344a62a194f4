"""What a bad avatar file raises."""

from __future__ import annotations


class AvatarError(Exception):
    """An avatar file cannot be used. ``where`` is the JSON path in the file (``nodes[3].mesh``), ``fix`` what to do."""

    def __init__(self, problem: str, where: str = "", fix: str = "") -> None:
        self.problem = problem
        self.where = where
        self.fix = fix or "Export the model again (VRM 1.0 or GLB) and try that file."
        place = f"{where}: " if where else ""
        super().__init__(f"{place}{problem} {self.fix}")
