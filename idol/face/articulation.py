"""The mouth's table: what every viseme asks of jaw and lips, and how strongly. All numbers of the model are here.

Targets are ARKit weights (0..1). A *group* of channels shares one dominance function (Cohen & Massaro 1993):
``D(t) = alpha * exp(-theta * distance)``, where distance is the time outside the sound's core in ms, with a ``theta``
of its own before and after. ``alpha`` says how much the sound cares: 0 takes the lips of its neighbours (t, k, n, h), 1
rules them (w, u, f). Starting values follow public viseme tables, bent where they break what a mouth must do: lips meet
for p b m, the lower lip meets the teeth for f v, sibilants narrow the jaw, and i is spread, not a smile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CHANNELS: tuple[str, ...] = (
    "jaw", "pucker", "funnel", "stretch", "smile", "lower_down", "upper_up", "roll_lower", "press", "tongue",
)  # fmt: skip
JAW, PUCKER, FUNNEL, STRETCH, SMILE, LOWER_DOWN, UPPER_UP, ROLL_LOWER, PRESS, TONGUE = range(10)

GROUPS: tuple[tuple[int, ...], ...] = (
    (JAW,),
    (PUCKER, FUNNEL),
    (STRETCH, SMILE),
    (LOWER_DOWN, UPPER_UP, ROLL_LOWER, PRESS, TONGUE),
)
"""Channels that share a dominance function: jaw, rounding, spreading, the lips' inner edges."""

THETA_BEFORE: tuple[float, ...] = (0.020, 0.012, 0.018, 0.028)
THETA_AFTER: tuple[float, ...] = (0.020, 0.015, 0.018, 0.028)
"""Decay of each group's dominance in 1/ms. 0.02 halves in 35 ms. Rounding starts early (0.012: 58 ms)."""

CORE = (0.0, 0.75)
"""The part of a span over which dominance is full: the apex lies at the sound's start, held to 75 % (JALI 2016)."""

REST_ALPHA = 0.015
"""Dominance of the closed resting mouth everywhere, so that far from any sound the mouth rests."""

LEAD_SECONDS = 0.012
"""The mouth runs this much ahead of the sound on top of the dominance's own anticipation."""

SMOOTHING_SECONDS = 0.014
"""Standard deviation of the Gaussian that keeps blended curves below 8 Hz or so."""

CLOSURE_HALF = 0.022
CLOSURE_ATTACK = 0.055
CLOSURE_RELEASE = 0.050
"""p b m: at least 44 ms of contact about the acoustic closure; ramps into and out of it, in seconds."""

CLOSURE_LONG = 0.08
CLOSURE_LONGEST = 0.2
CLOSURE_EDGES = (0.02, 0.04)
"""Spans beyond ``CLOSURE_LONG`` keep their lips shut except for edges of so many s; no contact is longer than
``CLOSURE_LONGEST``, since a last sound's span swallows the silence behind it."""

CLOSURE_EARLY = 0.045
"""Contact begins no more than this before its span, in s: what lies further ahead is the vowel before."""

CONTACT_ATTACK = 0.060
CONTACT_RELEASE = 0.055
"""f v: ramps of the lip to the teeth, in seconds."""

SIBILANT_JAW = 0.10
CLOSED_JAW = 0.12
CONTACT_JAW = 0.09
"""The most jawOpen may be inside a sibilant, a bilabial closure and a labiodental."""

INHALE_JAW = 0.09
INHALE_SECONDS = 0.22
"""Height and length of the opening before the first sound after a pause."""

SILENCE_HOLD = 0.015
SILENCE_CLOSE = 0.080
SILENCE_OPEN = 0.110
"""After the sound ends the mouth holds, then closes (together below 120 ms); before sound it opens, in seconds."""


@dataclass(frozen=True, slots=True)
class Viseme:
    """Targets per channel and dominance per group.

    ``kind``: "vowel", "closure" (lips meet), "contact" (lower lip on upper teeth), "sibilant", "other" or "none".
    """

    targets: tuple[float, ...]
    alphas: tuple[float, float, float, float]
    kind: str = "other"


def _viseme(kind: str, alphas: tuple[float, float, float, float], **targets: float) -> Viseme:
    return Viseme(tuple(targets.get(name, 0.0) for name in CHANNELS), alphas, kind)


