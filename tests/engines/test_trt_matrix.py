"""Many builds at once and the table of parts and cards, with a builder that takes no time."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from engines.errors import Cancelled
from engines.trt.build import Progress, StorageError, ensure_plan
from engines.trt.flavours import Card, Flavour, TensorRTError
from engines.trt.jobs import Job, Made, Outcome, build_job, check_storage, run_jobs
from engines.trt.matrix import TARGETS, MatrixPart, MatrixTable, matrix_jobs
from engines.trt.plans import BuildRequest, plan_note, plans_dir
from tests.engines.small_builds import small_request, use_fake_builder

RTX = Flavour("tensorrt_rtx", "1.7.1.116")


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ticks = 0
        self.fractions: dict[str, list[float]] = {}

    def began(self, job: Job) -> None:
        self.lines.append(f"began {job.name}")

    def moved(self, job: Job, fraction: float, text: str) -> None:
        self.fractions.setdefault(job.name, []).append(fraction)

    def ended(self, outcome: Outcome) -> None:
        self.lines.append(f"{outcome.result} {outcome.job.name}")

    def tick(self) -> None:
        self.ticks += 1


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_fake_builder(monkeypatch, tmp_path / "models")


@pytest.fixture
def request_of(tmp_path: Path) -> BuildRequest:
    return small_request("one", tmp_path)


def fates(monkeypatch: pytest.MonkeyPatch, **words: str) -> None:
    monkeypatch.setenv("IDOL_FAKE_BUILDER", json.dumps(words))


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix not in (".plan", ".json", ".failed"))


def test_a_failed_build_leaves_the_others_alone(request_of: BuildRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    fates(monkeypatch, two="refuse", three="crash")
    requests = [replace(request_of, name=name) for name in ("one", "two", "three", "four")]
    jobs = [build_job(r.name, (r,), RTX, None, force=False) for r in requests]
    heard = Heard()
    outcomes = run_jobs(jobs, heard, at_once=2)
    assert [outcome.result for outcome in outcomes] == ["built", "failed", "failed", "built"]
    assert "odd_one" in str(outcomes[1].error) and "broke" in str(outcomes[2].error)
    assert leftovers(plans_dir()) == [], "the half plan of the builder that died"
    assert sorted(path.stem[:4] for path in plans_dir().glob("*.plan")) == ["four", "one-"]
    assert all(f == sorted(f) for f in heard.fractions.values())
    # What is there is left; what failed is not tried again, unless it is asked for.
    again = run_jobs(jobs, Heard())
    assert [outcome.result for outcome in again] == ["there", "failed", "failed", "there"]
    assert "tried before" in str(again[1].error) and "--force" in str(again[1].error)
    fates(monkeypatch)
    forced = [build_job(r.name, (r,), RTX, None, force=True) for r in requests]
    assert [outcome.result for outcome in run_jobs(forced, Heard())] == ["built"] * 4
    assert not list(plans_dir().glob("*.failed"))


def test_the_next_form_is_tried(request_of: BuildRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    fates(monkeypatch, one="refuse")
    forms = (request_of, replace(request_of, name="one-wide", half=False))
    (outcome,) = run_jobs([build_job("one", forms, RTX, None, force=False)], Heard())
    assert outcome.result == "built" and outcome.made is not None and outcome.made.path.name.startswith("one-wide-")
    fates(monkeypatch, **{"one": "refuse", "one-narrow": "crash"})
    forms = (request_of, replace(request_of, name="one-narrow"))
    (outcome,) = run_jobs([build_job("one", forms, RTX, None, force=False)], Heard())
    assert "odd_one" in str(outcome.error) and "broke" in str(outcome.error), "both reasons are told"


def test_a_card_gets_kernels_of_its_own(request_of: BuildRequest) -> None:
    """A request that names no target is the same plan as one that names the card's."""
    card = Card("A card", 120, 8 << 30, 13000)
    open_one = ensure_plan(replace(request_of, targets=()), RTX, card)
    assert plan_note(open_one)["targets"] == [120]
    assert ensure_plan(replace(request_of, targets=(120,)), RTX, None) == open_one


