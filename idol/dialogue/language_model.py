"""A chat model that streams text: the token loop over an engine's decoder.

Knows tokens, templates and sampling; knows nothing of personas. Used from the worker thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engines.errors import Cancelled, EngineFailure
from engines.models.decoder import Candidates, Decoder, common_length
from engines.models.families import Admit, ChatModel, Progress, load_chat_model, load_trt_chat_model
from idol.dialogue.sampler import Sampler
from idol.dialogue.stop_strings import Detokenizer, StopStrings
from idol.seams import ChatMessage, GenerationStats, RuntimeInfo, Sampling

if TYPE_CHECKING:
    from engines.models.decoder_trt import TensorRTDecoder
    from engines.trt.device import Device

_MOST_CANDIDATES = 128
"""With a larger top-k the sampler wants all logits: an engine on the card otherwise hands out its likeliest only."""


class DecoderLanguageModel:
    """Implements ``LanguageModel`` on a loaded ``ChatModel``, which it closes."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._stats: GenerationStats | None = None

    @property
    def info(self) -> RuntimeInfo:
        summary = self._model.summary
        return RuntimeInfo("llm", self._model.decoder.runtime, summary.name, {"quantisation": summary.quantisation})

    @property
    def context_length(self) -> int:
        return self._model.decoder.capacity

    @property
    def on_card(self) -> TensorRTDecoder | None:
        """The decoder that runs on a card, None on the CPU."""
        decoder = self._model.decoder
        return None if isinstance(decoder, Decoder) else decoder

    @property
    def last_stats(self) -> GenerationStats | None:
        return self._stats

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return len(self._encode(messages, reply=True))

    def prime(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        """Prefill ``messages`` and remember; a prompt that begins with them then prefills only the rest."""
        try:
            self._model.decoder.prime(self._before_a_line(messages), interrupted)
        except Cancelled:
            return False
        return True

    def anticipate(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        """Prefill ``messages`` and the header of the line to come."""
        try:
            self._model.decoder.prefill(self._before_a_line(messages), interrupted)
        except Cancelled:
            return False
        return True

    def generate(
        self, messages: Sequence[ChatMessage], sampling: Sampling, cancelled: Callable[[], bool], said: str = ""
    ) -> Iterator[str]:
        """Yield the reply's text after ``said``. Raises ``SessionError`` when the prompt does not fit the context, and
        what ``engines.errors.is_failure`` knows when the engine breaks."""
        model, decoder = self._model, self._model.decoder
        sampler, stops = Sampler(sampling), StopStrings(sampling.stop)
        detokenizer = Detokenizer(model.tokenizer.decode)
        spoken = model.tokenizer.encode(said) if said else []
        for token in spoken:
            sampler.accept(token)
        prompt = [*self._encode(messages, reply=True), *spoken]
        decoder.full_logits = not 0 < sampling.top_k <= _MOST_CANDIDATES and sampling.temperature > 0
        reused = decoder.reusable(prompt)
        started = time.perf_counter()
        decoded, decode_began = 0, started
        prefilled = started
        paused: float | None = None
        try:
            try:
                logits = decoder.prefill(prompt, cancelled)
            except Cancelled:
                return
            decode_began = prefilled = time.perf_counter()
            limit = min(sampling.max_tokens - len(spoken), decoder.capacity - len(prompt))
            while decoded < limit and not cancelled():
                if not _are_numbers(logits):
                    decoder.cache.reset()  # whatever it holds is not to be trusted either
                    raise EngineFailure(f"The language model {model.summary.name} gave logits that are not numbers.")
                token = sampler.draw(logits)
                decoded += 1
                if token in model.tokenizer.eos_ids:
                    break
                sampler.accept(token)
                text = stops.feed(detokenizer.feed(token))
                if text:
                    paused = time.perf_counter()
                    yield text
                    decode_began += time.perf_counter() - paused
                    paused = None
                if stops.stopped or decoded >= limit:
                    break
                logits = decoder.step(token)
            rest = stops.feed(detokenizer.finish()) + stops.finish()
            if rest:
                yield rest
        finally:
            # Time the caller kept the generator waiting (synthesis, say) is not decoding.
            self._stats = GenerationStats(
                prompt_tokens=len(prompt),
                reused_tokens=reused,
                prefill_seconds=prefilled - started,
                decoded_tokens=decoded,
                decode_seconds=max(0.0, (paused or time.perf_counter()) - decode_began),
            )

    def close(self) -> None:
        self._model.close()

    def _before_a_line(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The ids with which every prompt begins that has a user's line after ``messages``."""
        one, other = (self._encode([*messages, ChatMessage("user", line)], reply=True) for line in ("a", "一"))
        return one[: common_length(one, other)]

    def _encode(self, messages: Sequence[ChatMessage], *, reply: bool) -> list[int]:
        return self._model.template.encode([(m.role, m.content) for m in messages], reply=reply)


def _are_numbers(logits: NDArray[np.float32] | Candidates) -> bool:
    values = logits.logits if isinstance(logits, Candidates) else logits
    return bool(np.isfinite(values).all())


def load_language_model(
    path: Path,
    *,
    threads: int = 0,
    context: int = 2048,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    device: Device | None = None,
    admit: Admit | None = None,
) -> DecoderLanguageModel:
    """Load a GGUF file or an HF folder, on ``device`` or the CPU. Raises the engine layer's errors, with remedies.

    ``admit`` is asked with the bytes that the model will take on ``device``, and may refuse by raising.
    """
    if device is not None:
        return DecoderLanguageModel(
            load_trt_chat_model(path, device, context=context, progress=progress, cancelled=cancelled, admit=admit)
        )
    return DecoderLanguageModel(
        load_chat_model(path, threads=threads, context=context, progress=progress, cancelled=cancelled)
    )


def measure_speed(model: DecoderLanguageModel, tokens: int = 16) -> float:
    """Tokens per second of a short greedy decode, the prompt's prefill not counted. Empties the cache afterwards."""
    messages = [ChatMessage("user", "Count from one to twenty in words.")]
    for _ in model.generate(messages, Sampling(temperature=0.0, max_tokens=tokens), lambda: False):
        pass
    stats = model.last_stats
    model._model.decoder.cache.reset()
    return stats.tokens_per_second if stats else 0.0
