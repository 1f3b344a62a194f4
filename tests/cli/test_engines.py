"""``main.py engines``: what is listed, verified, thrown away, and what is said to words that cannot be followed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from engines.trt import build, flavours
from engines.trt.flavours import Card
from engines.trt.plans import plans_dir
from idol.cli import main
from idol.cli.engines_list import short_reason

TINY = Path(__file__).parents[1] / "data" / "llm" / "tiny_llama_f16.gguf"
PARTS = {
    "step project": "step-project", "step attend": "step-attend-256", "project": "project", "attend": "attend-256",
    "head": "head", "step attend, shorter": "step-attend-128", "attend, shorter": "attend-128",
}  # fmt: skip
"""The tiny model's parts and how the names of their plans go on; its context is 256 tokens."""
FAKE = str(Path(__file__).parents[1] / "engines" / "fake_builder.py")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with the tiny model of the settings, no card, and a builder that takes no time."""
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(build, "CHILD", (FAKE,))
    flavours.find_card.cache_clear()
    (tmp_path / "settings.toml").write_text(f"[llm]\nmodel = '{TINY}'\n")


def rows_of(text: str) -> list[list[str]]:
    return [re.split(" {2,}", line) for line in text.splitlines() if line.startswith("tiny_llama_f16 ")]


def build_tiny(*words: str) -> int:
    return main(["engines", "build", "--model", str(TINY), "--target", "sm89", *words])


def plan_of(part: str) -> Path:
    """The only plan of the tiny model's ``part``."""
    (plan,) = plans_dir().glob(f"llama-64x128-{PARTS[part]}-{'[0-9a-f]' * 16}.plan")
    return plan


def test_every_part_is_listed_with_its_plan(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["engines", "list"]) == 0
    said = capsys.readouterr().out
    assert "engines run on: the CPU" in said
    assert [row[1:3] for row in rows_of(said)] == [[part, "missing"] for part in PARTS]
    monkeypatch.setenv("IDOL_FAKE_BUILDER", json.dumps({"llama-64x128-head": "refuse"}))
    assert build_tiny() == 1
    capsys.readouterr()
    assert main(["engines", "list"]) == 0
    rows = {row[1]: row for row in rows_of(capsys.readouterr().out)}
    head = rows.pop("head")
    plans = {part: plan_of(part) for part in PARTS if part != "head"}
    assert [row[1:] for row in rows.values()] == [
        [part, "present", "SM89", "tensorrt_rtx", "0.0", "0.1", plan.stem[-16:]] for part, plan in plans.items()
    ]
    assert set(plans_dir().glob("*.plan")) == set(plans.values())
    assert head[1:4] == ["head", "failed", "SM89"] and "/decoder/odd_one" in head[-1].split()
    plans["step project"].write_bytes(b"")
    (plans_dir() / "other-0123456789abcdef.plan").write_bytes(b"x")
    assert main(["engines", "list"]) == 0
    said = capsys.readouterr().out
    assert [row[2] for row in rows_of(said)] == [
        "damaged", "present", "present", "present", "failed", "present", "present",
    ]  # fmt: skip
    assert "1 more plans belong to none of these" in said


def test_reasons_name_the_layer() -> None:
    """As TensorRT-RTX words it for an operation that a card cannot do, and as we do for one that it does not know."""
    long = (
        "kokoro-A could not be built: IBuilder::buildSerializedNetwork: Error Code 1: Myelin ([pass.cpp:337: check] "
        "Cannot compile operation '/encoder/fc/Gemm' for Turing (SM75): FP32 GEMM is not supported. In compileGraph)."
    )
    assert short_reason(long) == (
        "Cannot compile operation '/encoder/fc/Gemm' for Turing (SM75): FP32 GEMM is not supported"
    )
    assert short_reason("x could not be built: node /a/b (Odd): no importer") == "node /a/b (Odd): no importer"
    assert short_reason("something\nelse " * 40).startswith("something else") and len(short_reason("x" * 999)) == 140


def test_plans_are_forgotten(capsys: Capture) -> None:
    assert build_tiny() == 0
    (plans_dir() / "timing-8.cache").write_bytes(b"x")
    assert main(["engines", "forget"]) == 0
    assert "7 plans forgotten" in capsys.readouterr().out
    assert [path.name for path in plans_dir().iterdir()] == ["timing-8.cache"]


