"""A show on a card made of host memory: engines exchanged while she speaks, and memory that ends in the middle."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.models import decoder_trt
from engines.models.families import model_config
from engines.trt import build
from engines.trt.plans import BuildRequest, plans_dir
from idol.show import ladder
from idol.show.interface import Loading, Notice, Ready, SwapKind
from idol.show.model_files import MEDIUM, SMALL, model_file
from tests.engines.small_builds import use_fake_builder
from tests.show.card_rig import Beeps, CardRig, only_on_the_loader, until


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CardRig]:
    for name, seconds in (("SETTLE_SECONDS", 0.2), ("CALM_SECONDS", 0.6)):
        monkeypatch.setattr(ladder, name, seconds)
    monkeypatch.setattr("idol.show.residence._PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr("idol.show.residence._BREATH_SECONDS", 0.0)
    with CardRig(tmp_path, monkeypatch) as made:
        yield made


def swapped(rig: CardRig, kind: SwapKind, name: str) -> Notice:
    """The notice with which the swap ended."""
    before, ready = len(rig.of(Notice)), len(rig.of(Ready))
    rig.show.swap(kind, name)
    until(lambda: len(rig.of(Ready)) > ready)
    return rig.of(Notice)[before:][-1]  # type: ignore[no-any-return]


def test_both_engines_change_on_the_card_while_she_speaks(rig: CardRig) -> None:
    used = rig.device.cuda.used
    turns = [rig.show.submit(f"Line {number}?") for number in range(4)]
    rig.show.swap("llm", SMALL)
    rig.show.swap("voice", "other")
    until(lambda: rig.said("other is her voice now"))
    until(lambda: rig.said("is her language model now"))
    assert [rig.ended(turn).reason for turn in turns] == ["done"] * 4
    assert rig.show.overlay().chosen == {"llm": SMALL, "voice": "other"} and rig.show.overlay().pending == ()
    runtimes = rig.show.overlay().runtimes
    assert "Fake card" in runtimes[0].runtime and runtimes[1].model == "other"
    assert rig.ask().reason == "done"
    rig.rest()
    assert rig.device.cuda.used == pytest.approx(used, rel=0.02)  # the engines before have given theirs back


@pytest.mark.parametrize("kind", ["llm", "voice"])
def test_a_swap_that_finds_no_room_anywhere_leaves_the_running_engine(rig: CardRig, kind: SwapKind) -> None:
    cuda = rig.device.cuda
    name = SMALL if kind == "llm" else "other"
    before = rig.show.overlay().runtimes
    for failing in range(200):
        used, contexts, count = cuda.used, len(cuda.contexts), iter(range(1000))
        cuda.refuse = only_on_the_loader(lambda what, size, at=failing, count=count: next(count) == at)  # type: ignore[misc]
        notice = swapped(rig, kind, name)
        if notice.level == "info":
            break
        assert "was not taken" in notice.text and "stays" in notice.text and notice.remedy
        assert cuda.used == used and len(cuda.contexts) == contexts and cuda.strays == [], failing
        assert rig.show.overlay().runtimes == before
        if failing % 6 == 0:
            assert rig.ask().reason == "done"
    assert failing > (15 if kind == "llm" else 2)
    assert rig.ask().reason == "done"


def test_a_corrupt_plan_leaves_the_running_model(rig: CardRig) -> None:
    used, contexts = rig.device.cuda.used, len(rig.device.cuda.contexts)

    def damage(path: Path) -> Path:
        if "head" in path.name:
            path.write_bytes(b"\x00 not a plan")
        return path

    rig.plan = damage
    notice = swapped(rig, "llm", SMALL)
    assert notice.level == "warning" and "does not fit this card" in notice.text
    assert "forget" in notice.remedy
    assert (rig.device.cuda.used, len(rig.device.cuda.contexts)) == (used, contexts)
    assert rig.ask().reason == "done"


def test_a_cancelled_swap_gives_everything_back(rig: CardRig) -> None:
    used = rig.device.cuda.used
    rig.device.cuda.refuse = only_on_the_loader(lambda what, size: rig.show.cancel_swap("llm") or False)
    ready = len(rig.of(Ready))
    rig.show.swap("llm", SMALL)
    until(lambda: len(rig.of(Ready)) > ready)
    rig.device.cuda.refuse = lambda kind, size: False
    until(lambda: not rig.show._residence.pending("llm") and rig.show._residence._loader is None)
    assert rig.device.cuda.used == used and rig.device.cuda.strays == []
    assert not rig.said("was not taken") and rig.ask().reason == "done"


def test_what_is_too_large_for_the_budget_is_refused_before_anything_is_taken(rig: CardRig) -> None:
    rig.device.cuda.room = rig.device.cuda.used + (600 << 20)  # 512 MiB of it are for others
    rig.device.cuda.refuse = only_on_the_loader(lambda what, size: pytest.fail("something was allocated"))
    settings = rig.crew.settings
    settings.health.reserve_mb = 595
    notice = swapped(rig, "llm", SMALL)
    assert "MB of the card beside the one in use" in notice.text and "MB may be taken" in notice.text
    assert "smaller" in notice.remedy


def test_a_show_closes_while_a_model_loads_on_the_card(rig: CardRig) -> None:
    rig.show.swap("llm", SMALL)
    until(lambda: rig.show._residence.pending("llm"))  # the fixture closes it


# -- the ladder --------------------------------------------------------------------------------------------------


def test_a_show_goes_down_rung_by_rung_answers_and_climbs_back(rig: CardRig) -> None:
    crew, cuda = rig.crew, rig.device.cuda
    used = cuda.used
    steps = [
        "context 512", "context 512, small batches", "context 512, small batches, smaller model",
        "small batches, language model on the CPU", "language model on the CPU, voice on the CPU",
    ]  # fmt: skip
    seen: list[str] = []

    def look() -> str:
        line = rig.show.overlay().memory
        if not seen or seen[-1] != line:
            seen.append(line)
        return line

    rig.press("memory", 1)
    turns = []
    end = time.monotonic() + 40
    while look() != steps[-1] and time.monotonic() < end:
        if len(rig.of(Notice)) > len(turns):  # one after each step
            turns.append(rig.show.submit("Do you like rain?"))
        time.sleep(0.01)
    assert [line for line in seen if line] == steps, rig.of(Notice)
    assert crew.decoder is None and crew.card_voice is None and cuda.blocks == {}
    assert rig.ask().reason == "done"
    rig.press("memory", 0)
    until(lambda: look() == "", 60)
    assert crew.decoder is not None and crew.decoder.capacity == 1024 and crew.decoder.chunk == 64
    assert crew.card_voice is not None and crew.model is not None and crew.model.name == f"{MEDIUM}.gguf"
    assert all(rig.ended(turn).reason == "done" for turn in turns) and rig.ask().reason == "done"
    rig.rest()
    assert cuda.used == pytest.approx(used, rel=0.02)
    assert seen[seen.index(steps[-1]) :] == [*reversed(steps), ""]
    texts = [notice.text for notice in rig.of(Notice)]
    assert sum("memory is nearly full" in text for text in texts) >= 5
    assert sum("has room again" in text for text in texts) >= 5


def test_the_cpu_goes_on_while_a_smaller_model_loads_that_finds_no_room_beside(rig: CardRig) -> None:
    crew, cuda = rig.crew, rig.device.cuda
    small = model_file(SMALL)
    assert small is not None
    rig.press("memory", 1)
    until(lambda: "small batches" in rig.show.overlay().memory)
    cuda.room = cuda.used + crew.llm_bytes(small) - 100_000
    until(lambda: rig.said("the processor thinks for her until"))
    rig.press("memory", 0)
    assert rig.ask().reason == "done"
    until(lambda: crew.decoder is not None)
    until(lambda: rig.show.overlay().memory == "context 512, small batches, smaller model")
    assert crew.model == small and crew.decoder is not None and crew.decoder.capacity == 512
    cuda.room = 2 << 30
    until(lambda: rig.show.overlay().memory == "", 60)
    assert crew.model != small and rig.ask().reason == "done"


def test_a_smaller_model_that_finds_no_room_at_all_leaves_the_cpu_in_its_place(rig: CardRig) -> None:
    cuda = rig.device.cuda
    rig.press("memory", 1)
    until(lambda: "small batches" in rig.show.overlay().memory)
    cuda.room = cuda.used + 1000
    until(lambda: rig.said("was not taken"))
    rig.press("memory", 0)
    assert rig.show.overlay().memory == "small batches, language model on the CPU" and rig.ask().reason == "done"
    cuda.room = 2 << 30
    until(lambda: rig.show.overlay().memory == "", 60)
    assert rig.crew.decoder is not None and rig.crew.decoder.capacity == 1024


def test_memory_that_ends_in_the_middle_of_a_turn_costs_a_step_and_not_the_turn(rig: CardRig) -> None:
    decoder = rig.crew.decoder
    assert decoder is not None
    tries: list[int] = []
    step = decoder.step

    def short_of_memory(token: int) -> object:
        if len(tries) < 2:
            tries.append(token)
            raise rig.device.no_room("a kernel", 1000)
        return step(token)

    decoder.step = short_of_memory  # type: ignore[method-assign, assignment]
    assert rig.ask().reason == "done" and len(tries) == 2
    assert rig.show.overlay().memory == "context 512, small batches"
    assert decoder.capacity == 512 and decoder.chunk == 48
    assert "Fake card" in rig.show.overlay().runtimes[0].runtime  # still on the card
    until(lambda: rig.show.overlay().memory == "")
    assert decoder.capacity == 1024 and rig.ask().reason == "done"


def test_a_voice_without_memory_is_helped_too(rig: CardRig) -> None:
    tries: list[int] = []

    def refuse(kind: str, size: int) -> bool:
        if size == 1000 and len(tries) < 2:
            tries.append(size)
            return True
        return False

    rig.device.cuda.refuse = refuse
    assert rig.ask().reason == "done"
    assert rig.show.overlay().memory == "context 512, small batches"
    voice = rig.crew.card_voice
    assert isinstance(voice, Beeps) and voice.short
    until(lambda: rig.show.overlay().memory == "")
    assert not voice.short


def test_an_allocator_that_fails_for_good_ends_on_the_cpu_and_climbs_back(rig: CardRig) -> None:
    rig.device.cuda.refuse = lambda kind, size: True
    turns = [rig.show.submit(line) for line in ("One?", "Two?", "Three?")]
    assert [rig.ended(turn).reason for turn in turns] == ["done"] * 3
    assert "voice on the CPU" in rig.show.overlay().memory
    assert rig.show.overlay().runtimes[1].runtime == "cpu"
    rig.device.cuda.refuse = lambda kind, size: False
    until(lambda: rig.show.overlay().memory == "", 60)
    assert rig.show.overlay().runtimes[1].runtime == "card" and rig.ask().reason == "done"


def test_no_room_for_a_way_back_is_waited_for(rig: CardRig) -> None:
    rig.press("memory", 1)
    until(lambda: rig.show.overlay().memory.startswith("context 512"))
    rig.press("memory", 0)
    rig.device.cuda.room = rig.device.cuda.used + 1000
    rig.device.cuda.refuse = lambda kind, size: False
    time.sleep(1.5)
    assert rig.show.overlay().memory.startswith("context 512")
    rig.device.cuda.room = 2 << 30
    until(lambda: rig.show.overlay().memory == "")


def test_the_users_choice_is_whole(rig: CardRig) -> None:
    rig.press("memory", 1)
    until(lambda: rig.show.overlay().memory.startswith("context 512"))
    rig.press("memory", 0)
    rig.device.cuda.refuse = lambda kind, size: False
    assert swapped(rig, "llm", SMALL).level == "info"
    until(lambda: "context" not in rig.show.overlay().memory)
    assert rig.crew.decoder is not None and rig.crew.decoder.capacity == 1024


def test_a_lost_card_is_left_and_said(rig: CardRig) -> None:
    rig.press("lost", 1, trouble="GPU is lost")
    until(lambda: rig.said("does not answer (GPU is lost)"))
    until(lambda: rig.show.overlay().runtimes[1].runtime == "cpu")
    assert rig.ask().reason == "done" and "onnxruntime" in rig.show.overlay().runtimes[0].runtime
    assert swapped(rig, "llm", SMALL).level == "info"
    assert "onnxruntime" in rig.show.overlay().runtimes[0].runtime


@pytest.mark.parametrize(
    ("kind", "more", "on", "off"),
    [
        ("temperature", {"temperature": 91}, "hot: 91 °C", "cooled down"),
        ("throttle", {"throttles": ("thermal hardware", "power cap")}, "(thermal hardware)", "full speed again"),
        ("compute", {"others_utilisation": 70}, "busy (70 %)", "leave the graphics card room"),
    ],
)
def test_other_pressure_is_said_once_on_and_once_off(
    rig: CardRig, kind: str, more: dict[str, object], on: str, off: str
) -> None:
    rig.press(kind, 1, **more)  # type: ignore[arg-type]
    until(lambda: rig.said(on))
    rig.press(kind, 0)  # type: ignore[arg-type]
    until(lambda: rig.said(off))
    assert len(rig.of(Notice)) == 2 and rig.show.overlay().memory == ""


def test_what_must_be_built_for_a_swap_is_seen_and_given_up_when_it_is_cancelled(
    rig: CardRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = decoder_trt.ensure_plan

    def build_first(request: BuildRequest, *rest: object) -> Path:
        build.ensure_plan(request, *rest)  # type: ignore[arg-type]
        return at_once(request, *rest)  # type: ignore[arg-type]

    use_fake_builder(monkeypatch, tmp_path / "models")
    monkeypatch.setattr(decoder_trt, "ensure_plan", build_first)
    path = model_file(SMALL)
    assert path is not None
    name = f"{decoder_trt.plan_name(model_config(path))}-head"
    monkeypatch.setenv("IDOL_FAKE_BUILDER", json.dumps({name: "slow"}))
    rig.show.swap("llm", SMALL)
    until(lambda: len([event for event in rig.of(Loading) if f"building {name}" in event.what]) > 3)
    seen = [event for event in rig.of(Loading) if f"building {name}" in event.what]
    fractions = [event.fraction for event in seen]
    assert fractions == sorted(fractions) and 0 < fractions[0] < fractions[-1] < 1
    assert rig.ask().reason == "done"  # she goes on meanwhile
    (half,) = plans_dir().glob(f"building-*/*{name}*.plan")
    builder = int(half.read_text())
    rig.show.cancel_swap("llm")
    until(lambda: not Path(f"/proc/{builder}").exists() and not [*plans_dir().glob("building-*")])
    until(lambda: rig.show.overlay().pending == ())
    assert rig.show.overlay().chosen["llm"] == MEDIUM and rig.ask().reason == "done"
