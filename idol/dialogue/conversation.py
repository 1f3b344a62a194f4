"""A persona in conversation: lines in, guarded clauses out, what was heard remembered. Worker thread only."""

from __future__ import annotations

import itertools
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from engines.errors import Cancelled, EngineError
from idol.dialogue.character_guard import CharacterGuard, is_opening, tidy
from idol.dialogue.clauses import ClauseSplitter
from idol.dialogue.history import History
from idol.dialogue.moderation import Blocklist
from idol.dialogue.persona import Persona, TextLists
from idol.dialogue.prompt import SPARE_TOKENS, Exchange, PromptBuilder, context_needed
from idol.dialogue.understanding import Understander
from idol.seams import (
    LANGUAGES,
    ChatMessage,
    Clause,
    Emotion,
    GenerationStats,
    Language,
    LanguageModel,
    RuntimeInfo,
    Sampling,
    Turn,
    Understanding,
)

log = logging.getLogger(__name__)

_UNREAD = 3
"""So many exchanges of an earlier chat stand before a line that comes before the model has read that chat: reading all
of it takes a processor many seconds."""
_NO_GREETING: dict[Language, int] = {"en": 16, "zh": 6, "ja": 10}
"""Letters of a clause that is not to be heard twice in a row: small models fall into saying the same again."""
_REDRAWS = 2
_REDRAW_TEMPERATURE = 0.7
_PROBE = re.compile(
    r"\b(?:system|hidden|initial) (?:prompt|instructions?)\b|\b(?:ignore|forget|disregard) (?:all |any |your |the )*"
    r"(?:previous|prior|above|earlier) (?:instructions?|rules?)|\b(?:which|what) (?:language |ai )?model (?:are|do)\b"
    r"|系统提示|提示词|忽略(?:之前|以上|前面)?[^。！？]{0,6}(?:指令|规则)|(?:什么|哪个|哪种)(?:大|语言|AI)?模型"
    r"|システムプロンプト|(?:これまで|以前|上記)の指示|(?:どの|何の|どんな)(?:言語|AI)?モデル",
    re.IGNORECASE,
)
"""Lines after the model or the prompt behind her: small models recite, so the persona answers for herself."""
_CODE_ASKED = re.compile(
    r"(?:^|\b(?:(?:can|could|would|will) you|please) )(?:write|give|show|code|make)\b.{0,30}"
    r"\b(?:python|java(?:script)?|c\+\+|html|sql|code|script|function|program)\b"
    r"|(?:帮我|给我|替我|请)[^。！？]{0,8}(?:Python|Java|HTML|SQL|C\+\+|代码|函数|程序|脚本)"
    r"|(?:Python|Java|HTML|SQL|C\+\+|コード|関数|プログラム|スクリプト)[^。！？]{0,8}(?:書いて|作って|教えて)",
    re.IGNORECASE,
)
"""Requests a coder's model cannot resist, whatever its part: the persona declines in her own words."""