def test_verify_and_prune(capsys: Capture) -> None:
    assert main(["engines", "verify"]) == 0
    assert "no plans in" in capsys.readouterr().out
    assert build_tiny() == 0
    capsys.readouterr()
    assert main(["engines", "verify"]) == 0
    said = capsys.readouterr().out
    assert said.count(": good\n") == 7 and "7 plans: 7 good, 0 damaged, 0 stale" in said
    assert "7 not loaded: no card" in said
    attend = plan_of("attend")
    kept = {plan_of(part) for part in PARTS if part != "attend"}
    attend.write_bytes(attend.read_bytes()[:-1])
    # Plans of another context: whole, and not what the program asks for.
    assert build_tiny("--context", "64") == 0
    capsys.readouterr()
    assert main(["engines", "verify"]) == 1
    said = capsys.readouterr().out
    lines = {line.split()[0]: line for line in said.splitlines() if ".plan" in line}
    assert "damaged: the file has" in lines[attend.name] and len(lines) == 11
    stale = sorted(name for name, line in lines.items() if ": stale: " in line)
    assert [name.rpartition("-")[0] for name in stale] == [
        f"llama-64x128-{part}" for part in ("attend-32", "attend-64", "step-attend-32", "step-attend-64")
    ]
    assert "main.py engines prune" in said
    assert main(["engines", "prune", "--dry-run"]) == 0
    assert len(list(plans_dir().glob("*.plan"))) == 11
    assert main(["engines", "prune"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in (attend.name, *stale)) and "removed" in said
    assert set(plans_dir().glob("*.plan")) == kept
    assert main(["engines", "verify"]) == 0
    assert main(["engines", "prune"]) == 0
    assert "nothing to remove" in capsys.readouterr().out


def test_plans_of_a_model_that_cannot_be_read_are_left_alone(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "mine.gguf"
    model.write_bytes(TINY.read_bytes())
    (tmp_path / "settings.toml").write_text(f"[llm]\nmodel = '{model}'\n")
    assert build_tiny() == 0
    model.write_bytes(b"GGUF and then nothing")
    capsys.readouterr()
    assert main(["engines", "verify"]) == 0
    said = capsys.readouterr().out
    assert said.count(": unsure: ") == 7 and "0 stale" in said
    assert main(["engines", "prune"]) == 0
    assert len(list(plans_dir().glob("*.plan"))) == 7
    assert main(["engines", "list"]) == 0
    assert "mine" in capsys.readouterr().out


ORDERS = {
    "no model of that name": (["build", "--model", "nonsense", "--target", "sm89"], "no model 'nonsense'"),
    "not fetched": (["build", "--model", "smollm2-135m", "--target", "sm89"], "models fetch smollm2-135m"),
    "the voice is not here": (["build", "--voice", "--target", "sm89"], "models fetch kokoro"),
    "no engine of ours": (["build", "--model", "whisper-base", "--target", "sm89"], "has no TensorRT engine"),
    "no such file": (["build", "--model", "/nowhere/x.gguf", "--target", "sm89"], "does not exist"),
    "no such card": (["build", "--model", str(TINY), "--target", "sm99"], "sm86 (RTX 30)"),
    "no card here": (["build", "--model", str(TINY)], "--target"),
    "nor this one": (["build", "--model", str(TINY), "--target", "this"], "--target"),
    "no such flavour": (["build", "--model", str(TINY), "--flavour", "onnx"], "tensorrt_rtx, tensorrt, tensorrt_8"),
    "flavour not installed": (["build", "--model", str(TINY), "--flavour", "tensorrt_8"], "pip install"),
    "no jobs": (["build", "--model", str(TINY), "--target", "sm89", "--jobs", "0"], "--jobs is 0"),
    "no context": (["build", "--model", str(TINY), "--target", "sm89", "--context", "1"], "--context is 1"),
    "no decoder": (["build", "--model", str(TINY.with_name("vocab_only_gpt2.gguf")), "--target", "sm89"], "'gpt2'"),
    "no time": (["bench", "--seconds", "0"], "--seconds is 0"),
    "nothing of that name to time": (["bench", "--model", "nonsense"], "no model 'nonsense'"),
    "figures into nowhere": (["bench", "--model", "face", "-o", "/nowhere/f.json"], "-o"),
    "a table into a file": (["matrix", "-o", str(TINY)], "is a file"),
    "a table without the voice": (["matrix", "--quick"], "models fetch kokoro"),
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_words_that_cannot_be_followed(
    order: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words, remedy = ORDERS[order]
    assert main(["engines", *words]) == 2
    said = capsys.readouterr()
    assert remedy in said.err and "Traceback" not in said.err
    assert len(said.err.strip().splitlines()) == 1, "one line"
    assert list(plans_dir().glob("*")) == []


def test_without_any_tensorrt(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flavours, "_version", lambda package: "")
    for words in (["build", "--model", str(TINY), "--target", "sm89"], ["matrix", "--quick"]):
        assert main(["engines", *words]) == 2
        assert "pip install tensorrt_rtx" in capsys.readouterr().err
    assert main(["engines", "list"]) == 0
    assert "no TensorRT installed" in capsys.readouterr().out
    assert main(["engines", "verify"]) == 0


def test_flavours_that_need_the_card(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorRT 10 times kernels: only where the card is, only for that card."""
    versions = {"tensorrt_cu13": "10.13.0"}
    monkeypatch.setattr(flavours, "_version", lambda package: versions.get(package, ""))
    order = ["build", "--model", str(TINY), "--flavour", "tensorrt"]
    assert main(["engines", *order]) == 2
    assert "TensorRT-RTX, which needs none" in capsys.readouterr().err
    monkeypatch.setattr(flavours, "find_card", lambda: Card("A card", 89, 8 << 30, 13000))
    assert main(["engines", *order, "--target", "sm120"]) == 2
    assert "only for the card that is here, SM89" in capsys.readouterr().err
    assert main(["engines", *order]) == 0
    said = capsys.readouterr().out
    assert "TensorRT 10.13.0 builds tiny_llama_f16" in said and "card" in said
    monkeypatch.setattr(flavours, "find_card", lambda: Card("An old card", 61, 8 << 30, 13000))
    assert main(["engines", *order]) == 2
    assert "7.5" in capsys.readouterr().err


def test_a_card_that_rtx_does_not_know(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flavours, "find_card", lambda: Card("A data centre's card", 90, 8 << 30, 13000))
    order = ["build", "--model", str(TINY), "--flavour", "tensorrt_rtx"]
    assert main(["engines", *order]) == 2
    assert "'this' (SM90)" in capsys.readouterr().err
    monkeypatch.setattr(flavours, "find_card", lambda: Card("A gamer's card", 89, 8 << 30, 13000))
    assert main(["engines", *order]) == 0
    said = capsys.readouterr().out
    assert all(f"tiny_llama_f16 {part}, SM89: built" in said for part in PARTS)


def test_a_folder_that_cannot_be_written(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    assert build_tiny() == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["list", "build", "matrix", "verify", "prune", "bench", "forget"])
def test_help_is_there(verb: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as left:
        main(["engines", verb, "--help"])
    assert left.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) > 4
