"""How the NVIDIA card and this process are doing: read once a second, logged, and watched for pressure.

A sample is read through NVML on a thread of its own; thresholds with hysteresis turn samples into ``Pressure`` events
for whoever makes the show smaller. Nothing here needs a card, a driver or CUDA to be imported.
"""

from engines.health.budget import default_reserve, low_water, memory_budget
from engines.health.log import HealthLog
from engines.health.monitor import HealthMonitor
from engines.health.pressure import Band, Gauge, Pressure, PressureKind, standard_bands
from engines.health.sample import CardLost, CardReader, HealthError, HealthSample

__all__ = [
    "Band", "CardLost", "CardReader", "Gauge", "HealthError", "HealthLog", "HealthMonitor", "HealthSample", "Pressure",
    "PressureKind", "default_reserve", "low_water", "memory_budget", "standard_bands",
]  # fmt: skip
