"""The snapshot command, as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from idol.cli import main

GODETTE = str(Path(__file__).resolve().parents[1] / "data" / "models" / "godette_vrm1.vrm")


def test_a_picture_of_the_asked_size(tmp_path: Path) -> None:
    out = tmp_path / "new" / "her.png"
    words = [
        "--avatar",
        GODETTE,
        "--set",
        "jawOpen=0.6",
        "--expression",
        "happy=1",
        "--gaze",
        "10,-5",
        "--head",
        "15,0,5",
    ]
    words += ["--framing", "face", "--size", "160x120", "--background", "#00ff00", "-o", str(out)]
    assert main(["snapshot", *words]) == 0
    pixels = np.asarray(Image.open(out))
    assert pixels.shape == (120, 160, 4)
    assert tuple(pixels[0, 0]) == (0, 255, 0, 255)
    assert (pixels[..., 1] < 250).mean() > 0.1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--set", "jawOpne=1"], "jawOpen"), (["--set", "jawOpen=3"], "within 0 to 1"),
        (["--expression", "hapy=1"], "happy"), (["--size", "9x9"], "16 to 8192"), (["--gaze", "1"], "2 numbers"),
        (["--background", "red"], "#rrggbb"), (["--background", "key-red"], "key-green"),
        (["--zoom", "0"], "above 0"), (["--zoom", "nan"], "above 0"), (["--pan", "1"], "two numbers"),
        (["--pan", "inf,0"], "two numbers"),
        (["--gesture", "wav"], "Did you mean wave"),
        (["--at", "2"], "--gesture"),
        (["--gesture", "wave", "--at", "-1"], "seconds within"),
        (["--gesture", "wave", "--animation", "x"], "one of them"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], hint: str
) -> None:
    assert main(["snapshot", "--avatar", GODETTE, *words, "-o", str(tmp_path / "x.png")]) == 2
    assert hint in capsys.readouterr().err


def test_angles_may_begin_with_a_minus(tmp_path: Path) -> None:
    same = tmp_path / "joined.png", tmp_path / "apart.png"
    common = ["snapshot", "--avatar", GODETTE, "--size", "64x64"]
    assert main([*common, "--orbit=-45,10", "--head=-5,0,0", "-o", str(same[0])]) == 0
    assert main([*common, "--orbit", "-45,10", "--head", "-5,0,0", "-o", str(same[1])]) == 0
    assert same[0].read_bytes() == same[1].read_bytes()


def test_an_emotion_leaves_the_mouth_to_what_is_set(tmp_path: Path) -> None:
    pictures = []
    for words in ([], ["--set", "jawOpen=0.8"]):
        out = tmp_path / f"{len(pictures)}.png"
        assert main(["snapshot", "--emotion", "happy", "--size", "160x160", *words, "-o", str(out)]) == 0
        pictures.append(np.asarray(Image.open(out)).astype(int))
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 40).sum() > 20


def test_gestures_and_animations_pose_her(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    animation = str(Path(GODETTE).parents[1] / "animations" / "idle_loop.vrma")
    pictures = []
    for words in (
        [],
        ["--gesture", "wave", "--at", "0.9"],
        ["--animation", animation],
        ["--animation", animation, "--at", "2"],
    ):
        out = tmp_path / f"{len(pictures)}.png"
        common = ["--avatar", GODETTE, "--framing", "full", "--size", "120x120", "-o", str(out)]
        assert main(["snapshot", *common, *words]) == 0
        pictures.append(np.asarray(Image.open(out)).astype(int))
    for i, one in enumerate(pictures):
        for other in pictures[:i]:
            assert (np.abs(one - other).max(axis=2) > 40).mean() > 0.005
    assert main(["snapshot", "--animation", GODETTE, "-o", str(tmp_path / "x.png")]) == 1
    assert "VRMC_vrm_animation" in capsys.readouterr().err


def test_a_bad_file_is_an_error_with_a_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.vrm"
    bad.write_bytes(Path(GODETTE).read_bytes()[:5000])
    assert main(["snapshot", "--avatar", str(bad), "-o", str(tmp_path / "x.png")]) == 1
    assert "cut short" in capsys.readouterr().err
    assert main(["snapshot", "--avatar", str(tmp_path / "none.vrm"), "-o", str(tmp_path / "x.png")]) == 1
    assert "Check the path" in capsys.readouterr().err


def picture(tmp_path: Path, *words: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    out = tmp_path / "her.png"
    assert main(["snapshot", "--avatar", GODETTE, "--size", "160x120", *words, "-o", str(out)]) == 0
    return np.asarray(Image.open(out))


def test_backgrounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clear = picture(tmp_path, "--background", "transparent")
    assert clear[0, 0, 3] == 0 and (clear[..., 3] == 255).mean() > 0.1
    keyed = picture(tmp_path, "--background", "key-magenta")
    assert ((keyed == (255, 0, 255, 255)).all(axis=2) == (clear[..., 3] < 128)).all()
    Image.new("RGB", (320, 240), (12, 34, 56)).save(tmp_path / "wall.png")
    wall = picture(tmp_path, "--background", str(tmp_path / "wall.png"))
    assert (wall[clear[..., 3] == 0] == (12, 34, 56, 255)).all()
    (tmp_path / "bad.png").write_text("no")
    words = ["--avatar", GODETTE, "--background", str(tmp_path / "bad.png"), "-o", str(tmp_path / "x.png")]
    assert main(["snapshot", *words]) == 1
    assert "no PNG, JPEG or WebP" in capsys.readouterr().err


def test_zoom_and_pan(tmp_path: Path) -> None:
    def alpha(*words: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return picture(tmp_path, "--background", "transparent", *words)[..., 3] > 128

    plain = alpha("--framing", "full")
    assert alpha("--framing", "full", "--zoom", "1.5").sum() > 1.5 * plain.sum()
    moved = alpha("--framing", "full", "--pan", "0.25,0")
    columns = np.arange(160)
    middles = [(columns * shape).sum() / shape.sum() for shape in (plain, moved)]
    assert middles[1] - middles[0] == pytest.approx(0.25 * 120, abs=2)
