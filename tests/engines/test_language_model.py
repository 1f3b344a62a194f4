"""The token loop over the tiny Llama: streams, stops, seeds, cancels, counts, and keeps the cache across turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.errors import SessionError
from idol.dialogue.language_model import DecoderLanguageModel, load_language_model, measure_speed
from idol.seams import ChatMessage, LanguageModel, Sampling
from tests.engines.test_tokenizer import LLM

GREEDY = Sampling(temperature=0.0, repetition_penalty=1.0, max_tokens=24)
HELLO = [ChatMessage("system", "You are Mira."), ChatMessage("user", "Hello everyone")]


def never() -> bool:
    return False


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DecoderLanguageModel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDOL_MODELS", str(tmp_path_factory.mktemp("models")))
        loaded = load_language_model(LLM / "tiny_llama_f16.gguf", threads=1, context=256)
        yield loaded
        loaded.close()


def text(model: DecoderLanguageModel, sampling: Sampling, messages: list[ChatMessage] = HELLO) -> str:
    return "".join(model.generate(messages, sampling, never))


def test_it_is_a_language_model(model: DecoderLanguageModel) -> None:
    assert isinstance(model, LanguageModel)
    assert model.info.engine == "llm" and "onnxruntime" in model.info.runtime and model.info.detail["quantisation"]
    assert model.context_length == 256


def test_greedy_is_the_same_every_time_whatever_came_between(model: DecoderLanguageModel) -> None:
    first = text(model, GREEDY)
    text(model, Sampling(seed=3), [ChatMessage("user", "something else")])
    assert text(model, GREEDY) == first and first


def test_seeds_decide(model: DecoderLanguageModel) -> None:
    def drawn(seed: int | None) -> str:
        return text(model, Sampling(temperature=1.5, max_tokens=24, seed=seed))

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(4)}) == 4
    assert drawn(None) != drawn(None)


def test_pieces_are_whole_characters(model: DecoderLanguageModel) -> None:
    for seed in range(8):
        for piece in model.generate(
            HELLO, Sampling(temperature=3.0, top_k=0, top_p=1.0, max_tokens=60, seed=seed), never
        ):
            assert piece and "\ufffd" not in piece


def test_a_stop_string_ends_the_reply_and_is_not_shown(model: DecoderLanguageModel) -> None:
    whole = text(model, GREEDY)
    stop = whole[5:8]
    assert (
        text(model, Sampling(temperature=0.0, repetition_penalty=1.0, max_tokens=24, stop=(stop,)))
        == (whole[: whole.index(stop)])
    )
    stats = model.last_stats
    assert stats is not None and stats.decoded_tokens < 24


def test_the_number_of_tokens_is_kept(model: DecoderLanguageModel) -> None:
    for count in (1, 5):
        text(model, Sampling(temperature=0.0, repetition_penalty=1.0, max_tokens=count))
        stats = model.last_stats
        assert stats is not None and stats.decoded_tokens == count


def test_the_context_ends_a_reply_without_an_error(model: DecoderLanguageModel) -> None:
    line = [ChatMessage("user", "rain " * 40)]
    used = model.count_tokens(line)
    assert 100 < used < 256
    text(model, Sampling(temperature=1.0, max_tokens=1000, seed=0), line)
    stats = model.last_stats
    assert stats is not None and stats.prompt_tokens == used and stats.decoded_tokens <= 256 - used


def test_a_prompt_that_does_not_fit_is_refused(model: DecoderLanguageModel) -> None:
    with pytest.raises(SessionError, match=r"The prompt has \d+ tokens, the context holds 256.*Shorten"):
        text(model, GREEDY, [ChatMessage("user", "rain " * 400)])
    assert text(model, GREEDY)  # and the model is as before


@pytest.mark.parametrize("after", [0, 1, 4])
def test_cancelling_is_asked_before_each_token(model: DecoderLanguageModel, after: int) -> None:
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > after + 1  # once for the prefill

    "".join(model.generate(HELLO, GREEDY, cancelled))
    stats = model.last_stats
    assert stats is not None and stats.decoded_tokens == after


def test_closing_the_stream_stops_and_counts(model: DecoderLanguageModel) -> None:
    pieces = model.generate(HELLO, GREEDY, never)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    stats = model.last_stats
    assert stats is not None and 1 <= stats.decoded_tokens < 24 and stats.tokens_per_second > 0


def test_a_second_turn_prefills_only_what_is_new(model: DecoderLanguageModel) -> None:
    model.prime(HELLO[:1])
    first = text(model, GREEDY)
    stats = model.last_stats
    assert stats is not None and stats.reused_tokens >= model._model.decoder._snapshots[-1].ids.__len__()
    chat = [*HELLO, ChatMessage("assistant", first), ChatMessage("user", "More?")]
    answer = text(model, GREEDY, chat)
    again = model.last_stats
    assert again is not None and again.reused_tokens >= stats.prompt_tokens
    model._model.decoder.cache.reset()
    model._model.decoder._snapshots.clear()
    assert text(model, GREEDY, chat) == answer  # the cache changes the cost, not the words


def test_reading_ahead_leaves_only_the_line_to_prefill(model: DecoderLanguageModel) -> None:
    text(model, GREEDY)
    chat = [*HELLO, ChatMessage("assistant", "Hello there.")]
    assert model.anticipate(chat, never) is True
    held = model._model.decoder.cache.length
    for line in ("More?", "もっと", "1. a"):
        text(model, GREEDY, [*chat, ChatMessage("user", line)])
        stats = model.last_stats
        assert stats is not None and stats.reused_tokens == held
    assert model.anticipate([ChatMessage("system", "x " * 60)], lambda: True) is False


def test_priming_can_be_interrupted(model: DecoderLanguageModel) -> None:
    messages = [ChatMessage("system", "x " * 60)]
    assert model.prime(messages, lambda: True) is False
    assert model.prime(messages) is True


def test_speed_is_measured_and_leaves_nothing_behind(model: DecoderLanguageModel) -> None:
    assert measure_speed(model, 8) > 0
    assert model._model.decoder.cache.length == 0


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    from engines.errors import ModelFileError

    with pytest.raises(ModelFileError):
        load_language_model(tmp_path / "none.gguf")
