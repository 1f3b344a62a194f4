"""How much of the card an engine will take, told before anything is allocated.

Estimates, on the large side: weights, cache and buffers are counted exactly; a plan's own share is its file (its
kernels and constants go to the card as they are), and work space is guessed, since TensorRT tells it only of an engine
that has been deserialised.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from engines.models.decoder_cache import cache_bytes
from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_store import WeightStore

_MIB = 1 << 20
_ENGINES = 64 * _MIB
"""A guess: the contexts of five small engines, kernels loaded on first use, graphs of seven sizes of run."""
_VOICE_FRAME = 6 * 128 * 120 * 4
"""A guess, in bytes of work space per frame of sound: six tensors of D's last stage (128 channels, 120 samples a frame,
float32) are alive at once."""
_VOICE_ENGINES = 96 * _MIB
"""A guess: kernels and graphs of three engines."""


def decoder_footprint(config: DecoderConfig, capacity: int, plans: Iterable[Path] = ()) -> int:
    """Bytes that a decoder takes: fp16 weights, the cache and as much again for primed prompts, ``plans``."""
    weights = WeightStore(config, Path()).nbytes
    return weights + 2 * cache_bytes(config, capacity) + _sizes(plans) + _ENGINES


def voice_footprint(graphs: Iterable[Path], frames: int) -> int:
    """Bytes that the voice takes for clauses of at most ``frames`` frames; its plans are about as large as their
    ``graphs``."""
    return _sizes(graphs) + frames * _VOICE_FRAME + _VOICE_ENGINES


def _sizes(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except OSError:
            continue  # not built yet: it is counted when it is there
    return total
