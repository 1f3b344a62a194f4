"""``report.json``: what a run did, turn by turn, and on what."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from idol import __version__
from idol.seams import RuntimeInfo
from idol.show.latency import TurnRecord, stage_summaries
from idol.show.whole_file import write_whole


def report_document(rows: Sequence[TurnRecord], runtimes: Iterable[RuntimeInfo]) -> dict[str, object]:
    """Rows, statistics per stage (ms since submit), runtimes and the machine."""
    return {
        "idol": __version__,
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "peak_memory_mb": peak_memory_mb(),
            "memory_mb": memory_mb(),
        },
        "runtimes": [
            {"engine": info.engine, "runtime": info.runtime, "model": info.model, **info.detail} for info in runtimes
        ],
        "turns": [row.document() for row in rows],
        "stages": {
            stage: {
                "count": summary.count,
                "median": round(summary.median, 1),
                "p95": round(summary.p95, 1),
                "p99": round(summary.p99, 1),
                "sd": round(summary.sd, 1),
            }
            for stage, summary in stage_summaries(rows).items()
        },
    }


def write_json(path: Path, document: dict[str, object]) -> None:
    """Write whole or not at all, UTF-8. Raises ``OSError`` that names ``path``."""
    write_whole(path, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())


def memory_mb() -> float | None:
    """Resident memory of this process in MB (Linux; None elsewhere)."""
    return _status_mb("VmRSS:")


def peak_memory_mb() -> float | None:
    """Highest resident memory so far in MB (Linux; None elsewhere)."""
    return _status_mb("VmHWM:")


def _status_mb(key: str) -> float | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(key):
            return round(int(line.split()[1]) / 1024, 1)
    return None
