"""One turn on the worker thread, from the line to the last audible sample.

Engines take turns on one thread: decode until a clause is whole, synthesise it while the one before plays. Between two
tokens the runner looks at the clock: it releases a held first clause (see ``pacing``) and reports what became audible.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from idol.seams import Clause, FaceFrame, Speech, Turn
from idol.show.cast import Engines
from idol.show.heard import PlacedClause
from idol.show.interface import ClauseSpoken, ReplyText, ShowEvent
from idol.show.latency import TurnRecord
from idol.show.pacing import Rates, may_start, start_delay

_POLL_SECONDS = 0.01


class TurnRunner:
    """Runs one turn; used once. ``stale`` turns true when the turn is cancelled."""

    def __init__(
        self,
        engines: Engines,
        rates: Rates,
        row: TurnRecord,
        emit: Callable[[ShowEvent], None],
        stale: Callable[[], bool],
        clock: Callable[[], float],
        say: Callable[[bool], None],
        between_clauses: Callable[[], object] = lambda: None,
    ) -> None:
        self._engines = engines
        self._rates = rates
        self._row = row
        self._emit = emit
        self._stale = stale
        self._clock = clock
        self._say = say
        self._between_clauses = between_clauses
        self._held: list[tuple[Clause, Speech, list[FaceFrame]]] = []
        self._held_since = 0.0
        self._unspoken: list[PlacedClause] = []
        self._last: PlacedClause | None = None
        self._first_sample: int | None = None
        self._tokens = 0
        self.written = False
        """All of the reply has been handed to the output: it only sounds now."""

    def run(self, turn: Turn) -> None:
        """Answer ``turn``; fills the row. Engine errors come out as they are."""
        row, mind = self._row, self._engines.mind
        understanding, text = mind.understand(turn)
        row.reach("understand", self._clock())
        row.language, row.emotion = understanding.language, understanding.emotion
        if not understanding.allowed:
            row.reason, row.message = "blocked", understanding.reason
            return
        self._engines.line.planner.reset()
        turn = Turn(turn.id, text, turn.source, understanding.language, turn.received_at)
        replies = mind.reply(turn, understanding, self._tick, self._rates.clause_growth)
        for clause in replies:
            if self._stale():
                break
            if mind.first_token_at is not None:
                row.reach("first_token", mind.first_token_at)
            row.reach("first_clause", self._clock())
            row.reply += clause.text
            row.emotion = clause.emotion
            self._emit(ReplyText(turn.id, clause.text))
            self._speak(clause)
        close = getattr(replies, "close", None)
        if close is not None:
            close()
        self._note_stats()
        self._start_held()
        self._engines.output.finish()
        self.written = True
        self._play_out()
        if self._stale():
            row.reason = "cancelled"
            row.heard = self._engines.line.heard(turn.id, self._engines.line.cut())
        else:
            row.reason, row.heard = "done", row.reply.strip()

    def _tick(self) -> bool:
        """Asked before each token: housekeeping, then whether to stop."""
        self._tokens += 1
        self._report_spoken()
        if self._held:
            needed = self._rates.next_clause_seconds(self._tokens)
            if may_start(self._held_seconds(), needed, self._clock() - self._held_since):
                self._start_held()
        return self._stale()

    def _speak(self, clause: Clause) -> None:
        engines, row = self._engines, self._row
        tokens, self._tokens = self._tokens, 0
        if self._held:
            # The next clause's text is known: what is missing is its synthesis, during which nobody looks at the clock.
            needed = self._rates.text_synthesis_seconds(clause.text, clause.language)
            self._start_held(start_delay(self._held_seconds(), needed))
        self._between_clauses()
        speech = engines.voice.speak(clause, engines.voice_for(clause.language), engines.speed)
        if speech is None or self._stale():
            return
        row.reach("first_audio", self._clock())
        row.audio_seconds += speech.seconds
        row.synthesis_seconds += speech.seconds_spent
        row.spoken.append(speech.spoken)
        self._rates.learn_synthesis(speech.seconds, speech.seconds_spent)
        self._rates.learn_clause(tokens, speech.seconds)
        self._rates.learn_text(clause.text, clause.language, speech.seconds)
        self._start_held()
        frames = engines.line.plan(speech, clause.emotion)
        row.reach("first_face", self._clock())
        self._held.append((clause, speech, frames))
        self._held_since = self._clock()
        if self._first_sample is not None or may_start(
            speech.seconds, self._rates.next_clause_seconds(0), held_for=0.0
        ):
            self._start_held()

    def _held_seconds(self) -> float:
        return sum(speech.seconds for _, speech, _ in self._held)

    def _start_held(self, delay: float = 0.0) -> None:
        """Give what is held to the output, to sound ``delay`` s from now, unless the turn has been cancelled."""
        for clause, speech, frames in self._held:
            if self._stale():
                break
            if self._first_sample is None:
                self._row.held_back_ms = (self._clock() - self._held_since + delay) * 1000
                self._say(True)
            placed = self._engines.line.place(clause, speech, frames, delay)
            if self._first_sample is None:
                self._first_sample = placed.first
            self._unspoken.append(placed)
            self._last = placed
        self._held.clear()
        if self._stale():
            self._engines.line.cut()

    def _report_spoken(self) -> None:
        if self._first_sample is not None and "first_sample" not in self._row.stages:
            at = self._engines.output.time_of(self._first_sample)
            if at is not None:
                self._row.reach("first_sample", at)
        position = self._engines.output.position()
        while self._unspoken and position >= self._unspoken[0].first and "first_sample" in self._row.stages:
            placed = self._unspoken.pop(0)
            self._emit(ClauseSpoken(self._row.turn_id, placed.index, placed.text))

    def _play_out(self) -> None:
        """Wait until the last sample has been played or the turn is cancelled; read ahead meanwhile."""
        ahead = False
        while self._last is not None and not self._stale():
            self._report_spoken()
            if self._engines.output.position() >= self._last.end:
                self._report_spoken()
                return
            if not ahead and not self._unspoken:
                ahead = True
                self._engines.mind.anticipate(self._row.turn_id, self._row.reply.strip(), self._stale)
                continue
            time.sleep(_POLL_SECONDS)

    def _note_stats(self) -> None:
        stats = self._engines.mind.stats
        if stats is None:
            return
        self._row.tokens_per_second = stats.tokens_per_second
        self._row.prompt_tokens = stats.prompt_tokens
        self._row.reused_tokens = stats.reused_tokens
        self._rates.learn_decode(stats.decoded_tokens, stats.decode_seconds)
