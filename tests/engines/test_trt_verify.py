"""Which plans are whole, which still belong to what is here, which load; what is thrown away."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from engines.trt import verify
from engines.trt.build import ensure_plan
from engines.trt.flavours import Card, Flavour
from engines.trt.load_check import trouble_with
from engines.trt.plans import BuildRequest, known_plans, plan_note, plans_dir
from engines.trt.verify import CheckedPlan, Expected, check_loading, check_plans, file_damage, remove, rubbish
from tests.engines.fake_card import FakeDevice, write_plan
from tests.engines.small_builds import small_request, use_fake_builder

RTX = Flavour("tensorrt_rtx", "1.7.1.116")
TEN = Flavour("tensorrt", "10.13")
CARD = Card("Some card", 89, 8 << 30, 13000)


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_fake_builder(monkeypatch, tmp_path / "models")


@pytest.fixture
def request_of(tmp_path: Path) -> BuildRequest:
    return small_request("voice-A", tmp_path)


def checked(*requests: BuildRequest, flavours: tuple[Flavour, ...] = (RTX,), card: Card | None = None) -> CheckedPlan:
    """The only plan here against the models' ``requests``."""
    wanted = {request.name: (request,) for request in requests}
    (found,) = check_plans(lambda flavour: Expected(wanted), flavours, card)
    return found


def test_a_whole_plan_is_good_and_vouched_for(request_of: BuildRequest) -> None:
    path = ensure_plan(request_of, RTX, None)
    note = plan_note(path)
    assert file_damage(path) == "" and len(str(note["sha256"])) == 64 and len(str(note["graph_sha256"])) == 64
    found = checked(request_of)
    assert (found.state, found.reason, found.targets, found.name) == ("good", "", (89,), "voice-A")
    assert found.bytes == path.stat().st_size and found.flavour == "tensorrt_rtx 1.7.1.116"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda content: b"", "empty"),
        (lambda content: content[:-1], "were built"),
        (lambda content: content[: len(content) // 2], "were built"),
        (lambda content: content + b"\0", "were built"),
        (lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:], "SHA-256 differs"),
    ],
)
def test_damage_is_found(request_of: BuildRequest, harm: object, said: str) -> None:
    path = ensure_plan(request_of, RTX, None)
    path.write_bytes(harm(path.read_bytes()))  # type: ignore[operator]
    found = checked(request_of)
    assert found.state == "damaged" and said in found.reason


@pytest.mark.parametrize("note", [None, "", "[1]", '{"name": '])
def test_a_plan_without_a_readable_note_cannot_be_vouched_for(request_of: BuildRequest, note: str | None) -> None:
    path = ensure_plan(request_of, RTX, None)
    if note is None:
        path.with_suffix(".json").unlink()
    else:
        path.with_suffix(".json").write_text(note)
    found = checked(request_of)
    assert found.state == "damaged" and "note" in found.reason and found.name == "voice-A"


def test_an_old_note_without_a_checksum_is_no_damage(request_of: BuildRequest) -> None:
    path = ensure_plan(request_of, RTX, None)
    note = {key: value for key, value in plan_note(path).items() if key != "sha256"}
    path.with_suffix(".json").write_text(json.dumps(note))
    assert checked(request_of).state == "unsure"


def test_plans_that_nobody_will_find_again_are_stale(request_of: BuildRequest) -> None:
    ensure_plan(request_of, RTX, None)
    assert "not installed" in checked(request_of, flavours=(TEN,)).reason
    assert "version 1.7.1.116" in checked(request_of, flavours=(Flavour("tensorrt_rtx", "1.8.0"),)).reason
    assert "no model" in checked(replace(request_of, name="voice-B")).reason
    for other in (replace(request_of, level=0), replace(request_of, half=False), replace(request_of, identity="x")):
        found = checked(other)
        assert found.state == "stale" and "older graph" in found.reason
    model = onnx.load(str(request_of.graph))
    model.producer_name = "another"
    onnx.save(model, str(request_of.graph))
    assert checked(request_of).state == "stale"
    (unmade,) = check_plans(lambda flavour: Expected({"voice-A": ()}), (RTX,), None)
    assert unmade.state == "unsure", "nothing to compare with is no proof"
    (unread,) = check_plans(lambda flavour: Expected({}, complete=False), (RTX,), None)
    assert unread.state == "unsure", "it may belong to the model that cannot be read"


