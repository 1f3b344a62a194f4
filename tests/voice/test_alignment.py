"""Spans on the sound: marks merged, trimmed, closed where the sound ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idol.seams import SAMPLE_RATE, PhonemeSpan
from idol.voice.alignment import (
    CLAUSE_PAUSE,
    FRAME,
    MARGIN_SECONDS,
    SENTENCE_PAUSE,
    WORD_PAUSE,
    loud_region,
    phoneme_spans,
    trim,
)  # fmt: skip
from idol.voice.kokoro_voice import split_symbols
from idol.voice.leads import LEAD_SECONDS, lead_of


def test_marks_belong_to_their_phonemes() -> None:
    spans = phoneme_spans("pʰˈaː→n", np.array([2, 1, 1, 1, 2, 1, 1, 3, 1]), 0.0)
    assert [span.phoneme for span in spans] == ["pʰ", "ˈaː→", "n"]
    assert [(span.start // FRAME, span.end // FRAME) for span in spans] == [(2, 4), (4, 9), (9, 12)]


def test_spans_are_shifted_by_the_lead() -> None:
    early, plain = (phoneme_spans("ab", np.array([4, 2, 2, 1]), lead) for lead in (0.05, 0.0))
    assert [p.start - e.start for e, p in zip(early, plain, strict=True)] == [1200, 1200]


def _burst(before: float, length: float, after: float) -> np.ndarray:
    time = np.arange(round(length * SAMPLE_RATE)) / SAMPLE_RATE
    tone = (0.3 * np.sin(2 * np.pi * 200 * time)).astype(np.float32)
    silence = [np.full(round(seconds * SAMPLE_RATE), 1e-5, np.float32) for seconds in (before, after)]
    return np.concatenate([silence[0], tone, silence[1]])


@pytest.mark.parametrize(
    ("text", "pause"),
    [("Hi.", SENTENCE_PAUSE), ("Hi!”", SENTENCE_PAUSE), ("好。", SENTENCE_PAUSE), ("Well,", CLAUSE_PAUSE),
     ("但是，", CLAUSE_PAUSE), ("and", WORD_PAUSE), ("", WORD_PAUSE)],
)  # fmt: skip
def test_trimmed_to_the_sound(text: str, pause: float) -> None:
    sound, spans = trim(_burst(0.4, 0.5, 0.5), [PhonemeSpan("a", 9600, 21600), PhonemeSpan(".", 21600, 33000)], text)
    first, last = loud_region(sound)
    assert first / SAMPLE_RATE == pytest.approx(MARGIN_SECONDS, abs=0.006)
    assert (len(sound) - last) / SAMPLE_RATE == pytest.approx(pause, abs=0.006)
    assert spans[0].start <= first
    assert spans[0].end == pytest.approx(last, abs=SAMPLE_RATE * 0.006)
    assert np.abs(np.diff(sound)).max() < 0.02  # no click


def test_the_last_span_ends_with_the_sound() -> None:
    _, spans = trim(_burst(0.1, 0.4, 0.6), [PhonemeSpan("m", 9000, 26000)], "m.")
    assert abs(spans[-1].end - round(0.425 * SAMPLE_RATE)) < 200


def test_silence_is_nothing() -> None:
    sound, spans = trim(np.zeros(24000, np.float32), [PhonemeSpan("a", 0, 100)], ".")
    assert len(sound) == 0
    assert spans == ()
    assert loud_region(np.zeros(3, np.float32)) == (0, 0)


@settings(max_examples=150, deadline=None)
@given(
    symbols=st.text(alphabet="aiupbmksnˈˌːʰ→ .,!“", min_size=1, max_size=25),
    seed=st.integers(0, 10**6),
    lead=st.floats(0, 0.1),
)
def test_spans_are_sorted_within_and_cover(symbols: str, seed: int, lead: float) -> None:
    random = np.random.default_rng(seed)
    durations = random.integers(0, 8, len(symbols) + 2)
    durations[0] = 6
    sound = np.full(max(1, int(durations.sum())) * FRAME, 1e-5, np.float32)
    middle = slice(len(sound) // 4, max(len(sound) // 4 + 300, len(sound) * 3 // 4))
    sound[middle] = 0.2
    kept, spans = trim(sound, phoneme_spans(symbols, durations, lead), symbols)
    for one, two in pairwise(spans):
        assert one.end <= two.start or (one.start == two.start and one.end == two.end)
    assert all(0 <= span.start < span.end <= len(kept) for span in spans)
    sounding = [span for span in spans if span.phoneme not in " .,!“"]
    if sounding:
        first, last = loud_region(kept)
        assert sounding[0].start <= first
        assert sounding[-1].end >= last


def test_long_clauses_are_cut_at_good_places() -> None:
    text = ("həlˈO ðˈɛɹ, " * 10 + "ɡˈUdbˈI. ").replace("U", "ʊ") * 6
    pieces = split_symbols(text, 200)
    assert all(0 < len(piece) <= 200 for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert all(piece[-1] in ".," for piece in pieces)
    assert all(len(piece) <= 200 for piece in split_symbols("a" * 5000))
    assert split_symbols("") == []


def test_leads_are_plausible() -> None:
    assert len(LEAD_SECONDS) == 41
    assert all(0.03 <= lead <= 0.09 for lead in LEAD_SECONDS.values())
    assert lead_of("af_heart", "en") == LEAD_SECONDS["af_heart"]
    assert 0.04 < lead_of("ef_dora", "en") < 0.07
