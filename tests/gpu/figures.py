"""What a list of measured times says."""

from __future__ import annotations


def spread(values: list[float]) -> dict[str, float]:
    """Number, mean, median, p99, longest and standard deviation of ``values``."""
    if not values:
        return {"n": 0}
    ordered = sorted(values)
    mean = sum(values) / len(values)
    return {
        "n": len(values), "mean": mean, "median": ordered[len(values) // 2],
        "p95": ordered[len(values) * 95 // 100], "p99": ordered[len(values) * 99 // 100], "most": ordered[-1],
        "sd": (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5,
    }  # fmt: skip
