"""One loaded voice for all tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines.models.kokoro import KokoroEngine
from idol.voice import KokoroVoice


@pytest.fixture(scope="session")
def engine(model_path: Callable[[str], Path]) -> Iterator[KokoroEngine]:
    engine = KokoroEngine(model_path("kokoro"), threads=2)
    engine.load()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def voice(engine: KokoroEngine) -> KokoroVoice:
    return KokoroVoice(engine)
