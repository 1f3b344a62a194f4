"""Ease in and out, the one curve of this room."""

from __future__ import annotations


def smoothstep(share: float) -> float:
    """3s² − 2s³ for ``share`` within 0..1, 0 before and 1 after: no jerk at either end."""
    share = min(max(share, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)
