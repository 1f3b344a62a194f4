"""Engines exchanged while the show runs: when, what wins, what stays when it fails, and that nothing is left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engines.errors import EngineFailure, ModelFileError
from idol.dialogue.conversation import Conversation
from idol.dialogue.language_model import DecoderLanguageModel
from idol.dialogue.persona import default_persona
from idol.dialogue.standby import StandbyLanguageModel
from idol.seams import Clause, RuntimeInfo, Speech
from idol.settings import AudioSettings, Settings
from idol.show.assembly import make_show
from idol.show.cast import Candidate, Engines, Notify
from idol.show.interface import ClauseSpoken, Loading, Notice, Ready, ShowEvent, SwapKind, TurnEnded
from idol.show.residence import Residence
from idol.show.show import Show
from idol.show.speech_line import SpeechLine
from idol.voice.standby import StandbySynthesiser
from tests.dialogue.fake_model import FakeModel
from tests.dialogue.test_standby import BrokenModel, broken, broken_decoder
from tests.show.fakes import FakeMind, FakeMixer, FakeOutput, FakePlanner, FakeTrack, FakeVoice


def until(true: Callable[[], object], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


class Shelf:
    """Engines to be loaded: each load waits for ``go`` (or a cancel); remembers what became of each."""

    def __init__(self, adopt: Callable[[str], None] = lambda name: None) -> None:
        self.go = threading.Event()
        self.asks = True  # between steps whether it is still wanted; this waits for a busy worker
        self.loading: list[str] = []
        self.adopted: list[str] = []
        self.closed: list[str] = []
        self.threads: set[str] = set()
        self._adopt = adopt

    def prepare(self, name: str, notify: Notify, cancelled: Callable[[], bool]) -> Candidate:
        self.loading.append(name)
        self.threads.add(threading.current_thread().name)
        notify(f"reading {name}", 0.5)
        while not self.go.wait(0.002):
            if self.asks and cancelled():
                break
        if name.startswith("corrupt"):
            raise ModelFileError(f"{name} is damaged.", "Fetch it again.")
        if name.startswith("huge"):
            raise MemoryError
        return Candidate(RuntimeInfo("llm", "cpu", name), lambda: self._put(name), lambda: self.closed.append(name))

    def _put(self, name: str) -> None:
        self._adopt(name)
        self.adopted.append(name)


class Desk:
    """A residence and what it told."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.told: list[ShowEvent] = []
        self.ends = 0
        self.residence = Residence(self.told.append, ended=self._end)

    def _end(self) -> None:
        self.ends += 1

    def notices(self) -> list[Notice]:
        return [event for event in self.told if isinstance(event, Notice)]


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk(Shelf())
    yield desk
    desk.shelf.go.set()
    desk.residence.close()


def test_an_engine_is_loaded_beside_and_put_in_place_when_asked(desk: Desk) -> None:
    desk.residence.request("llm", "new", desk.shelf.prepare)
    until(lambda: desk.shelf.loading)
    assert not desk.residence.settle("llm", "voice") and desk.shelf.threads == {"idol-loader"}
    desk.shelf.go.set()
    until(lambda: desk.residence._ready)
    assert desk.shelf.adopted == []  # only the worker may
    assert not desk.residence.settle("voice")
    assert desk.residence.settle("llm")
    assert desk.shelf.adopted == ["new"] and desk.shelf.closed == []
    assert [event for event in desk.told if isinstance(event, Loading)][-1] == Loading("reading new", 0.5)
    assert desk.notices() == [Notice("info", "new is her language model now.")] and desk.ends == 1
    until(lambda: desk.residence._loader is None)  # nothing to load, no thread


def test_the_newest_request_wins_while_one_loads(desk: Desk) -> None:
    desk.residence.request("llm", "first", desk.shelf.prepare)
    until(lambda: desk.shelf.loading)
    desk.residence.request("llm", "second", desk.shelf.prepare)
    desk.residence.request("llm", "third", desk.shelf.prepare)
    desk.shelf.go.set()
    until(lambda: desk.residence._ready)
    assert desk.residence.settle("llm")
    assert desk.shelf.adopted == ["third"] and desk.shelf.closed == ["first"]
    assert "second" not in desk.shelf.loading and len(desk.notices()) == 1


