"""``main.py engines build`` and ``matrix``: what a user sees, cancels and gets."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engines.errors import EngineError
from engines.models.kokoro_trt import voice_graphs
from engines.models.trt_parts import DECODER_PARTS
from engines.trt import build, flavours
from engines.trt.jobs import Job, Made, Outcome
from engines.trt.plans import known_plans, plans_dir
from idol.cli import main
from idol.cli.engines_progress import BuildBar, print_summary
from tests.cli.test_engines import FAKE, TINY

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_path: Callable[[str], Path]) -> Path:
    """A models' folder of its own with the voice in it, its graphs made already."""
    source = model_path("kokoro")
    graphs = voice_graphs(source, typed=True)
    assert graphs is not None
    root = tmp_path / "models"
    (root / "files").mkdir(parents=True)
    (root / "built").mkdir()
    (root / "files" / "kokoro").symlink_to(source, target_is_directory=True)
    (root / "built" / graphs.name).symlink_to(graphs, target_is_directory=True)
    monkeypatch.setenv("IDOL_MODELS", str(root))
    flavours.find_card.cache_clear()
    return root


def test_a_real_decoder_is_built_for_cards_that_are_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    assert (
        main(["engines", "build", "--model", str(TINY), "--target", "sm89,8.6", "--target", "89", "--jobs", "2"]) == 0
    )
    said = capsys.readouterr().out
    assert said.count("built in") == 14 and said.count(" built ") >= 10
    notes = {path: note for path, note in known_plans()}
    assert sorted(note["targets"] for note in notes.values()) == [[86]] * 7 + [[89]] * 7  # type: ignore[type-var]
    assert all(path.read_bytes()[:4] != b"plan" and note["layers"] for path, note in notes.items())
    assert main(["engines", "build", "--model", str(TINY), "--target", "sm89"]) == 0
    assert capsys.readouterr().out.count("there already") == 7


