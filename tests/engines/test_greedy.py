"""Greedy text of our decoder equals llama.cpp's on the same weights in float32, whatever the cache was used for before.

On a quantised file llama.cpp rounds the activations too, so that texts drift apart: only float32 files can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.models.families import ChatModel, load_chat_model
from tests.engines.llama_cpp_peer import LlamaCpp, as_float32

TINY = Path(__file__).parent.parent / "data/llm/tiny_llama_f16.gguf"
TOKENS = 32
TINY_PROMPTS = (
    "Hello everyone",
    "So, what do you think of it?",
    "1, 2, 3, 4",
    "いちごミルク",
    "  \n\tx",
    "The the the the",
)
PROMPTS = (
    "The capital of France is",
    "def add(a, b):\n",
    "Once upon a time there was a girl who loved the rain, and every evening",
    "<|im_start|>user\nWhat is your favourite colour?<|im_end|>\n<|im_start|>assistant\n",
    "1 2 3 5 8 13",
)


def greedy(model: ChatModel, ids: list[int], count: int = TOKENS) -> tuple[list[int], float]:
    """Ids of the greedy continuation, and the smallest lead of a token over the next one (in logits).

    The ends of a text are passed over, as llama.cpp does when it is told to ignore them.
    """
    ends = sorted(model.tokenizer.eos_ids)
    logits = model.decoder.prefill(ids)
    out: list[int] = []
    lead = np.inf
    for _ in range(count):
        logits = logits.copy()
        logits[ends] = -np.inf
        first, second = np.partition(logits, -2)[-2:][::-1]
        lead = min(lead, float(first - second))
        out.append(int(logits.argmax()))
        logits = model.decoder.step(out[-1])
    return out, lead


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ChatModel]]:
    folder = tmp_path_factory.mktemp("greedy")
    path = as_float32(TINY, folder / "tiny_f32.gguf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDOL_MODELS", str(folder))
        model = load_chat_model(path, threads=1, context=256, keep_floats=True)
        yield path, model
        model.close()


def test_the_tiny_llama_continues_as_in_llama_cpp(tiny: tuple[Path, ChatModel]) -> None:
    path, model = tiny
    with LlamaCpp(path, context=256, exact=True) as peer:
        for prompt in TINY_PROMPTS:
            ids = model.tokenizer.encode(prompt)
            assert ids == peer.tokens(prompt)
            ours, lead = greedy(model, ids)
            assert ours == peer.complete(ids, TOKENS)["tokens"], (prompt, lead)


@pytest.mark.models
def test_smollm2_continues_as_in_llama_cpp(
    model_path: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = next(model_path("smollm2-135m").glob("*.gguf"))
    path = as_float32(source, tmp_path / "smollm2_f32.gguf")
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    model = load_chat_model(path, threads=2, context=128, keep_floats=True)
    try:
        prompts = [model.tokenizer.encode(prompt, control=True) for prompt in PROMPTS]
        ours = [greedy(model, ids) for ids in prompts]
    finally:
        model.close()
    with LlamaCpp(path, threads=2, context=128, exact=True) as peer:
        for prompt, ids, (tokens, lead) in zip(PROMPTS, prompts, ours, strict=True):
            assert ids == peer.marked_tokens(prompt)
            assert tokens == peer.complete(ids, TOKENS)["tokens"], (prompt, lead)
    path.unlink()


# -- the cache: whatever it held before, a prompt's logits are those of a fresh run ------------------------------------


def fresh(model: ChatModel, ids: list[int]) -> NDArray[np.float32]:
    model.decoder.cache.reset()
    model.decoder._snapshots.clear()
    return model.decoder.prefill(ids).copy()


@pytest.fixture
def prompt(tiny: tuple[Path, ChatModel]) -> list[int]:
    return tiny[1].tokenizer.encode(
        "The rain sounds like tiny drums on the window, and I could listen to it all night."
    )


def test_reset_gives_identical_logits(tiny: tuple[Path, ChatModel], prompt: list[int]) -> None:
    _, model = tiny
    expected = fresh(model, prompt)
    greedy(model, prompt[::-1])
    model.decoder.cache.reset()
    assert model.decoder.cache.length == 0
    assert np.array_equal(model.decoder.prefill(prompt), expected)


@pytest.mark.parametrize("kept", [1, 5, 17])
def test_trim_gives_identical_logits(tiny: tuple[Path, ChatModel], prompt: list[int], kept: int) -> None:
    """A run of the same tokens from the same length is the same arithmetic: bit for bit."""
    _, model = tiny
    fresh(model, prompt[:kept])
    expected = model.decoder.prefill(prompt).copy()
    for token in (7, 8, 9):
        model.decoder.step(token)
    model.decoder.cache.trim(kept)
    assert model.decoder.cache.ids == prompt[:kept]
    assert np.array_equal(model.decoder.prefill(prompt), expected)
    # Other groups of tokens at a time sum in another order: equal to float32's rounding.
    assert np.abs(fresh(model, prompt) - expected).max() < 1e-4


def test_a_reused_prefix_continues_as_a_fresh_run(tiny: tuple[Path, ChatModel], prompt: list[int]) -> None:
    _, model = tiny
    model.decoder.cache.reset()
    expected, _ = greedy(model, prompt)
    model.decoder.prefill([*prompt[:9], 3, 4, 5, 6, 7, 8])
    assert model.decoder.reusable(prompt) == 9
    assert greedy(model, prompt)[0] == expected
    assert model.decoder.reusable(prompt) == len(prompt) - 1  # the last is run again, for its logits


def test_a_primed_prefix_survives_other_prompts_and_a_new_start(
    tiny: tuple[Path, ChatModel], prompt: list[int]
) -> None:
    path, model = tiny
    prefix = prompt[:15]
    expected = fresh(model, prompt)
    model.decoder.cache.reset()
    model.decoder.prime(prefix)
    model.decoder.prefill(prompt[::-1])
    assert model.decoder.reusable(prompt) == len(prefix)
    assert np.abs(model.decoder.prefill(prompt) - expected).max() < 1e-4
    assert model.decoder.cache.ids == prompt
    with_snapshot = load_chat_model(path, threads=1, context=256, keep_floats=True)
    try:
        runs: list[int] = []
        run = with_snapshot.decoder._run
        with_snapshot.decoder._run = lambda ids: runs.append(len(ids)) or run(ids)  # type: ignore[method-assign, func-returns-value]
        with_snapshot.decoder.prime(prefix)
        assert runs == []  # from the disk
        assert np.abs(with_snapshot.decoder.prefill(prompt) - expected).max() < 1e-4
        assert runs == [len(prompt) - len(prefix)]
    finally:
        with_snapshot.close()


def test_a_damaged_snapshot_is_made_again(tiny: tuple[Path, ChatModel], prompt: list[int]) -> None:
    path, model = tiny
    prefix = prompt[:12]
    model.decoder.prime(prefix)
    files = list((model.decoder._folder / "prefixes").glob("*.npz"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:100])
    other = load_chat_model(path, threads=1, context=256, keep_floats=True)
    try:
        other.decoder.prime(prefix)
        assert np.abs(other.decoder.prefill(prompt) - fresh(model, prompt)).max() < 1e-4
    finally:
        other.close()


def test_trim_refuses_what_it_does_not_hold(tiny: tuple[Path, ChatModel], prompt: list[int]) -> None:
    cache = tiny[1].decoder.cache
    fresh(tiny[1], prompt)
    for length in (-1, len(prompt) + 1):
        with pytest.raises(ValueError, match=f"cannot trim {len(prompt)} tokens to {length}"):
            cache.trim(length)