def test_the_newest_request_wins_over_one_that_waits_for_its_place(desk: Desk) -> None:
    desk.shelf.go.set()
    desk.residence.request("llm", "first", desk.shelf.prepare)
    until(lambda: desk.residence._ready)
    desk.residence.request("llm", "second", desk.shelf.prepare)
    until(lambda: desk.shelf.closed)
    until(lambda: desk.residence._ready)
    desk.residence.settle("llm")
    assert desk.shelf.adopted == ["second"] and desk.shelf.closed == ["first"]


def test_the_two_kinds_do_not_disturb_each_other(desk: Desk) -> None:
    desk.residence.request("llm", "model", desk.shelf.prepare)
    desk.residence.request("voice", "voice", desk.shelf.prepare)
    desk.shelf.go.set()
    until(lambda: len(desk.residence._ready) == 2)
    assert desk.residence.settle("llm", "voice")
    assert desk.shelf.adopted == ["model", "voice"] and desk.shelf.closed == []


@pytest.mark.parametrize(
    ("name", "said", "remedy"),
    [("corrupt", "corrupt is damaged.", "Fetch it again."), ("huge", "not enough memory", "Choose another one.")],
)
def test_what_cannot_be_loaded_is_said(desk: Desk, name: str, said: str, remedy: str) -> None:
    desk.shelf.go.set()
    desk.residence.request("llm", name, desk.shelf.prepare)
    until(lambda: desk.ends)
    assert not desk.residence.settle("llm") and desk.shelf.adopted == []
    (notice,) = desk.notices()
    assert notice.level == "warning" and said in notice.text and "stays" in notice.text and notice.remedy == remedy


def test_what_cannot_take_its_place_is_closed_and_said() -> None:
    def refuse(name: str) -> None:
        raise EngineFailure("no room.", "Make some.")

    desk = Desk(Shelf(refuse))
    desk.shelf.go.set()
    desk.residence.request("voice", "new", desk.shelf.prepare)
    until(lambda: desk.residence._ready)
    assert not desk.residence.settle("voice")
    assert desk.shelf.closed == ["new"] and desk.notices()[0].remedy == "Make some."
    desk.residence.close()


@pytest.mark.parametrize("name", ["new", "corrupt"])
def test_a_cancelled_load_is_dropped_without_a_word(desk: Desk, name: str) -> None:
    desk.residence.request("llm", name, desk.shelf.prepare)
    until(lambda: desk.shelf.loading)
    assert desk.residence.cancel("llm") and not desk.residence.cancel("voice")
    until(lambda: desk.ends)
    assert not desk.residence.settle("llm") and desk.notices() == []
    assert desk.shelf.closed == (["new"] if name == "new" else [])


def test_closing_while_something_loads(desk: Desk) -> None:
    desk.residence.request("llm", "new", desk.shelf.prepare)
    desk.residence.request("voice", "other", desk.shelf.prepare)
    until(lambda: desk.shelf.loading)
    started = time.monotonic()
    desk.residence.close()
    assert time.monotonic() - started < 1
    assert desk.shelf.closed == ["new"] and desk.shelf.loading == ["new"]
    desk.residence.request("llm", "late", desk.shelf.prepare)
    assert desk.shelf.loading == ["new"]


def test_closing_while_something_waits_for_its_place(desk: Desk) -> None:
    desk.shelf.go.set()
    desk.residence.request("llm", "new", desk.shelf.prepare)
    until(lambda: desk.residence._ready)
    desk.residence.close()
    assert desk.shelf.closed == ["new"]


def test_a_loader_that_does_not_stop_is_said() -> None:
    hold, begun = threading.Event(), threading.Event()

    def stubborn(name: str, notify: Notify, cancelled: Callable[[], bool]) -> Candidate:
        begun.set()
        hold.wait(10)
        raise ModelFileError("too late")

    residence = Residence(lambda event: None)
    residence.request("llm", "x", stubborn)
    assert begun.wait(5)  # closed before, it would not even begin
    with pytest.raises(RuntimeError, match="did not stop within 0 s"):
        residence.close(0.05)
    hold.set()
    residence.close()


