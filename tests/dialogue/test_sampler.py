"""The sampler against a plain reference: which tokens may come, how often, and that seeds decide."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from idol.dialogue.sampler import Sampler
from idol.seams import Sampling

OFF = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, seed=0)
LOGITS = np.array([2.0, -1.0, 3.5, 0.0, 3.0, 1.5, -4.0, 2.5, 0.5, -0.5], np.float32)


def reference(logits: NDArray[np.float32], sampling: Sampling, said: tuple[int, ...] = ()) -> dict[int, float]:
    """Chance of each token that may be drawn, by the definitions, one step after the other."""
    values = {token: float(value) for token, value in enumerate(logits)}
    for token in set(said):
        penalty = sampling.repetition_penalty
        values[token] = values[token] / penalty if values[token] > 0 else values[token] * penalty
    values = {token: value / sampling.temperature for token, value in values.items()}
    order = sorted(values, key=lambda token: (-values[token], token))
    if sampling.top_k:
        order = order[: sampling.top_k]
    top = values[order[0]]
    total = sum(math.exp(values[token] - top) for token in order)
    chances = {token: math.exp(values[token] - top) / total for token in order}
    mass, nucleus = 0.0, []
    for token in order:
        nucleus.append(token)
        mass += chances[token]
        if mass >= sampling.top_p:
            break
    nucleus = [token for token in nucleus if chances[token] >= sampling.min_p * chances[order[0]]]
    mass = sum(chances[token] for token in nucleus)
    return {token: chances[token] / mass for token in nucleus}


def drawn(sampling: Sampling, said: tuple[int, ...] = (), count: int = 4000) -> dict[int, float]:
    sampler = Sampler(sampling)
    for token in said:
        sampler.accept(token)
    times = Counter(sampler.draw(LOGITS) for _ in range(count))
    return {token: number / count for token, number in times.items()}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()),
        ({"temperature": 0.5}, ()),
        ({"temperature": 1.8}, ()),
        ({"top_k": 3}, ()),
        ({"top_k": 1}, ()),
        ({"top_k": 99}, ()),
        ({"top_p": 0.7}, ()),
        ({"top_p": 0.05}, ()),
        ({"min_p": 0.2}, ()),
        ({"min_p": 1.0}, ()),
        ({"repetition_penalty": 1.5}, (2, 4, 4, 6)),
        ({"repetition_penalty": 0.7}, (3, 6)),
        ({"temperature": 0.7, "top_k": 6, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.1}, (2, 7)),
    ],
)
def test_tokens_come_as_often_as_the_reference_says(changes: dict[str, float], said: tuple[int, ...]) -> None:
    sampling = Sampling(**{**{name: getattr(OFF, name) for name in Sampling.__slots__}, **changes})  # type: ignore[arg-type]
    expected, found = reference(LOGITS, sampling, said), drawn(sampling, said)
    assert found.keys() <= expected.keys()
    assert {token for token, chance in expected.items() if chance > 0.01} <= found.keys()
    distance = sum(abs(expected[token] - found.get(token, 0.0)) for token in expected) / 2
    # 4000 draws of ten tokens lie about 0.5 * 10 * sqrt(0.1 * 0.9 / 4000) = 0.02 from the truth.
    assert distance < 0.03


@settings(derandomize=True, deadline=None)
@given(
    logits=st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=40),
    temperature=st.sampled_from([0.2, 0.7, 1.0, 2.0]),
    top_k=st.integers(0, 50),
    top_p=st.sampled_from([0.01, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.5]),
    seed=st.integers(0, 2**32),
)
def test_only_tokens_that_the_filters_leave_are_drawn(
    logits: list[float], temperature: float, top_k: int, top_p: float, min_p: float, seed: int
) -> None:
    array = np.array(logits, np.float32)
    sampling = Sampling(temperature, top_k, top_p, min_p, 1.0, seed=seed)
    # Ids whose chance lies on a filter's edge may fall either way in float arithmetic: widen the filters by a hair.
    wide = Sampling(temperature, top_k, min(1.0, top_p + 1e-9), min_p * (1 - 1e-9), 1.0)
    assert Sampler(sampling).draw(array) in reference(array, wide)


def test_temperature_zero_takes_the_likeliest_whatever_the_seed() -> None:
    for seed in (0, 1, None):
        sampler = Sampler(Sampling(temperature=0.0, seed=seed))
        assert [sampler.draw(LOGITS) for _ in range(5)] == [2] * 5


def test_temperature_zero_heeds_the_repetition_penalty() -> None:
    sampler = Sampler(Sampling(temperature=0.0, repetition_penalty=2.0))
    tokens = []
    for _ in range(3):
        tokens.append(sampler.draw(LOGITS))
        sampler.accept(tokens[-1])
    assert tokens == [2, 4, 7]  # each of them is halved once it was said


def test_the_penalty_forgets_what_lies_beyond_its_window() -> None:
    sampler = Sampler(Sampling(temperature=0.0, repetition_penalty=2.0), window=2)
    for token in (2, 0, 1):
        sampler.accept(token)
    assert sampler.draw(LOGITS) == 2


def test_equal_seeds_draw_equally_and_others_do_not() -> None:
    def sequence(seed: int | None) -> list[int]:
        sampler = Sampler(Sampling(seed=seed))
        return [sampler.draw(LOGITS) for _ in range(40)]

    assert sequence(7) == sequence(7)
    assert sequence(7) != sequence(8)
    assert sequence(None) != sequence(None)  # 40 draws of several tokens: equal once in far more than 10^9 runs


def test_the_logits_are_not_written_to() -> None:
    logits = LOGITS.copy()
    logits.flags.writeable = False
    sampler = Sampler(Sampling(seed=0))
    for _ in range(5):
        sampler.accept(sampler.draw(logits))


def test_ties_at_the_top_k_edge_fall_to_the_lower_id() -> None:
    logits = np.zeros(100, np.float32)
    sampler = Sampler(Sampling(1.0, 3, 1.0, 0.0, 1.0, seed=0))
    assert {sampler.draw(logits) for _ in range(200)} == {0, 1, 2}


def test_without_top_k_the_whole_vocabulary_may_come() -> None:
    logits = np.zeros(20_000, np.float32)
    sampler = Sampler(Sampling(1.0, 0, 1.0, 0.0, 1.0, seed=0))
    assert max(sampler.draw(logits) for _ in range(50)) > 10_000