def test_plans_of_one_card_are_stale_on_another(request_of: BuildRequest) -> None:
    request = replace(request_of, targets=())
    path = ensure_plan(request, TEN, CARD)
    assert plan_note(path)["card"] == "Some card"
    assert checked(request, flavours=(TEN,), card=CARD).state == "good"
    assert "Some card" in checked(request, flavours=(TEN,), card=replace(CARD, name="Other")).reason
    assert "driver" in checked(request, flavours=(TEN,), card=replace(CARD, driver=12040)).reason
    assert checked(request, flavours=(TEN,), card=None).state == "unsure"


def test_names_with_a_context_belong_to_their_part(request_of: BuildRequest) -> None:
    wanted = {"llama-64": (request_of,), "llama-64x128-attend": (), "llama-64x128-head": (request_of,)}
    expected = Expected(wanted)
    assert expected.of("llama-64x128-attend-2048") == () and expected.of("llama-64x128-head") == (request_of,)
    assert expected.of("llama-64x1289-head") is None and expected.of("llama") is None
    assert expected.of("llama-64x128-step-attend-2048") is None


def test_plans_load_only_where_they_fit(
    request_of: BuildRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ensure_plan(request_of, RTX, None)
    ensure_plan(replace(request_of, targets=(120,)), RTX, None)
    wanted = Expected({"voice-A": (request_of,)})
    found = check_plans(lambda flavour: wanted, (RTX,), CARD)
    assert {plan.loaded for plan in check_loading(found, None, None, "no card (none)")} == {
        "not loaded: no card (none)"
    }
    loader = tmp_path / "loader.py"
    monkeypatch.setattr(verify, "LOADER", (str(loader),))
    for program, state, said in (
        ("print('a library speaks'); print('{\"trouble\": \"\"}')", "good", "loads"),
        ('print(\'{"trouble": "it is refused"}\')', "damaged", "it is refused"),
        ("import sys; sys.exit('it dies')", "damaged", "it dies"),
    ):
        loader.write_text(program)
        by_target = {plan.targets: plan for plan in check_loading(found, RTX, CARD, "")}
        assert by_target[(89,)].state == state and said in by_target[(89,)].reason + by_target[(89,)].loaded
        assert by_target[(120,)].loaded.startswith("not loaded")


def test_the_child_says_why_a_plan_does_not_load(tmp_path: Path, request_of: BuildRequest) -> None:
    device = FakeDevice()
    plan = write_plan(tmp_path / "good.plan", request_of.graph, [{"x": [[4], [4], [4]]}])
    assert trouble_with(plan, device) == ""  # type: ignore[arg-type]
    plan.write_bytes(plan.read_bytes()[:-5])
    assert "refuses it" in trouble_with(plan, device)  # type: ignore[arg-type]
    plan.unlink()
    assert "cannot be read" in trouble_with(plan, device)  # type: ignore[arg-type]


def test_only_rubbish_is_thrown_away(request_of: BuildRequest) -> None:
    good = ensure_plan(request_of, RTX, None)
    stale = ensure_plan(replace(request_of, level=0), RTX, None)
    damaged = ensure_plan(replace(request_of, targets=(120,)), RTX, None)
    damaged.write_bytes(b"")
    folder = plans_dir()
    (folder / "gone-1.json").write_text("{}")
    (folder / "timing-8.cache").write_bytes(b"x")
    (folder / "voice-9.failed").write_text("why")
    for name, age in (("building-1-old", 7 * 3600), ("building-2-new", 60)):
        (folder / name).mkdir()
        (folder / name / "half.plan").write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    found = check_plans(lambda flavour: Expected({"voice-A": (request_of,)}), (RTX,), None)
    size = stale.stat().st_size
    freed, kept = remove(rubbish(found))
    assert freed > size and kept == []
    assert [path for path, _ in known_plans()] == [good]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [good.name, good.with_suffix(".json").name, "timing-8.cache", "voice-9.failed", "building-2-new"]
    )
    assert not stale.exists() and not damaged.exists()
