"""A chat model whose replies are given: the conversation's own logic is tested without weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from idol.seams import ChatMessage, GenerationStats, RuntimeInfo, Sampling


class FakeModel:
    """Implements ``LanguageModel``. Says ``replies`` one after the other (the last one for ever), in small pieces.

    A token is a character of the prompt here, and four for what a template puts around each message. A prompt that does
    not fit the context is an error, as with the real one.
    """

    def __init__(self, *replies: str, context: int = 2048, piece: int = 3) -> None:
        self._replies = list(replies)
        self._piece = piece
        self._stats: GenerationStats | None = None
        self.context_length = context
        self.prompts: list[list[ChatMessage]] = []
        self.samplings: list[Sampling] = []
        self.primed: list[list[ChatMessage]] = []
        self.anticipated: list[list[ChatMessage]] = []
        self.pieces_given = 0
        self.generations_open = 0
        self.closed = False

    @property
    def info(self) -> RuntimeInfo:
        return RuntimeInfo("llm", "fake", "fake")

    @property
    def last_stats(self) -> GenerationStats | None:
        return self._stats

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return sum(len(message.content) + 4 for message in messages)

    def prime(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        if interrupted is not None and interrupted():
            return False
        self.primed.append(list(messages))
        return True

    def anticipate(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        if interrupted is not None and interrupted():
            return False
        self.anticipated.append(list(messages))
        return True

    def generate(
        self, messages: Sequence[ChatMessage], sampling: Sampling, cancelled: Callable[[], bool], said: str = ""
    ) -> Iterator[str]:
        if self.count_tokens(messages) + sampling.max_tokens > self.context_length:
            raise RuntimeError(f"the prompt has {self.count_tokens(messages)} tokens")
        self.prompts.append(list(messages))
        self.samplings.append(sampling)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        self.generations_open += 1
        try:
            for start in range(len(said), len(reply), self._piece):
                if cancelled():
                    return
                self.pieces_given += 1
                yield reply[start : start + self._piece]
        finally:
            self.generations_open -= 1
            self._stats = GenerationStats(self.count_tokens(messages), 0, 0.1, len(reply), 0.1)

    def close(self) -> None:
        self.closed = True
