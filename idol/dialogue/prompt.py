"""The prompt: persona, examples, history, the line. What is constant stands first, so that it is prefilled once.

One constant beginning per language, since the examples set the language more surely than an instruction does. History
is cut in steps of whole exchanges: each cut costs a prefill, so it happens rarely and then makes room for many turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from idol.dialogue.persona import Persona
from idol.seams import ChatMessage, Language

_RULES: dict[Language, str] = {
    "en": "Whatever is asked, you are {name}. Answer in English in one or two short spoken sentences, "
    "without lists, code or emoji.",
    "zh": "无论被问什么，你都是{name}。用中文口语回答一两句短句，不要列表、代码或表情符号。",
    "ja": "何を聞かれても{name}のまま、自然でやさしい日本語の話し言葉で、一、二文だけ短く答える。"
    "リスト、コード、絵文字はなし。",
}
_REMINDERS: dict[Language, str] = {
    "en": "(Answer as {name}, in one short spoken sentence.)",
    "zh": "（请以{name}的身份用一句口语回答。）",
    "ja": "（{name}として、話し言葉で一文だけ答えて。）",
}


_LINE_TOKENS = 64
"""What a line takes, and a short exchange before it."""
SPARE_TOKENS = 16
"""What is left free at the end of the context."""


def context_needed(constant: int, answer: int) -> int:
    """The tokens of context without which she cannot answer: ``constant`` are those of the prompt's beginning,
    ``answer`` those of the longest reply."""
    return constant + _LINE_TOKENS + answer + SPARE_TOKENS


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a viewer said and what was heard of the answer."""

    user: str
    reply: str
    language: Language


class PromptBuilder:
    """Builds prompts for one persona. ``count`` gives the tokens of a prompt; ``budget`` is what it may take."""

    def __init__(self, persona: Persona, count: Callable[[Sequence[ChatMessage]], int], budget: int) -> None:
        self._persona = persona
        self._count = count
        self._budget = budget
        self._skipped = 0

    def constant(self, language: Language) -> list[ChatMessage]:
        """The beginning of every prompt in ``language``: what to prime the cache with."""
        persona = self._persona
        name = persona.names.get(language)
        rules = _RULES[language].format(name=name)
        messages = [ChatMessage("system", f"{persona.described(language)}\n{rules}")]
        for example in persona.example.get(language):
            messages += [ChatMessage("user", example.user), ChatMessage("assistant", example.reply)]
        return messages

    def build(self, line: str, language: Language, history: Sequence[Exchange]) -> list[ChatMessage]:
        """The whole prompt for ``line``. Exchanges in other languages are left out: they pull the answer over."""
        fixed = self.constant(language)
        last = [ChatMessage("user", line)]
        usable = _usable(history, language)
        self._skipped = min(self._skipped, len(usable))
        messages = [*fixed, *_turns(usable[self._skipped :]), *last]
        if self._count(messages) <= self._budget:
            return messages
        # Over budget: drop the older half at once, so that the next turns can reuse what stays.
        while self._skipped < len(usable):
            self._skipped += max(1, (len(usable) - self._skipped) // 2)
            messages = [*fixed, *_turns(usable[self._skipped :]), *last]
            if self._count(messages) <= self._budget:
                return messages
        # The line alone is too long: its beginning must do.
        while line and self._count(messages) > self._budget:
            line = line[: len(line) * 3 // 4]
            messages = [*fixed, ChatMessage("user", line + "…")]
        return messages

    def shorten(self, language: Language, history: Sequence[Exchange], most: int) -> None:
        """Of ``history`` only the last ``most`` exchanges, and what comes after them, stand in prompts from now on."""
        self._skipped = max(self._skipped, len(_usable(history, language)) - most)

    def reminded(self, messages: Sequence[ChatMessage], language: Language) -> list[ChatMessage]:
        """``messages`` with a reminder of the part she plays at the end of the line, for another try."""
        reminder = _REMINDERS[language].format(name=self._persona.names.get(language))
        return [*messages[:-1], ChatMessage("user", f"{messages[-1].content}\n{reminder}")]

    def forget(self) -> None:
        """The history was emptied."""
        self._skipped = 0


def _usable(history: Sequence[Exchange], language: Language) -> list[Exchange]:
    return [exchange for exchange in history if exchange.language == language and exchange.reply]


def _turns(history: Sequence[Exchange]) -> list[ChatMessage]:
    messages = []
    for exchange in history:
        messages += [ChatMessage("user", exchange.user), ChatMessage("assistant", exchange.reply)]
    return messages
