"""The show's health monitor from the settings, and a sample in the few words that the overlay and the doctor show."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from engines.health import HealthLog, HealthMonitor, HealthSample, memory_budget, standard_bands
from engines.health.nvml import open_card
from idol.settings import HealthSettings, data_dir

if TYPE_CHECKING:
    from engines.trt.device import Device

log = logging.getLogger(__name__)
_COOLER = 7.0
"""°C below hot at which a card is cool again."""


def make_monitor(settings: HealthSettings, folder: Path | None = None) -> HealthMonitor:
    """A monitor of the card that logs to ``folder`` (None: ``logs`` in the data folder). Start and close it."""
    health_log = None
    if settings.log != "off":
        health_log = HealthLog(data_dir() / "logs" if folder is None else folder, settings.log)
    return HealthMonitor(open_card, bands=standard_bands(settings.hot, settings.hot - _COOLER), health_log=health_log)


def watch_card_of(device: Device, monitor: HealthMonitor) -> None:
    """Have ``monitor`` watch the card that the engines run on: CUDA and NVML may count cards in another order."""
    try:
        monitor.follow(device.cuda.Device(0).pci_bus_id())
    except device.cuda.Error as error:
        log.warning("the card's address is not known, the first card is watched: %s", error)


def card_budget(sample: HealthSample | None, settings: HealthSettings) -> int | None:
    """Bytes of the card that the engines together may occupy (see ``memory_budget``); None when it is not known."""
    if sample is None or sample.memory_total is None or sample.memory_free is None:
        return None
    reserve = settings.reserve_mb * 1_000_000 or None
    return memory_budget(sample.memory_total, sample.memory_free, sample.memory_ours, reserve)


def health_lines(sample: HealthSample | None) -> list[str]:
    """Two short lines about the card, or one about the process on a machine without a card; none without a sample."""
    if sample is None:
        return []
    if sample.trouble:
        return [f"{short_name(sample.card)} does not answer"]
    if sample.card:
        return card_lines(sample)
    parts = [
        _figure(sample.resident, "{:.2f} GB", 1e-9),
        _figure(sample.processor, "{:.1f} cores busy"),
    ]
    shown = ", ".join(part for part in parts if part)
    return [f"process {shown}"] if shown else []


def card_lines(sample: HealthSample) -> list[str]:
    """Name, load, temperature and power; then memory, clock and the worst of what slows it, with the number of others.
    What the card does not tell is left out. Made for the overlay's 42 letters."""
    first = (
        short_name(sample.card),
        _figure(sample.utilisation, "{:.0f} %"),
        _figure(sample.temperature, "{:.0f} °C"),
        _of(sample.power, sample.power_limit, "W", "{:.0f}"),
    )
    slowed = [word for word in sample.throttles or () if word != "idle"]
    more = f" +{len(slowed) - 1}" if len(slowed) > 1 else ""
    large = (sample.memory_total or 0) >= 100_000_000_000
    second = (
        _of(sample.memory_used, sample.memory_total, "GB", "{:.0f}" if large else "{:.1f}", 1e-9),
        _figure(sample.sm_clock, "{:.0f} MHz"),
        slowed[0] + more if slowed else "",
    )
    lines = ("  ".join(part for part in parts if part) for parts in (first, second))
    return [line for line in lines if line]


def short_name(card: str) -> str:
    """``NVIDIA GeForce RTX 4070 Laptop GPU`` is ``RTX 4070 Laptop``."""
    return card.removeprefix("NVIDIA ").removeprefix("GeForce ").removesuffix(" GPU")


def _figure(value: float | None, pattern: str, scale: float = 1.0) -> str:
    return "" if value is None else pattern.format(value * scale)


def _of(value: float | None, limit: float | None, unit: str, pattern: str, scale: float = 1.0) -> str:
    if value is None:
        return ""
    most = "" if limit is None else f"/{pattern.format(limit * scale)}"
    return f"{pattern.format(value * scale)}{most} {unit}"