@pytest.mark.models
def test_a_real_part_of_the_voice(voice: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """B alone is built for real; the others are there already."""
    monkeypatch.setattr(build, "CHILD", (FAKE,))
    assert main(["engines", "build", "--voice", "--target", "sm89"]) == 0
    monkeypatch.undo()
    monkeypatch.setenv("IDOL_MODELS", str(voice))
    (source,) = plans_dir().glob("kokoro-B-*.plan")
    fake = source.read_bytes()
    source.unlink()
    capsys.readouterr()
    assert main(["engines", "build", "--voice", "--target", "sm89"]) == 0
    said = capsys.readouterr().out
    assert said.count("there already") == 2 and "kokoro B, SM89: built in" in said
    assert source.stat().st_size > 100_000 > len(fake)
    assert main(["engines", "verify"]) == 0


@pytest.mark.models
def test_a_part_that_fails_leaves_the_others(voice: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CHILD", (FAKE,))
    monkeypatch.setenv("IDOL_FAKE_BUILDER", json.dumps({"kokoro-B": "refuse"}))
    order = ["engines", "build", "--voice", "--model", str(TINY), "--target", "sm120"]
    assert main(order) == 1
    said = capsys.readouterr()
    assert "kokoro B, SM120" in said.err and "/decoder/odd_one (NoSuchOperator)" in said.err
    table = [line.split() for line in said.out.splitlines() if " SM120 " in line]
    assert [row[-3] for row in table] == ["built", "failed", "built", *["built"] * 7]
    monkeypatch.setenv("IDOL_FAKE_BUILDER", "{}")
    assert main(order) == 1
    assert "tried before" in capsys.readouterr().err
    assert main([*order, "--force"]) == 0
    monkeypatch.setenv("IDOL_FAKE_BUILDER", json.dumps({"kokoro-A": "full"}))
    assert main([*order, "--force"]) == 2
    assert "No space left" in capsys.readouterr().err


@pytest.mark.models
def test_the_quick_table(voice: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CHILD", (FAKE,))
    order = ["engines", "matrix", "--quick", "-o", str(tmp_path / "table")]
    assert main(order) == 0
    document = json.loads((tmp_path / "table" / "matrix.json").read_text())
    built = {(cell["part"], cell["target"]) for cell in document["cells"] if cell["result"] == "ok"}
    assert len(built) == len(document["cells"])
    assert {part for part, target in built if target == 89} >= {f"kokoro {part}" for part in "ABD"}
    for family in ("SmolLM2-135M", "Qwen2.5-0.5B", "Qwen3-0.6B"):
        for half in DECODER_PARTS:
            assert {target for part, target in built if part == f"{family} {half}"} == {86, 89, 120}, half
    assert "kokoro D" in (tmp_path / "table" / "matrix.md").read_text()
    capsys.readouterr()
    assert main(order) == 0
    assert " built " not in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C of a console is sent otherwise there")
def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    """The whole program, as a terminal interrupts it: the signal goes to its whole process group."""
    program = (
        "import sys; from engines.trt import build; from idol.cli import main;"
        f"build.CHILD = ({FAKE!r},); sys.exit(main(sys.argv[1:]))"
    )
    environment = {
        **os.environ, "IDOL_MODELS": str(tmp_path / "models"), "PYTHONPATH": str(ROOT),
        "IDOL_FAKE_BUILDER": json.dumps({"llama-64x128-head": "slow"}),
    }  # fmt: skip
    child = subprocess.Popen(
        [sys.executable, "-c", program, "engines", "build", "--model", str(TINY), "--target", "sm89"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    plans = tmp_path / "models" / "built" / "plans"
    deadline = time.monotonic() + 30
    builder = ""
    while time.monotonic() < deadline and not builder:
        time.sleep(0.05)
        builder = "".join(path.read_text() for path in plans.glob("building-*/llama-64x128-head-*.plan"))
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "4 of 7 plans are there and kept" in err and "Traceback" not in err
    assert "cancelled" in out
    assert sorted(path.suffix for path in plans.iterdir()) == [".json"] * 4 + [".plan"] * 4
    with pytest.raises(ProcessLookupError):
        os.kill(int(builder), 0)


# -- the bar -------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run_bar(out: io.StringIO, expected: float = 0.0) -> str:
    now = [100.0]
    bar = BuildBar(2, out, lambda: now[0])
    first, second = (Job(name, 89, lambda *_: Made(Path(), True, 1.0, 1), expected) for name in ("voice A", "voice B"))
    bar.began(first)
    bar.moved(first, 0.0, "building voice-A")
    now[0] += 12
    bar.moved(first, 0.4, "building voice-A: Building engine, 12 s")
    bar.tick()
    now[0] += 12
    bar.moved(first, 0.3, "building voice-A: Building engine, 24 s")
    bar.tick()
    bar.ended(Outcome(first, "built", Made(Path("a.plan"), True, 24.0, 51_100_000)))
    bar.began(second)
    bar.ended(Outcome(second, "failed", error=EngineError("no layer")))
    bar.end()
    return out.getvalue()


def test_the_bar_tells_what_is_known() -> None:
    said = run_bar(io.StringIO(), expected=30.0)
    assert said.splitlines() == [
        " 40% voice A, SM89: Building engine, 12 s, about 18 s left",
        " 40% voice A, SM89: Building engine, 24 s, about 6 s left",
        "1/2 voice A, SM89: built in 24.0 s, 51.1 MB",
        "2/2 voice B, SM89: failed (why: below)",
    ]
    assert "left" not in run_bar(io.StringIO()), "no guess without an earlier build"


def test_the_bar_moves_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    said = run_bar(Terminal())
    drawn = [text for text in said.replace("\n", "\r").split("\r") if text.startswith("[")]
    assert any(text.startswith("[########............] 40% voice A") for text in drawn)
    assert all(len(text) < 100 for text in drawn)
    assert "\n" in said and not said.endswith("]")


def test_the_summary_is_a_table(capsys: Capture) -> None:
    job = Job("voice A", 89, lambda *_: Made(Path(), True, 1.0, 1))
    print_summary([Outcome(job, "built", Made(Path("a"), True, 6.25, 51_100_000)), Outcome(job, "cancelled")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["part", "target", "result", "seconds", "MB"],
        ["voice", "A", "SM89", "built", "6.2", "51.1"],
        ["voice", "A", "SM89", "cancelled", "-", "-"],
    ]
