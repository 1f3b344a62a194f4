"""What is drawn today against the golden pictures. On failure: got, want and their difference, side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from idol.render.offscreen import OffscreenStage
from tests.render.golden import FOLDER, GOLDENS, LARGEST, SIZE, differs, draw, show_difference, stored


@pytest.fixture(scope="module")
def stage() -> Iterator[OffscreenStage]:
    with OffscreenStage() as held:
        yield held


@pytest.mark.parametrize("name", GOLDENS)
def test_golden(stage: OffscreenStage, name: str) -> None:
    got, want = draw(stage, GOLDENS[name]), stored(name)
    wrong = differs(got, want)
    if wrong:
        path = show_difference(name, got, want)
        pytest.fail(f"{name} {wrong}. Look at {path}; if it is meant, run: python -m tests.render.golden {name}")


def test_every_golden_is_small_and_used() -> None:
    held = {path.stem: path.stat().st_size for path in FOLDER.iterdir()}
    assert set(held) == set(GOLDENS)
    assert max(held.values()) <= LARGEST


def test_a_picture_that_differs_is_told_and_shown(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("pictures")
    monkeypatch.setenv("IDOL_PICTURES", str(folder))
    want = stored("made_surfaces")
    assert not differs(want, want)
    # A closed eye is some hundred pixels of 65,536; a shade that is off by two steps is all of them.
    spot = want.copy()
    spot[100:130, 100:130] = 255 - spot[100:130, 100:130]
    shifted = np.minimum(want.astype(int) + 2, 255).astype(np.uint8)
    for wrong in (spot, shifted):
        assert "differs by" in differs(wrong, want)
    assert "pixels" in differs(want[:100], want)
    path = show_difference("spot", spot, want)
    assert path.parent == folder
    with Image.open(path) as sheet:
        assert sheet.size == (3 * SIZE, SIZE)
