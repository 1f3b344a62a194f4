"""Drawing the next token: repetition penalty, temperature, top-k, top-p, min-p, in this order.

That is the order of Hugging Face Transformers; llama.cpp applies the temperature last, so that top-p keeps more there.
Seeded and deterministic; temperature 0 takes the likeliest token. Nucleus sampling (top-p) follows Holtzman et al.
2020, min-p Nguyen et al. 2024, the repetition penalty CTRL (Keskar et al. 2019).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from engines.models.decoder import Candidates
from idol.seams import Sampling


class Sampler:
    """Draws from logits. One per generation; ``seed`` None draws from the system's entropy."""

    def __init__(self, sampling: Sampling, *, window: int = 64) -> None:
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed)
        self._recent: deque[int] = deque(maxlen=window)

    def accept(self, token: int) -> None:
        """Note a token that was drawn; only the reply's own tokens are penalised."""
        self._recent.append(token)

    def draw(self, logits: NDArray[np.float32] | Candidates) -> int:
        """One token id from ``logits`` float32 [vocabulary], which are not written to, or from the likeliest ones."""
        if isinstance(logits, Candidates):
            # Penalties only lower what was said lately, so among so many candidates the first ``top_k`` stay exact.
            order = np.argsort(logits.tokens)
            tokens, values = logits.tokens[order], logits.logits[order]
            return int(tokens[self._draw(values, np.flatnonzero(np.isin(tokens, [*self._recent])))])
        return self._draw(logits, np.fromiter(set(self._recent), np.int64))

    def _draw(self, logits: NDArray[np.float32], seen: NDArray[np.int64]) -> int:
        """A place in ``logits``; ``seen`` are the places of tokens said lately."""
        sampling = self._sampling
        if len(seen) and sampling.repetition_penalty != 1.0:
            logits = logits.copy()
            values = logits[seen]
            penalty = np.float32(sampling.repetition_penalty)
            logits[seen] = np.where(values > 0, values / penalty, values * penalty)
        if sampling.temperature <= 0:
            return int(np.argmax(logits))
        kept = self._top(logits, sampling.top_k)
        scaled = logits[kept].astype(np.float64) / sampling.temperature
        chances = np.exp(scaled - scaled[0])
        chances /= chances.sum()
        if sampling.top_p < 1.0:
            last = int(np.searchsorted(np.cumsum(chances), sampling.top_p)) + 1
            kept, chances = kept[:last], chances[:last]
        if sampling.min_p > 0.0:
            mask = chances >= sampling.min_p * chances[0]
            kept, chances = kept[mask], chances[mask]
        place = int(np.searchsorted(np.cumsum(chances), self._random.random() * chances.sum(), side="right"))
        return int(kept[min(place, len(kept) - 1)])

    @staticmethod
    def _top(logits: NDArray[np.float32], top_k: int) -> NDArray[np.int64]:
        """Ids, likeliest first; equal ones in the order of their ids. The ``top_k`` first; all where that is 0."""
        kept = np.arange(len(logits))
        if 0 < top_k < len(logits):
            # Everything that ties with the last one is in, so that the cut below falls by id and not by chance.
            kept = np.flatnonzero(logits >= np.partition(logits, -top_k)[-top_k])
        kept = kept[np.argsort(-logits[kept], kind="stable")]
        return kept[:top_k] if top_k > 0 else kept
