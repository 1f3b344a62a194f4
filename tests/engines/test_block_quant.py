"""Blocks are carried over exactly: what the two products compute is what the gguf package dequantises."""

from __future__ import annotations

import gguf
import numpy as np
import pytest

from engines.models.block_quant import EXACT_TYPES, coarsened, from_blocks, quantise_8bit, stack_rows
from engines.models.gguf_file import BLOCK_TYPES

_BYTES = {name: (block, size) for name, block, size in BLOCK_TYPES.values()}
_HALVES = {  # where a block keeps its half floats; random bytes there would be NaN
    "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,), "Q4_K": (0, 2), "Q5_K": (0, 2),
    "Q6_K": (208,),
}  # fmt: skip


def _random_blocks(kind: str, rows: int, blocks: int) -> np.ndarray:
    random = np.random.default_rng(7)
    _, size = _BYTES[kind]
    raw = random.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    for place in _HALVES[kind]:
        halves = random.normal(0, 0.02, (rows, blocks, 1)).astype(np.float16)
        raw[:, :, place : place + 2] = halves.view(np.uint8)
    return raw.reshape(rows, blocks * size)


@pytest.mark.parametrize("kind", sorted(EXACT_TYPES))
def test_values_are_those_of_the_file(kind: str) -> None:
    raw = _random_blocks(kind, 8, 4)
    expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[kind])
    matrix = from_blocks(raw, kind)
    assert (matrix.rows, matrix.columns) == expected.shape
    assert np.abs(matrix.dequantised() - expected).max() <= 1e-6 * np.abs(expected).max()


def test_eight_bit_rounding_stays_within_half_a_step() -> None:
    weights = np.random.default_rng(1).normal(size=(16, 128)).astype(np.float32)
    weights[3] = 0
    matrix = quantise_8bit(weights)
    steps = np.repeat(matrix.scales, 32, axis=1)
    assert (np.abs(matrix.dequantised() - weights) <= steps / 2 + 1e-7).all()


def test_a_coarser_scale_adds_less_than_six_bits_lose() -> None:
    matrix = from_blocks(_random_blocks("Q6_K", 16, 4), "Q6_K")
    before, after = matrix.dequantised(), coarsened(matrix).dequantised()
    assert coarsened(matrix).block == 128
    six_bit_error = np.abs(np.repeat(matrix.scales, 16, axis=1)) / np.sqrt(12)
    assert np.sqrt(((after - before) ** 2).mean()) < np.sqrt((six_bit_error**2).mean())


def test_fused_rows_keep_their_values_and_mixed_forms_are_refused() -> None:
    plain, with_minimums = (from_blocks(_random_blocks(kind, 8, 8), kind) for kind in ("Q4_0", "Q4_1"))
    stacked = stack_rows([plain, with_minimums])
    assert stacked is not None
    both = np.concatenate([plain.dequantised(), with_minimums.dequantised()])
    assert np.array_equal(stacked.dequantised(), both)
    assert stack_rows([plain, from_blocks(_random_blocks("Q8_0", 8, 8), "Q8_0")]) is None