VISEMES: dict[str, Viseme] = {
    # dominance of:            jaw rounding spreading edges
    "PP": _viseme("closure", (0.9, 0.08, 0.10, 0.8), jaw=0.10, press=0.1),
    "FF": _viseme("contact", (0.9, 0.15, 0.15, 1.0), jaw=0.08, upper_up=0.22, roll_lower=0.55),
    "PHI": _viseme("other", (0.8, 0.60, 0.30, 0.5), jaw=0.07, pucker=0.28, funnel=0.06, press=0.12),
    "W": _viseme("other", (0.7, 1.00, 0.60, 0.4), jaw=0.10, pucker=0.72, funnel=0.24),
    "W_JA": _viseme("other", (0.6, 0.50, 0.30, 0.3), jaw=0.12, pucker=0.26, funnel=0.06),
    "TH": _viseme("other", (0.7, 0.10, 0.15, 0.7), jaw=0.14, lower_down=0.15, upper_up=0.05, tongue=0.24),
    "SS": _viseme("sibilant", (0.9, 0.10, 0.35, 0.6), jaw=0.05, stretch=0.18, lower_down=0.24, upper_up=0.10),
    "CH": _viseme("sibilant", (0.9, 0.90, 0.50, 0.5), jaw=0.08, funnel=0.52, pucker=0.30, upper_up=0.10),
    "CH_FLAT": _viseme("sibilant", (0.9, 0.10, 0.45, 0.6), jaw=0.06, stretch=0.24, lower_down=0.22, upper_up=0.10),
    "CH_BACK": _viseme("sibilant", (0.9, 0.50, 0.35, 0.5), jaw=0.07, funnel=0.26, pucker=0.16, lower_down=0.14),
    "DD": _viseme("other", (0.4, 0.02, 0.03, 0.10), jaw=0.14, lower_down=0.06),
    "KK": _viseme("other", (0.3, 0.02, 0.02, 0.05), jaw=0.18),
    "RR": _viseme("other", (0.4, 0.60, 0.40, 0.2), jaw=0.15, funnel=0.32, pucker=0.20),
    "J": _viseme("other", (0.5, 0.15, 0.50, 0.2), jaw=0.10, stretch=0.26, smile=0.10),
    "Y": _viseme("vowel", (0.7, 1.00, 0.70, 0.4), jaw=0.08, pucker=0.80, funnel=0.20),
    "H": _viseme("none", (0.0, 0.0, 0.0, 0.0)),
    "HOLD": _viseme("none", (0.0, 0.0, 0.0, 0.0)),
    "NN_MORA": _viseme("other", (0.45, 0.05, 0.05, 0.2), jaw=0.09),
    "aa": _viseme("vowel", (0.7, 0.30, 0.30, 0.5), jaw=0.62, stretch=0.06, lower_down=0.20, upper_up=0.12),
    "ao": _viseme("vowel", (0.7, 0.50, 0.30, 0.4), jaw=0.54, funnel=0.34, pucker=0.06, lower_down=0.12),
    "ae": _viseme("vowel", (0.7, 0.30, 0.40, 0.5), jaw=0.52, stretch=0.24, lower_down=0.20, upper_up=0.14),
    "ah": _viseme("vowel", (0.7, 0.25, 0.30, 0.4), jaw=0.44, stretch=0.06, lower_down=0.16, upper_up=0.08),
    "schwa": _viseme("vowel", (0.45, 0.10, 0.10, 0.2), jaw=0.22, lower_down=0.08),
    "eh": _viseme("vowel", (0.7, 0.25, 0.45, 0.4), jaw=0.37, stretch=0.25, lower_down=0.16, upper_up=0.08),
    "er": _viseme("vowel", (0.6, 0.40, 0.30, 0.3), jaw=0.28, funnel=0.24, pucker=0.14),
    "uh_flat": _viseme("vowel", (0.65, 0.25, 0.30, 0.4), jaw=0.31, stretch=0.12, lower_down=0.12),
    "ih": _viseme("vowel", (0.65, 0.25, 0.70, 0.4), jaw=0.15, stretch=0.32, smile=0.12, lower_down=0.12, upper_up=0.05),
    "ih_lax": _viseme("vowel", (0.6, 0.20, 0.45, 0.3), jaw=0.20, stretch=0.22, smile=0.06, lower_down=0.10),
    "buzz": _viseme("vowel", (0.75, 0.15, 0.40, 0.5), jaw=0.08, stretch=0.16, lower_down=0.20, upper_up=0.08),
    "oh": _viseme("vowel", (0.7, 0.80, 0.50, 0.4), jaw=0.36, funnel=0.52, pucker=0.26),
    "aw": _viseme("vowel", (0.7, 0.65, 0.40, 0.4), jaw=0.48, funnel=0.46, pucker=0.12),
    "oo": _viseme("vowel", (0.65, 1.00, 0.70, 0.4), jaw=0.13, pucker=0.70, funnel=0.30),
    "oo_lax": _viseme("vowel", (0.6, 0.70, 0.40, 0.3), jaw=0.19, pucker=0.45, funnel=0.26),
    "u_ja": _viseme("vowel", (0.6, 0.50, 0.30, 0.3), jaw=0.13, pucker=0.26, funnel=0.08),
    "u_ja_quiet": _viseme("other", (0.7, 0.30, 0.15, 0.3), jaw=0.05, pucker=0.14, funnel=0.03),
    "i_ja_quiet": _viseme("other", (0.7, 0.10, 0.30, 0.3), jaw=0.05, stretch=0.18),
}
"""Every viseme the planner knows, by name."""

VISEME_NAMES: tuple[str, ...] = tuple(VISEMES)
VISEME_INDEX: dict[str, int] = {name: index for index, name in enumerate(VISEME_NAMES)}
TARGETS: NDArray[np.float64] = np.array([viseme.targets for viseme in VISEMES.values()])
ALPHAS: NDArray[np.float64] = np.array([viseme.alphas for viseme in VISEMES.values()])

EMOTION_SPEECH: dict[str, tuple[float, float]] = {
    "neutral": (1.0, 1.0),
    "happy": (1.08, 1.0),
    "sad": (0.82, 0.92),
    "angry": (1.14, 1.08),
    "surprised": (1.10, 1.05),
    "relaxed": (0.90, 0.95),
    "shy": (0.80, 0.90),
    "thinking": (0.90, 0.95),
}
"""How an emotion scales (jaw, lips) of speech: the style plane of JALI, kept near its middle."""
