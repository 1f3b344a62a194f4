"""The graphs of a decoder's parts, in float32 on ONNX Runtime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_layer import CANDIDATES, head_graph, layer_weights, project_graph, project_weights

CONFIG = DecoderConfig(
    architecture="qwen2", layers=1, hidden=64, heads=6, kv_heads=2, head_size=16, intermediate=96, vocabulary=512,
    context=128, rms_epsilon=1e-6, rope_theta=1e6, rope_size=16,
)  # fmt: skip


def run(model: object, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])  # type: ignore[attr-defined]
    return list(session.run(None, inputs))


@pytest.mark.parametrize("vocabulary", [200, 512, 40_003, 128 * 313])
def test_the_likeliest_tokens_are_those_of_the_logits(vocabulary: int) -> None:
    rng = np.random.default_rng(vocabulary)
    config = replace(CONFIG, vocabulary=vocabulary)
    head = {
        "last": rng.standard_normal((1, 64), np.float32), "output_norm": np.ones(64, np.float32),
        "output": rng.standard_normal((vocabulary, 64), np.float32),
    }  # fmt: skip
    logits, best, tokens = run(head_graph(config, half=False), head)
    count = min(CANDIDATES, vocabulary)
    true = np.argsort(-logits[0])[:count]
    assert tokens.dtype == np.int32 and best.shape == tokens.shape == (1, count)
    np.testing.assert_array_equal(tokens[0], true)
    np.testing.assert_array_equal(best[0], logits[0, true])


def test_the_likeliest_token_of_all_comes_first_whatever_else_is_in_its_group() -> None:
    vocabulary = 128 * 313
    config = replace(CONFIG, vocabulary=vocabulary)
    output = np.zeros((vocabulary, 64), np.float32)
    same_group = np.arange(20) * 313 + 7
    output[same_group, 0] = np.arange(1, 21)
    last = np.zeros((1, 64), np.float32)
    last[0, 0] = 1
    head = {"last": last, "output_norm": np.ones(64, np.float32), "output": output}
    _, _, tokens = run(head_graph(config, half=False), head)
    np.testing.assert_array_equal(tokens[0, :8], same_group[::-1][:8])  # at most eight of one group


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
def test_the_graph_for_one_token_agrees_with_the_one_for_many(architecture: str) -> None:
    config = replace(CONFIG, architecture=architecture)
    rng = np.random.default_rng(3)
    weights = {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in project_weights(config)}
    x = rng.standard_normal((1, 64)).astype(np.float32)
    cos, sin = (rng.standard_normal((1, 16)).astype(np.float32) for _ in range(2))
    query, key, value = run(project_graph(config, half=False), {"x": x, "cos": cos, "sin": sin, **weights})
    turned = config.heads + config.kv_heads
    whole = {
        "cos": np.concatenate([np.repeat(cos, turned, 0), np.ones((2, 16), np.float32)]),
        "sin": np.concatenate([np.repeat(sin, turned, 0), np.zeros((2, 16), np.float32)]),
    }
    (rows,) = run(project_graph(config, one=True, half=False), {"x": x, **whole, **weights})
    np.testing.assert_allclose(rows[:6].reshape(query.shape), query, rtol=2e-5, atol=1e-4)
    np.testing.assert_allclose(rows[6:8], key[:, 0], rtol=2e-5, atol=1e-4)
    np.testing.assert_allclose(rows[8:], value[:, 0], rtol=2e-5, atol=1e-4)


def test_what_has_the_same_factor_is_one_weight() -> None:
    names = {spec.name: spec for spec in layer_weights(CONFIG)}
    assert names["qkv"].shape == ((6 + 2 * 2) * 16, 64) and len(names["qkv"].sources) == 3
    assert names["gate_up"].shape == (2 * 96, 64)
