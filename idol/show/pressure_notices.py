"""What the user is told when something on the card becomes scarce, and when it is well again."""

from __future__ import annotations

from engines.health import HealthSample, Pressure
from engines.health.pressure import HARMFUL
from idol.show.interface import Notice


def pressure_notice(pressure: Pressure) -> Notice | None:
    """None for memory, of which the ladder tells what it does, and for a lost card that answers again: the engines
    cannot go back to it."""
    sample = pressure.sample
    if pressure.level:
        return _RISEN[pressure.kind](sample) if pressure.kind in _RISEN else None
    text = _FALLEN.get(pressure.kind)
    return Notice("info", text) if text is not None else None


def _hot(sample: HealthSample) -> Notice:
    return Notice(
        "warning", f"The graphics card is hot: {sample.temperature} °C. It may slow down.", "Give it air, or less work."
    )


def _held_down(sample: HealthSample) -> Notice:
    why = ", ".join(word for word in sample.throttles or () if word in HARMFUL)
    return Notice(
        "warning", f"The graphics card slows down ({why}): she may answer later.", "Give it air, or less work."
    )


def _busy(sample: HealthSample) -> Notice:
    share = sample.others_utilisation
    return Notice(
        "warning", f"Other programs keep the graphics card busy ({share} %): she may answer later.",
        "Limit the frame rate of what else draws.",
    )  # fmt: skip


def _lost(sample: HealthSample) -> Notice:
    return Notice(
        "error", f"The graphics card does not answer ({sample.trouble.rstrip('.')}). She goes on with the processor.",
        "Start Idol again when the card is back.",
    )  # fmt: skip


_RISEN = {"temperature": _hot, "throttle": _held_down, "compute": _busy, "lost": _lost}
_FALLEN = {
    "temperature": "The graphics card has cooled down.",
    "throttle": "The graphics card runs at its full speed again.",
    "compute": "Other programs leave the graphics card room again.",
}
