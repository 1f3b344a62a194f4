"""Made-up speech: symbols with durations, and a sound that is loud, soft or silent as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from idol.face.planner import RulePlanner
from idol.seams import SAMPLE_RATE, Emotion, FaceFrame, Language, PhonemeSpan, Speech

SILENT, STOPS, SOFT = " .,!", "ptkbdɡ", "fvszʃhθmnlɹwj"


def spoken(parts: Sequence[tuple[str, float]] | str, language: Language = "en", *, step: float = 0.08) -> Speech:
    """``parts``: (symbol, seconds) each, or a string of symbols of ``step`` seconds. "." is silence."""
    pairs = [(symbol, step) for symbol in parts] if isinstance(parts, str) else list(parts)
    noise = np.random.default_rng(3)
    spans: list[PhonemeSpan] = []
    blocks: list[np.ndarray] = []
    at = 0
    for symbol, seconds in pairs:
        count = round(seconds * SAMPLE_RATE)
        spans.append(PhonemeSpan(symbol, at, at + count))
        times = (at + np.arange(count)) / SAMPLE_RATE
        level = 0.0 if symbol in SILENT else 0.003 if symbol in STOPS else 0.06 if symbol[0] in SOFT else 0.3
        buzz = np.sign(np.sin(2 * np.pi * 150 * times)) + 0.1 * noise.standard_normal(count)
        blocks.append((level * buzz).astype(np.float32))
        at += count
    samples = np.concatenate(blocks) if blocks else np.zeros(0, np.float32)
    return Speech(1, 0, samples, tuple(spans), language, "", 0.1)


def planned(speech: Speech, fps: float = 120.0, emotion: Emotion = "neutral", first: int = 0) -> list[FaceFrame]:
    """Frames of a fresh planner; 120 a second show what lies between two of the show's."""
    return RulePlanner(fps).plan(speech, first, emotion)