def test_loading_waits_for_a_busy_worker_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idol.show.residence._PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr("idol.show.residence._BREATH_SECONDS", 0.2)
    pressed, waits = [True], []
    asked = time.monotonic()

    def prepare(name: str, notify: Notify, cancelled: Callable[[], bool]) -> Candidate:
        waits.append(time.monotonic() - asked)
        for step in (lambda: notify("weights", 0.5), cancelled, cancelled):
            started = time.monotonic()
            step()
            waits.append(time.monotonic() - started)
            pressed[0] = len(waits) < 3
        return Candidate(RuntimeInfo("llm", "cpu", name), lambda: None, lambda: None)

    residence = Residence(lambda event: None, lambda: pressed[0])
    residence.request("llm", "x", prepare)
    until(lambda: residence._ready)
    assert 0.9 < waits[0] < 2 and 0.15 < waits[1] < 0.8 and 0.15 < waits[2] < 0.8 and waits[3] < 0.1
    residence.close()


# -- in a show, on fakes ---------------------------------------------------------------------------------------------


class Rig:
    """A show whose engines can be exchanged for those of a shelf."""

    def __init__(self, mind: object, voice: object, shelf: Shelf, *kinds: SwapKind, no_swaps: str = "") -> None:
        self.output = FakeOutput()
        self.line = SpeechLine(self.output, FakePlanner(), FakeTrack())
        engines = Engines(
            mind, voice, self.line, lambda language: "tone",  # type: ignore[arg-type]
            swaps={kind: shelf.prepare for kind in kinds}, no_swaps=no_swaps,
        )  # fmt: skip
        self.show = Show(lambda notify, cancelled: engines, FakeMixer())
        self.events: list[ShowEvent] = []
        self.show.subscribe(self.events.append)
        self.show.start()
        until(lambda: any(isinstance(event, Ready) for event in self.events))

    def ended(self, turn: int, seconds: float = 10.0) -> TurnEnded:
        until(lambda: any(isinstance(e, TurnEnded) and e.turn_id == turn for e in self.events), seconds)
        return next(e for e in self.events if isinstance(e, TurnEnded) and e.turn_id == turn)


class Voice(FakeVoice):
    """Notes what it says."""

    def __init__(self, name: str, work_seconds: float = 0.0) -> None:
        super().__init__(0.15, work_seconds)
        self.info = RuntimeInfo("voice", "fake", name)
        self.said: list[int] = []

    def speak(self, clause: Clause, voice: str, speed: float = 1.0) -> Speech | None:
        assert not self.closed
        self.said.append(clause.index)
        return super().speak(clause, voice, speed)


def test_a_voice_changes_between_two_clauses_and_the_sound_goes_on() -> None:
    first, second = Voice("first", 0.05), Voice("second")
    standby = StandbySynthesiser(first)
    shelf = Shelf(lambda name: standby.replace(second))
    clauses = [f"Clause {number}. " for number in range(8)]
    rig = Rig(FakeMind(clauses, tokens=2), standby, shelf, "voice")
    shelf.asks = False
    rig.show.swap("voice", "second")
    until(lambda: shelf.loading)
    turn = rig.show.submit("hi")
    until(lambda: len(first.said) >= 2)
    shelf.go.set()
    end = rig.ended(turn)
    assert end.reason == "done" and end.heard == "".join(clauses).strip()
    assert first.said + second.said == list(range(8)) and second.said
    assert first.closed and rig.output.underruns == 0
    assert rig.show.overlay().runtimes[1].model == "second"
    rig.show.close()
    assert second.closed


def test_a_model_changes_between_two_turns_and_history_stays() -> None:
    first, second = FakeModel("I like the rain, star!"), FakeModel("And the snow as well, star!", context=1800)
    conversation = Conversation(StandbyLanguageModel(first), default_persona())

    def adopt(name: str) -> None:
        conversation.rehearse(second, lambda: False)
        before = conversation.adopt(StandbyLanguageModel(second), "en")
        assert before is not None
        before.close()

    shelf = Shelf(adopt)
    rig = Rig(conversation, FakeVoice(seconds=0.3), shelf, "llm")
    turn = rig.show.submit("Do you like rain?")
    until(lambda: any(isinstance(event, ClauseSpoken) for event in rig.events))
    rig.show.swap("llm", "second")
    shelf.go.set()
    time.sleep(0.1)
    assert shelf.adopted == [] and not first.closed  # the turn is still on
    assert rig.ended(turn).heard == "I like the rain, star!"
    until(lambda: shelf.adopted)
    assert first.closed
    assert rig.ended(rig.show.submit("And snow?")).heard == "And the snow as well, star!"
    prompt = [message.content for message in second.prompts[-1]]
    assert prompt[-3:] == ["Do you like rain?", "I like the rain, star!", "And snow?"]
    assert second.primed and second.anticipated  # before it took over
    assert rig.show.overlay().runtimes[0] == second.info
    rig.show.close()
    assert second.closed


