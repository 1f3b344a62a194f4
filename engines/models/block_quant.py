"""Quantised blocks carried over exactly: GGUF blocks to ``MatMulNBits`` operands, without quantising twice.

A block is ``scale · q + minimum``. ONNX Runtime's kernel computes ``scale · (q − zero)`` with zero 8 (4 bits) or 128
(8 bits) at speed; a float zero point sends it to a path a hundred times slower. So the constant part of each block
becomes a second, small product: ``minimum' · Σx`` over the block's inputs, ``minimum' = minimum + zero · scale``. It
costs nothing measurable and keeps the values of the file. Layouts: ggml's block structs, as the ``gguf`` package
dequantises them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class QuantisedMatrix:
    """W [rows, columns] in blocks along the columns.

    ``packed`` uint8 [rows, blocks, bytes per block] as ``MatMulNBits`` takes it; ``scales`` float32 [rows, blocks];
    ``minimums`` float32 [rows, blocks] to be multiplied with the blocks' sums of inputs, or None when all are zero.
    """

    bits: int
    block: int
    columns: int
    packed: NDArray[np.uint8]
    scales: NDArray[np.float32]
    minimums: NDArray[np.float32] | None

    @property
    def rows(self) -> int:
        return int(self.packed.shape[0])

    def dequantised(self) -> NDArray[np.float32]:
        """float32 [rows, columns]: what the two products together compute."""
        if self.bits == 4:
            codes = np.stack([self.packed & 15, self.packed >> 4], axis=-1).reshape(*self.packed.shape[:2], self.block)
        else:
            codes = self.packed
        values = (codes.astype(np.float32) - (1 << (self.bits - 1))) * self.scales[..., None]
        if self.minimums is not None:
            values = values + self.minimums[..., None]
        return np.asarray(values.reshape(self.rows, self.columns), np.float32)


EXACT_TYPES = frozenset({"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"})


def from_blocks(raw: NDArray[np.uint8], type_name: str) -> QuantisedMatrix:
    """``raw`` uint8 [rows, bytes per row] of one of ``EXACT_TYPES``."""
    return {
        "Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q8_0": _q8_0,
        "Q4_K": _q4_k, "Q5_K": _q5_k, "Q6_K": _q6_k,
    }[type_name](raw)  # fmt: skip


def coarsened(matrix: QuantisedMatrix, block: int = 128) -> QuantisedMatrix:
    """An 8-bit matrix with one scale per ``block`` columns instead of 16 or 32: a quarter faster to read.

    For 6- and 8-bit files only (no minimums): rounding to 8 bits again adds an error far below that of 6 bits. Matrices
    whose width is no multiple of ``block`` come back as they are.
    """
    if matrix.minimums is not None or matrix.bits != 8 or matrix.block >= block or matrix.columns % block:
        return matrix
    parts = []
    for first in range(0, matrix.rows, 4096):  # in stripes: a vocabulary's matrix in float32 would take a gigabyte
        stripe = slice(first, first + 4096)
        part = QuantisedMatrix(8, matrix.block, matrix.columns, matrix.packed[stripe], matrix.scales[stripe], None)
        parts.append(quantise_8bit(part.dequantised(), block))
    stacked = stack_rows(parts)
    return matrix if stacked is None else stacked


def quantise_8bit(weights: NDArray[np.float32], block: int = 32) -> QuantisedMatrix:
    """Round float weights to 8 bits (symmetric), one scale per ``block`` columns.

    float32 [rows, columns]; the width must be a multiple of ``block``.
    """
    rows, columns = weights.shape
    blocks = weights.reshape(rows, columns // block, block)
    scales = np.abs(blocks).max(axis=-1) / 127.0
    safe = np.where(scales == 0, 1.0, scales)
    codes = np.clip(np.rint(blocks / safe[..., None]), -127, 127) + 128
    return QuantisedMatrix(8, block, columns, codes.astype(np.uint8), scales.astype(np.float32), None)


def stack_rows(parts: list[QuantisedMatrix]) -> QuantisedMatrix | None:
    """One matrix of all rows, for fused projections; None when their block forms differ."""
    first = parts[0]
    if any((part.bits, part.block) != (first.bits, first.block) for part in parts):
        return None
    minimums = None
    if any(part.minimums is not None for part in parts):
        minimums = np.concatenate([np.zeros_like(p.scales) if p.minimums is None else p.minimums for p in parts])
    return QuantisedMatrix(
        first.bits,
        first.block,
        first.columns,
        np.concatenate([part.packed for part in parts]),
        np.concatenate([part.scales for part in parts]),
        minimums,
    )


def _half(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)[..., 0]


def _blocks(raw: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    return np.asarray(raw.reshape(raw.shape[0], -1, size))


def _nibbles(qs: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """16 bytes of a 32-block: the low nibbles are weights 0–15, the high ones 16–31."""
    return np.concatenate([qs & 15, qs >> 4], axis=-1)


def _pack4(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Codes [rows, blocks, 32] to bytes [rows, blocks, 16]: even weights in the low nibble."""
    return np.asarray(codes[..., 0::2] | (codes[..., 1::2] << 4), np.uint8)


