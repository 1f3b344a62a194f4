"""A small emotion classifier: hashed character n-grams, one linear layer, eight emotions.

Trained on the lines of ``emotion_examples.txt`` by ``python -m idol.dialogue.emotion_classifier``, which writes
``emotion_weights.npz`` and prints the held-out accuracy. Multinomial logistic regression with L2, full-batch gradient.
"""

from __future__ import annotations

import unicodedata
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idol.seams import EMOTIONS, Emotion

_BUCKETS = 8192
_HERE = Path(__file__).parent
WEIGHTS = _HERE / "emotion_weights.npz"


def features(text: str) -> NDArray[np.int64]:
    """Buckets of the character 1- to 4-grams of ``text`` (width and case folded), each once."""
    plain = f" {unicodedata.normalize('NFKC', text[:400]).casefold().strip()} "
    grams = {plain[at : at + size] for size in (1, 2, 3, 4) for at in range(len(plain) - size + 1)}
    return np.array(sorted({zlib.crc32(gram.encode()) % _BUCKETS for gram in grams if gram.strip()}), np.int64)


class EmotionClassifier:
    """Loads the committed weights (float16 [buckets, emotions])."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        with np.load(path) as file:
            self._weights: NDArray[np.float32] = file["weights"].astype(np.float32)
            self._bias: NDArray[np.float32] = file["bias"].astype(np.float32)

    def chances(self, text: str) -> dict[Emotion, float]:
        """Probability of each emotion; they sum to 1."""
        places = features(text)
        scores = self._bias + self._weights[places].sum(axis=0) / np.sqrt(max(len(places), 1))
        exponentials = np.exp(scores - scores.max())
        chances = exponentials / exponentials.sum()
        return {emotion: float(chance) for emotion, chance in zip(EMOTIONS, chances, strict=True)}


def examples(path: Path = _HERE / "emotion_examples.txt") -> list[tuple[Emotion, str]]:
    """Labelled lines."""
    lines: list[tuple[Emotion, str]] = []
    for row in path.read_text(encoding="utf-8").splitlines():
        if row.startswith("#") or not row.strip():
            continue
        label, _, texts = row.partition(":")
        emotion = next(known for known in EMOTIONS if known == label)
        lines += [(emotion, text.strip()) for text in texts.split("|")]
    return lines


def train(lines: list[tuple[Emotion, str]], steps: int = 600) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights [buckets, emotions] and bias [emotions]."""
    inputs = np.zeros((len(lines), _BUCKETS), np.float32)
    targets = np.zeros((len(lines), len(EMOTIONS)), np.float32)
    for row, (emotion, text) in enumerate(lines):
        places = features(text)
        inputs[row, places] = 1 / np.sqrt(len(places))
        targets[row, EMOTIONS.index(emotion)] = 1
    weights = np.zeros((_BUCKETS, len(EMOTIONS)), np.float32)
    bias = np.zeros(len(EMOTIONS), np.float32)
    rate, decay = np.float32(8.0), np.float32(2e-4)
    for _ in range(steps):
        scores = inputs @ weights + bias
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        error = (chances - targets) / len(lines)
        weights -= rate * (inputs.T @ error + decay * weights)
        bias -= rate * error.sum(axis=0)
    return weights, bias


def accuracy(weights: NDArray[np.float32], bias: NDArray[np.float32], lines: list[tuple[Emotion, str]]) -> float:
    """Share of ``lines`` whose likeliest emotion is their label."""
    right = 0
    for emotion, text in lines:
        places = features(text)
        scores = bias + weights[places].sum(axis=0) / np.sqrt(len(places))
        right += EMOTIONS[int(scores.argmax())] == emotion
    return right / len(lines)


def main() -> None:
    """Train, report, save."""
    import sys

    lines = examples()
    held_out = lines[::5]
    training = [line for index, line in enumerate(lines) if index % 5]
    weights, bias = train(training)
    sys.stdout.write(
        f"{len(training)} lines, {len(held_out)} held out: accuracy {accuracy(weights, bias, held_out):.3f} "
        f"(training {accuracy(weights, bias, training):.3f}, chance {1 / len(EMOTIONS):.3f})\n"
    )
    weights, bias = train(lines)
    np.savez_compressed(WEIGHTS, weights=weights.astype(np.float16), bias=bias.astype(np.float16))


if __name__ == "__main__":
    main()