def test_a_show_that_cannot_exchange_engines_says_why() -> None:
    rig = Rig(FakeMind(["Hello."]), FakeVoice(), Shelf(), "voice", no_swaps="Start Idol again.")
    with pytest.raises(ValueError, match="Start Idol again"):
        rig.show.swap("llm", "x")
    rig.show.close()
    with pytest.raises(ValueError, match="not ready"):
        rig.show.swap("voice", "x")


def test_a_show_closes_while_an_engine_loads() -> None:
    shelf = Shelf()
    rig = Rig(FakeMind(["Hello."]), FakeVoice(), shelf, "llm")
    rig.show.swap("llm", "new")
    until(lambda: shelf.loading)
    started = time.monotonic()
    rig.show.close()
    assert time.monotonic() - started < 1.5 and shelf.closed == ["new"]


def test_a_cancelled_swap_ends_the_progress() -> None:
    shelf = Shelf()
    rig = Rig(FakeMind(["Hello."]), FakeVoice(), shelf, "llm")
    rig.show.swap("llm", "new")
    until(lambda: shelf.loading)
    rig.show.cancel_swap("llm")
    until(lambda: isinstance(rig.events[-1], Ready))
    assert rig.ended(rig.show.submit("hi")).reason == "done"
    rig.show.close()
    assert shelf.adopted == []


def test_a_spare_that_cannot_be_loaded_ends_the_turn_and_not_the_show() -> None:
    reply = "I love rainy days, star! They sound like tiny drums."
    tries: list[int] = []

    def load() -> FakeModel:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("the file is gone")
        return FakeModel(reply)

    model = StandbyLanguageModel(BrokenModel(8, EngineFailure("the card fell off"), reply), load)
    rig = Rig(Conversation(model, default_persona()), FakeVoice(), Shelf())
    # As the conversation is made by hand here, its first priming would already meet the broken engine.
    end = rig.ended(rig.show.submit("Do you like rain?"))
    assert end.reason == "failed" and "the file is gone" in end.message
    notice = next(event for event in rig.events if isinstance(event, Notice))
    assert notice.level == "error" and "Try another line" in notice.remedy
    assert rig.ended(rig.show.submit("And now?")).heard == reply
    rig.show.close()


# -- the real engines ------------------------------------------------------------------------------------------------


SMOLLM, QWEN = "smollm2-135m", "qwen2.5-coder-0.5b"
LINES = ("Tell me a long story about the sea and the stars.", "What do you like about rain?", "And snow?")


