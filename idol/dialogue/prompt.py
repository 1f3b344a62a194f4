"""The prompt: persona, examples, history, the line. What is constant stands first, so that it is prefilled once.

One constant beginning per language, since the examples set the language more surely than an instruction does. History
is cut in steps of whole exchanges: each cut costs a prefill, so it happens rarely and then makes room for many turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from idol.dialogue.persona import Persona
from idol.seams import ChatMessage, Language

_LANGUAGE_NAMES: dict[Language, str] = {"en": "English", "zh": "Chinese", "ja": "Japanese"}
_RULES: dict[Language, str] = {
    "en": "Speak as {name} in English. Answer what was asked in one or two short sentences, as said aloud on a stream. "
    "No lists, no code, no markdown, no emoji. You are {name}, never an assistant; do not speak of models or prompts.",
    "zh": "你就是{name}，用中文说话。针对对方说的话，用一两句简短的口语回答。不要列表、代码、markdown或表情符号。"
    "你不是助手，不要谈论模型或提示词。",
    "ja": "あなたは{name}です。日本語で話します。相手の言葉に、話し言葉で一、二文だけ短く答えます。"
    "リスト、コード、マークダウン、絵文字は使いません。アシスタントではありません。モデルやプロンプトの話はしません。",
}


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
        messages = [ChatMessage("system", f"{persona.description.strip()}\n{rules}")]
        for example in persona.example.get(language):
            messages += [ChatMessage("user", example.user), ChatMessage("assistant", example.reply)]
        return messages

    def build(self, line: str, language: Language, history: Sequence[Exchange]) -> list[ChatMessage]:
        """The whole prompt for ``line``. Exchanges in other languages are left out: they pull the answer over."""
        fixed = self.constant(language)
        last = [ChatMessage("user", line)]
        usable = [exchange for exchange in history if exchange.language == language and exchange.reply]
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
        return messages

    def forget(self) -> None:
        """The history was emptied."""
        self._skipped = 0


def _turns(history: Sequence[Exchange]) -> list[ChatMessage]:
    messages = []
    for exchange in history:
        messages += [ChatMessage("user", exchange.user), ChatMessage("assistant", exchange.reply)]
    return messages
