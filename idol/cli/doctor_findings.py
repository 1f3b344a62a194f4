"""What the doctor says about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["good", "note", "bad"]
GOOD: State = "good"
NOTE: State = "note"
BAD: State = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """``bad`` stops the app, ``note`` does not. Everything that is not good has a remedy."""

    name: str
    state: State
    value: str
    remedy: str = ""