@pytest.mark.models
def test_a_model_takes_over_while_she_speaks(
    model_path: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model in (SMOLLM, QWEN, "kokoro"):
        model_path(model)
    settings = Settings()
    settings.llm.model = SMOLLM
    settings.llm.temperature = 0.0
    settings.audio = AudioSettings(output="none")
    show = make_show(settings, seed=1, pictured=True)
    events: list[tuple[float, ShowEvent]] = []
    show.subscribe(lambda event: events.append((time.monotonic(), event)))

    def ready(after: float) -> bool:
        return any(isinstance(event, Ready) and at >= after for at, event in events)

    def spoken(turn: int) -> bool:
        return any(isinstance(event, ClauseSpoken) and event.turn_id == turn for _, event in events)

    def ended(turn: int) -> bool:
        return any(isinstance(event, TurnEnded) and event.turn_id == turn for _, event in events)

    try:
        show.start()
        until(lambda: ready(0.0), 120)
        engines = show.engines
        assert engines is not None and isinstance(engines.mind, Conversation)
        damaged = tmp_path / "damaged.gguf"
        damaged.write_bytes(b"GGUF" + bytes(range(256)) * 16)
        for kind, name, what in (
            ("llm", "no-such-model", "not on this machine"), ("llm", str(damaged), "damaged.gguf"),
            ("voice", "no-such-voice", "not on this machine"),
        ):  # fmt: skip
            asked = time.monotonic()
            show.swap(kind, name)  # type: ignore[arg-type]
            until(partial(ready, asked), 20)
            notice = [event for _, event in events if isinstance(event, Notice)][-1]
            assert notice.level == "warning" and what in notice.text and notice.remedy
        before = show.overlay().runtimes
        assert before[0].model.startswith("Smol")
        asked_lines = list(LINES)
        *_, last = [show.submit(line) for line in LINES]
        usual = _poses(show, lambda: ended(last), 60.0)
        usual_underruns = engines.output.underruns  # none where nobody else uses the machine
        for name in (QWEN, SMOLLM, QWEN):  # a machine that others use at the same time may have to try again
            underruns = engines.output.underruns
            first, *_, last = [show.submit(line) for line in LINES]
            until(partial(spoken, first), 30)
            asked = time.monotonic()
            show.swap("llm", name)
            spacing = _poses(show, partial(ready, asked), 150.0)
            took = time.monotonic() - asked
            until(partial(ended, last), 60)
            underruns = engines.output.underruns - underruns
            assert show.overlay().runtimes[0].model.lower().startswith(name[:5]), events[-8:]
            after = show.submit("What did I just ask you for?")
            until(partial(ended, after), 60)
            asked_lines += [*LINES, "What did I just ask you for?"]
            rows = {row.turn_id: row for row in show.book.rows}
            assert all(rows[turn].reason == "done" and rows[turn].reply for turn in (first, last, after))
            assert [exchange.user for exchange in engines.mind._history.exchanges] == asked_lines
            assert rows[after].reused_tokens > 100  # the persona was primed before the switch
            with capsys.disabled():
                print(
                    f"\n{name} took over after {took:.1f} s, underruns {underruns} (else {usual_underruns}); "
                    f"poses apart: median {np.median(spacing):.0f}, p99 {np.percentile(spacing, 99):.0f} (else "
                    f"{np.percentile(usual, 99):.0f}), most {spacing.max():.0f} (else {usual.max():.0f}) ms; "
                    f"real-time factor {rows[first].rtf:.2f}, {rows[last].rtf:.2f}, {rows[after].rtf:.2f}"
                )
            if underruns <= usual_underruns and np.percentile(spacing, 99) < max(50, 1.5 * np.percentile(usual, 99)):
                break
        else:
            pytest.fail("each of three exchanges cut speech or held up the picture, see above")
    finally:
        show.close()


@pytest.mark.models
def test_a_reply_goes_on_with_another_model_in_a_whole_show(model_path: Callable[[str], Path]) -> None:
    for model in (SMOLLM, QWEN, "kokoro"):
        model_path(model)
    settings = Settings()
    settings.llm.model = SMOLLM
    settings.llm.temperature = 0.0
    settings.audio = AudioSettings(output="none")
    show = make_show(settings, seed=1)
    events: list[ShowEvent] = []
    show.subscribe(events.append)
    try:
        show.start()
        until(lambda: any(isinstance(event, Ready) for event in events), 120)
        engines = show.engines
        assert engines is not None and isinstance(engines.mind, Conversation)
        standby = engines.mind._llm
        assert isinstance(standby, StandbyLanguageModel)
        first = standby._standby.engine
        assert isinstance(first, DecoderLanguageModel)
        broken_decoder(first, 9, broken)
        turn = show.submit(LINES[0])
        until(lambda: any(isinstance(event, TurnEnded) and event.turn_id == turn for event in events), 90)
        row = show.book.last
        assert row is not None and row.reason == "done", row
        (notice,) = [event for event in events if isinstance(event, Notice)]
        assert (
            notice.level == "warning" and "SmolLM2-135M-Instruct" in notice.text and "the kernel broke" in notice.text
        )
        assert "Qwen2.5" in notice.text and show.overlay().runtimes[0].model.startswith("Qwen2.5")
        words = row.reply.split()
        assert row.reply.rstrip()[-1] in ".!?…" and len(words) > 6
        assert all(words[at : at + 3] != words[at + 3 : at + 6] for at in range(len(words))), row.reply
    finally:
        show.close()


def _poses(show: Show, done: Callable[[], bool], seconds: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Ask for her pose every 33 ms, as the picture does; the spacing of the answers in ms."""
    end, answered = time.monotonic() + seconds, [time.monotonic()]
    while time.monotonic() < end and not done():
        time.sleep(max(0.0, answered[0] + len(answered) / 30 - time.monotonic()))
        show.pose(time.monotonic())
        answered.append(time.monotonic())
    return np.diff(np.array(answered)) * 1000