class Conversation:
    """Answers turns with a language model, or reads them aloud when ``llm`` is None or their source is ``say``."""

    def __init__(
        self,
        llm: LanguageModel | None,
        persona: Persona,
        *,
        blocklist: Blocklist | None = None,
        history: History | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        self._llm = llm
        self._persona = persona
        self._blocklist = blocklist or Blocklist()
        self._understander = Understander(self._blocklist)
        self._history = history or History(None)
        self._sampling = sampling or Sampling()
        self._seeds = itertools.count(self._sampling.seed if self._sampling.seed is not None else 0)
        self._fallbacks = itertools.count()
        self._pending: dict[int, tuple[str, Language]] = {}
        self._growth = 1.8
        self._replying: tuple[Language, Callable[[], bool]] | None = None
        self.first_token_at: float | None = None
        self.redrawn = 0
        """Replies begun again because they fell out of character, since the start."""
        self._prompts: PromptBuilder | None = None
        self._unprimed: list[Language] = list(LANGUAGES)
        self._unread = {exchange.language for exchange in self._history.exchanges}
        """Languages of an earlier chat that the model has not read."""
        if llm is not None:
            self._prompts = self._builder(llm)

    @property
    def info(self) -> RuntimeInfo:
        return self._llm.info if self._llm is not None else RuntimeInfo("llm", "none", "reads aloud")

    @property
    def stats(self) -> GenerationStats | None:
        return self._llm.last_stats if self._llm is not None else None

    def prime(self, language: Language, interrupted: Callable[[], bool] | None = None) -> None:
        """Prefill the constant part of the prompts in ``language``, or stop between two chunks of it."""
        if (
            self._llm is not None
            and self._prompts is not None
            and self._llm.prime(self._prompts.constant(language), interrupted)
        ):
            self._unprimed = [other for other in self._unprimed if other != language]

    def prepare(self, interrupted: Callable[[], bool]) -> bool:
        """Prefill the beginning of the prompts of a language not met yet, at last the chat that went on before the
        start. False when all are done."""
        if self._llm is None or self._prompts is None:
            return False
        if not self._unprimed:
            return self._read_history(interrupted)
        language = self._unprimed[0]
        if self._llm.prime(self._prompts.constant(language), interrupted):
            self._unprimed.remove(language)
        return bool(self._unprimed or self._unread)

    def _read_history(self, interrupted: Callable[[], bool]) -> bool:
        assert self._llm is not None and self._prompts is not None  # the caller looked
        history = self._history.exchanges
        if not history or history[-1].language not in self._unread:
            return False
        language = history[-1].language
        if self._llm.anticipate(self._prompts.build("", language, history)[:-1], interrupted):
            self._unread.discard(language)
        return language in self._unread

    def renew(self) -> None:
        """Another model answers behind the same ``llm`` from now on: nothing is primed, and its context is another.

        In the middle of a reply its language is primed at once: from the disk that is quicker than prefilling it.
        """
        if self._llm is not None:
            self._prompts = self._builder(self._llm)
            self._unprimed = list(LANGUAGES)
            if self._replying is not None:
                self.prime(*self._replying)

    def rehearse(self, llm: LanguageModel, interrupted: Callable[[], bool]) -> Language:
        """Prefill ``llm`` with what the next prompt will probably begin with; returns the language primed.

        May run on another thread while the conversation goes on. Raises ``EngineError`` where the persona does not fit
        the model's context, ``Cancelled`` when ``interrupted()`` turns true.
        """
        history = self._history.exchanges
        primed = [language for language in LANGUAGES if language not in self._unprimed]
        language = history[-1].language if history else (primed or LANGUAGES)[0]
        prompts, budget = self._builder(llm), self._budget(llm)
        constant = prompts.constant(language)
        if llm.count_tokens(constant) > budget:
            raise EngineError(
                f"The persona takes {llm.count_tokens(constant)} tokens, the context leaves it {budget}.",
                "Shorten the persona or choose a model with a longer context.",
            )
        if not llm.prime(constant, interrupted) or not llm.anticipate(
            prompts.build("", language, history)[:-1], interrupted
        ):
            raise Cancelled("The other model was not needed any more.")
        return language

    def fits(self, context: int) -> bool:
        """Whether the constant part of every language's prompt leaves room for a line in ``context`` tokens."""
        if self._llm is None or self._prompts is None:
            return False
        return all(self.needed(language) <= context for language in LANGUAGES)

    def needed(self, language: Language) -> int:
        """Tokens of context that the persona, a line in ``language`` and the answer take; 0 without a model."""
        if self._llm is None or self._prompts is None:
            return 0
        return context_needed(self._llm.count_tokens(self._prompts.constant(language)), self._sampling.max_tokens)

    def adopt(self, llm: LanguageModel, primed: Language) -> LanguageModel | None:
        """Answer with ``llm`` from the next turn on; returns the one before, for closing. History stays."""
        before, self._llm = self._llm, llm
        self.renew()
        self._unprimed.remove(primed)
        return before

    def understand(self, turn: Turn) -> tuple[Understanding, str]:
        return self._understander.read(turn)

    def reply(
        self, turn: Turn, understanding: Understanding, cancelled: Callable[[], bool], growth: float = 1.8
    ) -> Iterator[Clause]:
        """Clauses of the answer as soon as each is whole and judged, each at most ``growth`` times the one before."""
        self.first_token_at = None
        self._growth = growth
        if not turn.text.strip() or not understanding.allowed:
            return
        if self._llm is None or self._prompts is None or turn.source == "say":
            yield from self._read_aloud(turn, understanding, cancelled)
            return
        language = understanding.language
        self._pending[turn.id] = (turn.text, language)
        probed = _PROBE.search(turn.text) is not None
        if probed or _CODE_ASKED.search(turn.text):
            self.first_token_at = time.monotonic()
            line = self._own_line(self._persona.secret if probed else None, language)
            yield self._clause(turn, 0, line, understanding)
            return
        if language in self._unprimed:  # from the disk that is far quicker than prefilling it again
            self.prime(language, cancelled)
        if language in self._unread:
            self._prompts.shorten(language, self._history.exchanges, _UNREAD)
            self._unread.discard(language)
        messages = self._prompts.build(turn.text, language, self._history.exchanges)
        guard = CharacterGuard(language, turn.text, self._persona.names.get(language))
        index = 0
        for attempt in range(_REDRAWS + 1):
            failed = ""
            for clause in _joined_openings(self._clauses(messages, language, attempt, cancelled)):
                if index == 0 and attempt < _REDRAWS and self._said_just_now(clause, language):
                    failed = "said just now"
                    break
                failed = guard.judge(clause) or ("blocked word" if self._blocklist.find(clause) else "")
                if failed:
                    clause = guard.salvage(clause)
                    if not clause or self._blocklist.find(clause):
                        break
                clause = guard.fit(clause)
                text = tidy(clause)
                if not text.strip():
                    continue
                guard.accept(clause)
                yield self._clause(turn, index, text, understanding)
                index += 1
                if guard.full or failed:
                    return
            if not failed or cancelled():
                return
            log.info("a clause was withheld: %s", failed)
            if guard.whole and index:
                return  # what was said stands by itself; going on would only wander off again
            if index:
                break  # half a sentence hangs in the air
            self.redrawn += 1
            messages = self._prompts.reminded(messages, language) if attempt == 0 else messages
        yield self._clause(turn, index, self._own_line(None, language), understanding)

    def _said_just_now(self, clause: str, language: Language) -> bool:
        """Whether one of her last two answers began with ``clause``, which is longer than a greeting."""
        said = _letters(clause)
        last = [exchange.reply for exchange in self._history.exchanges if exchange.language == language][-2:]
        return len(said) >= _NO_GREETING[language] and any(_letters(reply).startswith(said) for reply in last)

    def _own_line(self, lines: TextLists | None, language: Language) -> str:
        """One of the persona's own ``lines`` (None: its fallbacks), in turn."""
        chosen = (lines or self._persona.fallback).get(language)
        return chosen[next(self._fallbacks) % len(chosen)]

    def commit_heard(self, turn_id: int, heard: str) -> None:
        """Remember what was heard of the answer to ``turn_id``. Raises ``OSError`` when it cannot be written."""
        line, language = self._pending.pop(turn_id, ("", "en"))
        self._pending.clear()
        if line and heard and self._llm is not None:
            self._history.add(Exchange(line, heard, language), turn_id)

    def anticipate(self, turn_id: int, reply: str, interrupted: Callable[[], bool]) -> None:
        """Read ahead while ``reply`` is still sounding: what the next prompt begins with if all of it is heard."""
        line, language = self._pending.get(turn_id, ("", "en"))
        if self._llm is None or self._prompts is None or not line or not reply:
            return
        exchanges = [*self._history.exchanges, Exchange(line, reply, language)]
        self._llm.anticipate(self._prompts.build("", language, exchanges)[:-1], interrupted)

    def forget(self) -> None:
        """Start a new conversation."""
        self._history.forget()
        self._unread.clear()
        if self._prompts is not None:
            self._prompts.forget()

    def close(self) -> None:
        if self._llm is not None:
            self._llm.close()

    def _clauses(
        self, messages: list[ChatMessage], language: Language, attempt: int, cancelled: Callable[[], bool]
    ) -> Iterator[str]:
        assert self._llm is not None  # only called where there is a model
        sampling = replace(self._sampling, seed=self._seed(), stop=(*self._sampling.stop, "\n\n", "\nUser", "\nuser"))
        if attempt:  # else much the same would come again
            sampling = replace(sampling, temperature=max(sampling.temperature, _REDRAW_TEMPERATURE))
        splitter = ClauseSplitter(growth=self._growth)
        pieces = self._llm.generate(messages, sampling, cancelled)
        self._replying = (language, cancelled)
        try:
            for piece in pieces:
                if self.first_token_at is None:
                    self.first_token_at = time.monotonic()
                yield from splitter.feed(piece)
            yield from splitter.finish()
        finally:
            self._replying = None
            close = getattr(pieces, "close", None)
            if close is not None:
                close()

    def _builder(self, llm: LanguageModel) -> PromptBuilder:
        return PromptBuilder(self._persona, llm.count_tokens, self._budget(llm))

    def _budget(self, llm: LanguageModel) -> int:
        return llm.context_length - self._sampling.max_tokens - SPARE_TOKENS

    def _seed(self) -> int | None:
        return next(self._seeds) if self._sampling.seed is not None else None

    def _read_aloud(self, turn: Turn, understanding: Understanding, cancelled: Callable[[], bool]) -> Iterator[Clause]:
        self.first_token_at = time.monotonic()
        splitter = ClauseSplitter(growth=self._growth)
        for index, text in enumerate([*splitter.feed(turn.text), *splitter.finish()]):
            if cancelled():
                return
            yield self._clause(turn, index, text, understanding)

    def _clause(self, turn: Turn, index: int, text: str, understanding: Understanding) -> Clause:
        emotion: Emotion = self._understander.reply_emotion(text)
        if emotion in ("neutral", "thinking") and index == 0 and understanding.emotion in ("sad", "shy", "relaxed"):
            emotion = understanding.emotion
        return Clause(turn.id, index, text, emotion, understanding.language)


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _joined_openings(clauses: Iterator[str]) -> Iterator[str]:
    """``clauses``, where "Sure!" or "Hello," waits for what it opens: alone it cannot be judged, nor unsaid."""
    opening = ""
    for clause in clauses:
        if is_opening(opening + clause):
            opening += clause
            continue
        yield opening + clause
        opening = ""
    if opening:
        yield opening