def test_a_full_disk_stops_all_and_is_not_remembered(request_of: BuildRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    fates(monkeypatch, one="full")
    requests = [replace(request_of, name=name) for name in ("one", "two")]
    outcomes = run_jobs([build_job(r.name, (r,), RTX, None, force=False) for r in requests], Heard())
    assert [outcome.result for outcome in outcomes] == ["failed", "cancelled"]
    assert isinstance(outcomes[0].error, StorageError) and "No space left" in str(outcomes[0].error)
    assert list(plans_dir().iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself work otherwise there")
def test_ctrl_c_ends_the_builders(request_of: BuildRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    fates(monkeypatch, one="slow", two="slow")
    requests = [replace(request_of, name=name) for name in ("one", "two", "three")]

    class Interrupting(Heard):
        def tick(self) -> None:
            super().tick()
            if self.ticks == 4:  # both are under way
                os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    outcomes = run_jobs([build_job(r.name, (r,), RTX, None, force=False) for r in requests], Interrupting(), at_once=2)
    assert [outcome.result for outcome in outcomes] == ["cancelled"] * 3
    assert time.monotonic() - began < 10
    assert list(plans_dir().iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("idol-build")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself work otherwise there")
def test_ctrl_c_waits_for_what_takes_its_time() -> None:
    ended = threading.Event()

    def work(progress: Progress, cancelled: Callable[[], bool]) -> Made:
        os.kill(os.getpid(), signal.SIGINT)
        while not cancelled():
            time.sleep(0.01)
        time.sleep(1)  # as a child that is slow to die
        ended.set()
        raise Cancelled("stopped")

    (outcome,) = run_jobs([Job("one", 89, work)], Heard())
    assert ended.is_set() and outcome.result == "cancelled"


def test_a_fault_of_ours_is_raised_after_all_have_stopped(tmp_path: Path) -> None:
    def work(*_: object) -> Made:
        raise ZeroDivisionError("a fault")

    with pytest.raises(ZeroDivisionError):
        run_jobs([Job("one", 89, work)], Heard())

    class Broken(Heard):
        def ended(self, outcome: Outcome) -> None:
            raise StorageError("no room for the table")

    (tmp_path / "p.plan").write_bytes(b"x")
    with pytest.raises(StorageError, match="no room"):
        run_jobs([Job("one", 89, lambda *_: Made(tmp_path / "p.plan", True, 1.0, 1))], Broken())


def test_room_is_looked_for_before_the_work(tmp_path: Path) -> None:
    check_storage(tmp_path / "new" / "folder", 1000)
    with pytest.raises(StorageError, match="MB free, the plans need about"):
        check_storage(tmp_path, 1 << 60)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        check_storage(tmp_path / "file", 0)


# -- the table -----------------------------------------------------------------------------------------------------


def parts_of(request: BuildRequest) -> list[MatrixPart]:
    return [
        MatrixPart("voice one", request),
        MatrixPart("voice two", replace(request, name="two"), (89,)),
        MatrixPart("voice three", replace(request, name="three"), (86, 89)),
    ]


def run_matrix(folder: Path, request: BuildRequest) -> tuple[list[Outcome], MatrixTable]:
    parts = parts_of(request)
    table = MatrixTable(folder, RTX, parts)
    outcomes = run_jobs(matrix_jobs(parts, RTX, folder), Heard())
    for outcome in outcomes:
        table.add(outcome)
    return outcomes, table


def test_the_table_says_what_builds_where(
    request_of: BuildRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fates(monkeypatch, two="refuse")
    folder = tmp_path / "matrix"
    outcomes, table = run_matrix(folder, request_of)
    assert len(outcomes) == 6
    document = json.loads((folder / "matrix.json").read_text())
    cells = {(cell["part"], cell["target"]): cell for cell in document["cells"]}
    assert document["version"] == RTX.version and len(cells) == 6
    assert {target for part, target in cells if part == "voice one"} == set(TARGETS)
    good = cells["voice one", 120]
    assert good["result"] == "ok" and good["bytes"] == (folder / good["plan"]).stat().st_size > 0
    assert good["plan"].startswith("sm120/") and plan_note(folder / good["plan"])["targets"] == [120]
    assert "odd_one" in cells["voice two", 89]["message"] and cells["voice two", 89]["result"] == "failed"
    text = (folder / "matrix.md").read_text()
    assert text == table.markdown()
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| voice")}
    assert rows["voice one"].count("ok, 0.1 s") == 3
    assert [cell.strip() for cell in rows["voice two"].split("|")[2:5]] == ["not asked for", "failed", "not asked for"]
    assert "- voice two, SM89:" in text and "odd_one" in text


def test_the_table_goes_on_where_it_was(
    request_of: BuildRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fates(monkeypatch, three="refuse")
    folder = tmp_path / "matrix"
    run_matrix(folder, request_of)
    times = {path: path.stat().st_mtime_ns for path in folder.glob("sm*/*.plan")}
    fates(monkeypatch)
    next(iter(folder.glob("sm120/*.plan"))).write_bytes(b"damaged since")
    outcomes, table = run_matrix(folder, request_of)
    by_name = {outcome.job.name: outcome.result for outcome in outcomes}
    assert by_name["voice one, SM86"] == by_name["voice two, SM89"] == "there"
    assert by_name["voice three, SM86"] == "built", "what failed is tried again"
    assert by_name["voice one, SM120"] == "built", "a damaged cell is built again"
    assert {cell.result for cell in table.cells} == {"ok"}
    kept = [path for path in times if path.stat().st_mtime_ns == times[path]]
    assert len(kept) == 3
    # Another graph is another cell.
    model = onnx.load(str(request_of.graph))
    model.producer_name = "another"
    onnx.save(model, str(request_of.graph))
    outcomes, _ = run_matrix(folder, request_of)
    assert {outcome.result for outcome in outcomes} == {"built"}


def test_a_graph_that_the_builder_cuts_down_fails(
    request_of: BuildRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fates(monkeypatch, one="unused")
    for _ in range(2):  # also when the plan is there already
        outcomes, table = run_matrix(tmp_path / "matrix", request_of)
        assert isinstance(outcomes[0].error, TensorRTError) and "Unused Input: speed" in str(outcomes[0].error)
        assert [cell.result for cell in table.cells][:3] == ["failed"] * 3
