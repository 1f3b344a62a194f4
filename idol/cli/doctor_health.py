"""The card's health, looked at once. A child process asks the driver (``doctor_probe``), which may hang or crash."""

from __future__ import annotations

from engines.health import HealthSample, PressureKind, standard_bands
from idol.cli import doctor_devices
from idol.cli.doctor_findings import GOOD, NOTE, Finding
from idol.show.health import card_lines

_NAME = "GPU health"
_REMEDIES: dict[PressureKind, str] = {
    "memory": "Its memory is almost full: close other programs on the card, or choose a smaller model.",
    "temperature": "It is hot: give it air, clean its fans, or lower its power limit.",
    "throttle": "Heat or the power supply holds it down: check cooling, power cables and the laptop's power mode.",
    "compute": "Other programs keep it busy: close them, or cap their frame rate.",
    "lost": "It does not answer: restart the machine.",
}


def health() -> list[Finding]:
    """One sample, and what to do about it; why there is none."""
    answer, trouble = doctor_devices.probe("health")
    if answer is None:
        return [Finding(_NAME, NOTE, f"it cannot be read: {trouble}", "Install the card's driver anew and restart.")]
    if "reason" in answer:
        remedy = f"None is needed without an NVIDIA card. With one: {answer['remedy']}"
        return [Finding(_NAME, NOTE, f"no card is watched: {answer['reason']}", remedy)]
    if answer.get("throttles") is not None:
        answer["throttles"] = tuple(answer["throttles"])
    sample = HealthSample(**answer)
    strained = [
        band.kind for band in standard_bands() if (value := band.measure(sample)) is not None and value >= band.enter
    ]
    remedy = " ".join(_REMEDIES[kind] for kind in strained)
    return [Finding(_NAME, NOTE if strained else GOOD, ", ".join(card_lines(sample)).replace("  ", ", "), remedy)]