def _matrix(
    bits: int, codes: NDArray[np.uint8], scales: NDArray[np.float32], minimums: NDArray[np.float32] | None
) -> QuantisedMatrix:
    _, blocks, block = codes.shape
    packed = _pack4(codes) if bits == 4 else np.ascontiguousarray(codes)
    return QuantisedMatrix(bits, block, blocks * block, packed, np.ascontiguousarray(scales, np.float32), minimums)


def _q4_0(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 18)
    return _matrix(4, _nibbles(blocks[..., 2:]), _half(blocks[..., :2]), None)


def _q4_1(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 20)
    scales = _half(blocks[..., :2])
    return _matrix(4, _nibbles(blocks[..., 4:]), scales, _half(blocks[..., 2:4]) + 8 * scales)


def _fifth_bits(qh: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """4 bytes of high bits to 32 values 0 or 16."""
    return np.asarray(np.unpackbits(qh, axis=-1, bitorder="little") << 4, np.uint8)


def _q5_0(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 22)
    codes = (_nibbles(blocks[..., 6:]) | _fifth_bits(blocks[..., 2:6])) + 112  # q − 16 around 128
    return _matrix(8, codes.astype(np.uint8), _half(blocks[..., :2]), None)


def _q5_1(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 24)
    codes = (_nibbles(blocks[..., 8:]) | _fifth_bits(blocks[..., 4:8])) + 128
    return _matrix(8, codes.astype(np.uint8), _half(blocks[..., :2]), _half(blocks[..., 2:4]))


def _q8_0(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 34)
    return _matrix(8, np.asarray(blocks[..., 2:] ^ 128, np.uint8), _half(blocks[..., :2]), None)


def _k_scales(packed: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """12 bytes of Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minimums."""
    low, mid, high = packed[..., 0:4], packed[..., 4:8], packed[..., 8:12]
    scales = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], axis=-1)
    minimums = np.concatenate([mid & 63, (high >> 4) | ((mid >> 6) << 4)], axis=-1)
    return scales, minimums


def _k_block(bits: int, codes: NDArray[np.uint8], head: NDArray[np.uint8], zero: int) -> QuantisedMatrix:
    """Codes [rows, super-blocks, 8, 32] with the 16-byte head of Q4_K and Q5_K."""
    rows, supers = codes.shape[:2]
    scale, minimum = _k_scales(head[..., 4:16])
    scales = (_half(head[..., 0:2])[..., None] * scale).reshape(rows, supers * 8)
    minimums = -(_half(head[..., 2:4])[..., None] * minimum).reshape(rows, supers * 8)
    return _matrix(bits, codes.reshape(rows, supers * 8, 32), scales, np.asarray(minimums + zero * scales, np.float32))


def _k_nibbles(qs: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """128 bytes to [.., 8, 32]: each 32 bytes hold two sub-blocks, low nibbles first."""
    groups = qs.reshape(*qs.shape[:2], 4, 32)
    return np.stack([groups & 15, groups >> 4], axis=3).reshape(*qs.shape[:2], 8, 32)


def _q4_k(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 144)
    return _k_block(4, _k_nibbles(blocks[..., 16:]), blocks[..., :16], 8)


def _q5_k(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 176)
    high = (blocks[..., None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None]) & 1
    codes = np.asarray((_k_nibbles(blocks[..., 48:]) | (high << 4)) + 128, np.uint8)
    return _k_block(8, codes, blocks[..., :16], 0)


def _q6_k(raw: NDArray[np.uint8]) -> QuantisedMatrix:
    blocks = _blocks(raw, 210)
    rows, supers = blocks.shape[:2]
    low = blocks[..., :128].reshape(rows, supers, 2, 2, 32)
    low = np.stack([low & 15, low >> 4], axis=3).reshape(rows, supers, 2, 4, 32)
    high = blocks[..., 128:192].reshape(rows, supers, 2, 1, 32)
    upper = (high >> np.array([0, 2, 4, 6], np.uint8)[:, None]) & 3
    codes = (low | (upper << 4)).reshape(rows, supers * 16, 16) + 96  # q − 32 around 128
    scales = np.ascontiguousarray(blocks[..., 192:208]).view(np.int8).astype(np.float32)
    scales = (_half(blocks[..., 208:210])[..., None] * scales).reshape(rows, supers * 16)
    return _matrix(8, codes.astype(np.uint8), scales, None)
