"""What a start does about models that are not there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.catalogue import load_catalogue
from idol.settings import Settings
from idol.show.assembly import make_show
from idol.show.interface import Notice, ShowEvent
from idol.show.model_files import MEDIUM, SMALL, fetch_remedy
from idol.show.start_plan import StartPlan, plan_start


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))


def put(model_id: str) -> None:
    """Files of the right sizes and nothing inside."""
    model = load_catalogue().models[model_id]
    for file in model.files:
        path = model.folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as made:
            made.truncate(file.bytes)


def add(name: str, path: Path) -> None:
    from engines.added import _list_path, _write

    _list_path().parent.mkdir(parents=True, exist_ok=True)
    _write({name: path})


def beside_a_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> tuple[Path, Path]:
    """A store with the real voice and no mind: its folder of files, and the folder of the real ``SMALL``."""
    monkeypatch.delenv("IDOL_MODELS")
    model_path = request.getfixturevalue("model_path")
    voice, mind = model_path("kokoro"), model_path(SMALL)
    files = tmp_path / "models" / "files"
    files.mkdir(parents=True)
    (files / "kokoro").symlink_to(voice)
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    return files, mind


def test_only_what_is_missing_is_fetched() -> None:
    assert plan_start("auto") == StartPlan("auto", ("default",))
    put(SMALL)
    assert plan_start("auto") == StartPlan("auto", ("kokoro",))
    assert plan_start(SMALL) == StartPlan(SMALL, ("kokoro",))
    put("kokoro")
    assert plan_start("auto") == StartPlan("auto")
    assert plan_start(SMALL) == StartPlan(SMALL)


def test_a_model_of_the_catalogue_that_is_gone_is_offered_beside_another() -> None:
    put(SMALL)
    put("kokoro")
    plan = plan_start(MEDIUM)
    assert (plan.model, plan.fetch, plan.offer) == ("auto", (), MEDIUM)
    assert f"'{MEDIUM}' is not on this machine" in plan.warning and f"main.py models fetch {MEDIUM}" in plan.warning


def test_with_nothing_else_it_is_fetched_itself() -> None:
    plan = plan_start(MEDIUM)
    assert (plan.model, plan.fetch, plan.offer) == (MEDIUM, (MEDIUM, "kokoro"), "")
    assert MEDIUM in plan.warning


@pytest.mark.parametrize("name", ["nosuch", "/nowhere/mine.gguf", "kokoro"])
def test_an_unknown_one_gives_way_to_the_automatic_choice(name: str) -> None:
    assert (plan_start(name).model, plan_start(name).fetch) == ("auto", ("default",))
    put(SMALL)
    put("kokoro")
    plan = plan_start(name)
    assert (plan.model, plan.fetch, plan.offer) == ("auto", (), "")
    assert f"'{name}' is not on this machine" in plan.warning and "automatic" in plan.warning
    assert f"hoose one that is here ({SMALL})" in plan.warning


def test_an_added_one_whose_file_is_gone_is_named_and_not_offered(tmp_path: Path) -> None:
    put(SMALL)
    put("kokoro")
    add("mine", tmp_path / "usb" / "mine.gguf")
    plan = plan_start("mine")
    assert plan.model == "auto" and str(tmp_path / "usb" / "mine.gguf") in plan.warning
    assert "mine," not in fetch_remedy("mine") and SMALL in fetch_remedy("mine")


@pytest.mark.models
def test_a_truncated_mind_is_told_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    files, mind = beside_a_voice(tmp_path, monkeypatch, request)
    (whole,) = mind.glob("*.gguf")
    (files / SMALL).mkdir()
    (files / SMALL / whole.name).write_bytes(whole.read_bytes()[:300_000])
    show = make_show(Settings())
    told: list[ShowEvent] = []
    show.subscribe(told.append)
    show.start()
    show._worker.join(60)
    show.close()
    (notice,) = [event for event in told if isinstance(event, Notice)]
    assert notice.level == "error" and f"main.py models verify --repair {SMALL}" in notice.remedy


@pytest.mark.models
def test_a_free_choice_goes_on_with_the_next_model_and_with_another_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    files, mind = beside_a_voice(tmp_path, monkeypatch, request)
    (files / SMALL).symlink_to(mind)
    (files / MEDIUM).mkdir()
    (files / MEDIUM / "cut.gguf").write_bytes(next(mind.glob("*.gguf")).read_bytes()[:300_000])
    monkeypatch.setenv("IDOL_DATA", str(tmp_path / "data"))
    settings = Settings()
    settings.audio.output = "none"
    settings.voice.en = "af_nosuch"
    show = make_show(settings)
    told: list[ShowEvent] = []
    show.subscribe(told.append)
    show.start()
    try:
        deadline = time.monotonic() + 120
        while show.overlay().state not in ("ready", "failed"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert show.overlay().state == "ready" and show.overlay().chosen["llm"] == SMALL
    finally:
        show.close()
    warnings = [event.sentence for event in told if isinstance(event, Notice) and event.level == "warning"]
    assert any("'af_nosuch'" in text and "af_heart speaks in its place" in text for text in warnings)
    assert any(f"{SMALL} answers in its place" in text and f"--repair {MEDIUM}" in text for text in warnings)
