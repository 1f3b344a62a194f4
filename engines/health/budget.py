"""How much of the card's memory the engines may take."""

from __future__ import annotations

_MIB = 1 << 20


def default_reserve(total: int) -> int:
    """Bytes to leave for others on a card of ``total`` bytes: 8 % of it, at least 512 MiB and at most 2 GiB.

    It is meant for what grows while the show runs: the compositor and the browser (a few 100 MiB), OBS with its encoder
    (another few 100 MiB) and our own OpenGL window. A game needs more: its streamer sets the reserve.
    """
    return min(max(total * 8 // 100, 512 * _MIB), 2048 * _MIB)


def low_water(total: int) -> int:
    """Free bytes under which the card counts as full: 4 % of ``total``, at least 384 MiB and at most 1 GiB.

    Below this the driver starts to move other programs' textures to the host, and everybody stutters.
    """
    return min(max(total * 4 // 100, 384 * _MIB), 1024 * _MIB)


def memory_budget(total: int, free: int, used_by_us: int | None = None, reserve: int | None = None) -> int:
    """Bytes of the card that all our engines together may occupy now: what is free and what we hold already, less the
    reserve for others.

    ``used_by_us`` None (not told by the driver) counts as nothing, which errs on the small side. ``reserve`` None is
    ``default_reserve(total)``. Never below 0. Raises ``ValueError`` for figures that no card has.
    """
    ours = 0 if used_by_us is None else used_by_us
    kept = default_reserve(total) if reserve is None else reserve
    if total <= 0 or not 0 <= free <= total or ours < 0 or kept < 0:
        raise ValueError(
            f"total {total}, free {free}, used by us {used_by_us} and reserve {reserve} are no bytes of one card: "
            "give what NVML says, all at least 0 and free at most total"
        )
    return max(0, min(total, free + ours) - kept)
