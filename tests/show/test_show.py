"""The show's own logic: order of events, cancel, failure, held first clauses, history of what was heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines.errors import EngineError
from idol.dialogue.history import History
from idol.seams import SAMPLE_RATE
from idol.settings import Settings
from idol.show.assembly import make_show
from idol.show.cast import Engines
from idol.show.interface import ClauseSpoken, Notice, Ready, ReplyText, ShowEvent, TurnEnded, TurnStarted
from idol.show.show import Show
from idol.show.speech_line import SpeechLine
from tests.show.fakes import FakeMind, FakeMixer, FakeOutput, FakePlanner, FakeTrack, FakeVoice


class Rig:
    """A show on fakes and the list of its events."""

    def __init__(self, mind: FakeMind, voice: FakeVoice | None = None) -> None:
        self.mind = mind
        self.voice = voice or FakeVoice()
        self.output = FakeOutput()
        self.track = FakeTrack()
        self.mixer = FakeMixer()
        line = SpeechLine(self.output, FakePlanner(), self.track)
        self.show = Show(
            lambda notify, cancelled: Engines(self.mind, self.voice, line, lambda language: "tone"), self.mixer
        )
        self.events: list[tuple[float, ShowEvent]] = []
        self.show.subscribe(lambda event: self.events.append((time.monotonic(), event)))
        self.show.start()

    def wait(self, wanted: Callable[[ShowEvent], bool], seconds: float = 5.0) -> ShowEvent:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for _, event in list(self.events):
                if wanted(event):
                    return event
            time.sleep(0.002)
        raise AssertionError(f"no such event within {seconds} s; got {[event for _, event in self.events]}")

    def ended(self, turn_id: int) -> TurnEnded:
        event = self.wait(lambda e: isinstance(e, TurnEnded) and e.turn_id == turn_id)
        assert isinstance(event, TurnEnded)
        return event

    def of(self, kind: type) -> list[ShowEvent]:
        return [event for _, event in self.events if isinstance(event, kind)]


@pytest.fixture
def make() -> Iterator[Callable[..., Rig]]:
    rigs: list[Rig] = []

    def build(*arguments: object, **names: object) -> Rig:
        rigs.append(Rig(*arguments, **names))  # type: ignore[arg-type]
        return rigs[-1]

    yield build
    for rig in rigs:
        rig.show.close()
        assert rig.output.closed and rig.mind.closed and rig.voice.closed


def test_a_line_is_answered_in_order(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello, ", "nice to see you. ", "Really!"]))
    turn = rig.show.submit("hi", "test")
    end = rig.ended(turn)
    assert (end.reason, end.heard) == ("done", "Hello, nice to see you. Really!")
    kinds = [type(event).__name__ for _, event in rig.events]
    assert kinds[0] == "Ready" and kinds[1] == "TurnStarted" and kinds[-1] == "TurnEnded"
    assert "".join(e.text for e in rig.of(ReplyText)) == "Hello, nice to see you. Really!"  # type: ignore[attr-defined]
    assert [e.index for e in rig.of(ClauseSpoken)] == [0, 1, 2]  # type: ignore[attr-defined]
    row = rig.show.book.last
    assert row is not None
    stages = [row.stages[name] for name in ("understand", "first_token", "first_clause", "first_audio", "first_sample")]
    assert stages == sorted(stages)
    assert row.audio_seconds == pytest.approx(0.3)
    assert rig.mind.anticipated == [(turn, "Hello, nice to see you. Really!")]
    assert rig.mind.growths == [1.8]  # as on a fast machine, before anything was measured
    assert row.underruns == 0
    assert rig.mind.heard == {turn: "Hello, nice to see you. Really!"}


def test_turns_queue_and_follow(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["One. "]))
    first, second = rig.show.submit("a"), rig.show.submit("b")
    rig.ended(second)
    order = [(type(e).__name__, e.turn_id) for _, e in rig.events if isinstance(e, TurnStarted | TurnEnded)]
    assert order == [("TurnStarted", first), ("TurnEnded", first), ("TurnStarted", second), ("TurnEnded", second)]


def test_cancel_silences_at_once_and_keeps_what_was_heard(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["One two three. ", "Four five six. ", "Seven."]), FakeVoice(seconds=1.0))
    turn = rig.show.submit("hi")
    rig.wait(lambda e: isinstance(e, ClauseSpoken))
    time.sleep(0.5)
    before = rig.output.position()
    started = time.monotonic()
    rig.show.cancel()
    assert time.monotonic() - started < 0.1
    assert rig.output.queued_seconds == 0
    end = rig.ended(turn)
    assert end.reason == "cancelled"
    assert end.heard.startswith("One") and "Four" not in end.heard
    assert rig.mind.heard[turn] == end.heard
    assert abs(rig.track.cuts[0] - before) < 0.05 * SAMPLE_RATE
    time.sleep(0.15)
    assert rig.show.pose(time.monotonic()).weights.max() == 0


def test_cancel_before_any_sound_and_a_new_line_after(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello."], tokens=200, token_seconds=0.002))
    first = rig.show.submit("a")
    queued = rig.show.submit("b")
    rig.wait(lambda e: isinstance(e, TurnStarted))
    rig.show.cancel()
    assert rig.ended(first).reason == "cancelled" and rig.ended(first).heard == ""
    assert rig.ended(queued).reason == "cancelled"
    rig.mind.tokens = 1
    third = rig.show.submit("c")
    assert rig.ended(third).reason == "done"


def test_a_cancel_while_idle_does_not_touch_the_next_line(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello."]))
    rig.wait(lambda e: isinstance(e, Ready))
    rig.show.cancel()
    time.sleep(0.15)
    assert rig.ended(rig.show.submit("hi")).reason == "done"


def test_blocked_lines_are_not_answered(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello."]))
    end = rig.ended(rig.show.submit("something forbidden"))
    assert (end.reason, end.message) == ("blocked", "a blocked word")
    assert not rig.of(ReplyText)


def test_a_failed_engine_ends_the_turn_and_not_the_show(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello. ", "World."]))
    rig.mind.fail = EngineError("the engine broke", "Mend it.")
    end = rig.ended(rig.show.submit("hi"))
    assert end.reason == "failed" and "broke" in end.message
    notice = rig.of(Notice)[0]
    assert isinstance(notice, Notice) and notice.remedy == "Mend it."
    rig.mind.fail = None
    assert rig.ended(rig.show.submit("again")).reason == "done"


def test_what_cannot_be_spoken_is_still_shown(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["...", "Hello."]))
    end = rig.ended(rig.show.submit("hi"))
    assert end.heard == "...Hello."
    row = rig.show.book.last
    assert row is not None and row.audio_seconds == pytest.approx(0.1)


def test_a_slow_machine_holds_the_first_clause_instead_of_leaving_a_hole(make: Callable[..., Rig]) -> None:
    # A clause is 0.5 s of sound; the next takes 10 tokens of 40 ms to decode and 0.25 s to say: 0.65 s.
    rig = make(FakeMind(["One, ", "two, ", "three."], tokens=10, token_seconds=0.04), FakeVoice(0.5, 0.25))
    rig.show.rates.learn_decode(1000, 40.0)
    for _ in range(4):  # the rates are learnt from the first turns
        rig.ended(rig.show.submit("hi"))
    learnt = rig.show.book.rows[-1]
    assert 50 < learnt.held_back_ms < 1000
    assert learnt.underruns == 1  # the third clause is late whatever is done: 0.65 s of work per 0.5 s of sound


def test_a_fast_machine_holds_nothing(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["One, ", "two, ", "three."], tokens=10, token_seconds=0.001), FakeVoice(0.5, 0.01))
    for _ in range(3):
        rig.ended(rig.show.submit("hi"))
    assert rig.show.book.rows[-1].held_back_ms < 20
    assert rig.show.book.rows[-1].underruns == 0


def test_empty_and_late_lines_are_refused_with_a_reason(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello."]))
    for text in ("", "   ", "\n\t", "\x00\x07"):
        with pytest.raises(ValueError, match="empty"):
            rig.show.submit(text)


def test_a_full_queue_refuses_the_newest(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello."], tokens=100, token_seconds=0.01))
    with pytest.raises(ValueError, match="waiting"):
        for _ in range(40):
            rig.show.submit("hi")
    rig.show.cancel()


def test_the_mouth_follows_the_sound_and_closes_after_it(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello."]), FakeVoice(seconds=0.4))
    turn = rig.show.submit("hi")
    rig.wait(lambda e: isinstance(e, ClauseSpoken))
    time.sleep(0.1)
    pose = rig.show.pose(time.monotonic())
    assert pose.speaking and pose.emotion == "happy" and pose.weights[17] == pytest.approx(0.5)
    rig.ended(turn)
    time.sleep(0.15)
    pose = rig.show.pose(time.monotonic())
    assert not pose.speaking and pose.weights[17] == 0


def test_the_body_hears_where_clauses_begin_what_comes_and_when_it_is_cut(make: Callable[..., Rig]) -> None:
    rig = make(FakeMind(["Hello, ", "nice to see you. ", "Really!"]), FakeVoice(seconds=0.3))
    turn = rig.show.submit("hi")
    deadline = time.monotonic() + 5.0
    while not any(isinstance(e, TurnEnded) for _, e in rig.events) and time.monotonic() < deadline:
        rig.show.pose(time.monotonic())
        time.sleep(0.005)
    rig.ended(turn)
    heard = [clause for clause in rig.mixer.clauses if clause >= 0]
    assert len(set(heard)) == len(rig.of(ClauseSpoken)) >= 2, "one number for each clause"
    assert heard == sorted(heard)
    assert rig.mixer.looked_ahead
    cuts = rig.mixer.cuts
    rig.show.cancel()
    assert rig.mixer.cuts == cuts + 1


def test_loading_that_fails_is_said_and_the_show_still_closes() -> None:
    def load(notify: object, cancelled: object) -> Engines:
        raise EngineError("no such model", "Fetch it.")

    show = Show(load, FakeMixer())
    notices: list[ShowEvent] = []
    show.subscribe(notices.append)
    show.start()
    deadline = time.monotonic() + 2
    while not notices and time.monotonic() < deadline:
        time.sleep(0.01)
    assert isinstance(notices[0], Notice) and notices[0].remedy == "Fetch it."
    with pytest.raises(ValueError, match="not running"):
        show.submit("hi")
    show.close()


def test_a_line_is_kept_when_it_is_submitted() -> None:
    show = make_show(Settings(), remember=True)
    show.submit("answer me")
    show.submit("read this aloud", "say")
    again = make_show(Settings(), remember=True)  # as after a kill: nothing was closed
    assert [(line.text, line.reply) for line in again.earlier(50)] == [("answer me", "")]
    assert make_show(Settings()).earlier(50) == []
    show.close()
    again.close()


def test_lines_that_wait_belong_to_the_conversation_begun_after_them(tmp_path: Path) -> None:
    history = History(tmp_path / "h.jsonl")
    mind, output = FakeMind(["One. "]), FakeOutput()
    go = threading.Event()

    def forget() -> None:
        history.forget()
        go.set()

    mind.forget = forget  # type: ignore[method-assign]
    line = SpeechLine(output, FakePlanner(), FakeTrack())
    show = Show(
        lambda notify, cancelled: Engines(mind, FakeVoice(), line, lambda language: "tone"), FakeMixer(),
        history=history,
    )  # fmt: skip
    show.submit("late")
    show.forget()
    show.start()
    assert go.wait(5)
    show.close()
    assert [line.text for line in History(tmp_path / "h.jsonl").recent(5)] == ["late"]


def test_a_history_that_cannot_be_read_is_said_by_the_show(tmp_path: Path) -> None:
    settings = Settings()
    settings.persona = str(tmp_path / "none.toml")
    show = make_show(settings, remember=True)
    told: list[ShowEvent] = []
    show.subscribe(told.append)
    show.submit("hi")
    show.start()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not any(isinstance(event, Notice) for event in told):
        time.sleep(0.01)
    show.close()
    assert any(isinstance(event, Notice) and "none.toml" in event.text for event in told)
