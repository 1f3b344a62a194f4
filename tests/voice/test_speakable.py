"""What is shown becomes what a person would read aloud."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idol.seams import LANGUAGES, Language
from idol.voice.numerals_en import cardinal, ordinal, year
from idol.voice.phonemes import Phonemizer
from tests.voice.cases import CHINESE, ENGLISH, JAPANESE

PHONEMIZER = Phonemizer(frozenset())
SPEAKABLE = re.compile(
    "[A-Za-z\u00c0-\u024f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆〇 "
    "'’,.!?;:…—\\-\"“”()，。！？；：、「」『』《》【】（）·・]*"
)


def _plain(text: str) -> str:
    """Without the width of punctuation and spaces beside Chinese and Japanese characters, which make no sound."""
    return re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", unicodedata.normalize("NFKC", text))


@pytest.mark.parametrize(("shown", "said"), ENGLISH)
def test_english(shown: str, said: str) -> None:
    assert PHONEMIZER.spoken(shown, "en") == said


@pytest.mark.parametrize(("shown", "said"), CHINESE)
def test_chinese(shown: str, said: str) -> None:
    assert _plain(PHONEMIZER.spoken(shown, "zh")) == _plain(said)


@pytest.mark.parametrize(("shown", "said"), JAPANESE)
def test_japanese(shown: str, said: str) -> None:
    assert _plain(PHONEMIZER.spoken(shown, "ja")) == _plain(said)


def test_there_are_enough_cases() -> None:
    assert len(ENGLISH) + len(CHINESE) + len(JAPANESE) >= 120


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "nothing",
    ["", "   ", "🎉✨", "👨‍👩‍👧🇯🇵1️⃣", "*smiles*", "...", "!?!?", "(╯°□°）╯︵ ┻━┻",
     "\x00\x07\u200b\ufeff", "```\ncode\n```", "---"]
)  # fmt: skip
def test_nothing_to_say(nothing: str, language: Language) -> None:
    assert PHONEMIZER.spoken(nothing, language) == ""


MESSY = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from(
            "0123456789.,:/-%$€£¥#@*_~`()[]<>+=&'\"!?…。、！？年月日时時分点個个 \n\t\u200d\ufe0f\U0001f600"
        ),
        st.sampled_from("abcXYZ漢字かなカナ你好"),
    ),
    max_size=120,
)


@settings(max_examples=400, deadline=None)
@given(text=MESSY, language=st.sampled_from(LANGUAGES))
def test_any_text_becomes_speakable(text: str, language: Language) -> None:
    said = PHONEMIZER.spoken(text, language)
    assert SPEAKABLE.fullmatch(said), said
    assert said == said.strip()
    assert not any(character.isdecimal() for character in said)


@settings(max_examples=200, deadline=None)
@given(number=st.integers(0, 10**18 - 1))
def test_numerals_are_words(number: int) -> None:
    assert re.fullmatch("[a-z]+( [a-z]+)*", cardinal(number))
    assert re.fullmatch("[a-z]+( [a-z]+)*", ordinal(number))


@pytest.mark.parametrize(
    ("number", "words"), [(0, "zero"), (110, "one hundred and ten"), (1205, "one thousand two hundred and five"),
                          (20_000, "twenty thousand"), (1_000_001, "one million and one")],
)  # fmt: skip
def test_cardinals(number: int, words: str) -> None:
    assert cardinal(number) == words


@pytest.mark.parametrize(
    ("number", "words"), [(1066, "ten sixty six"), (1905, "nineteen oh five"), (1900, "nineteen hundred"),
                          (2000, "two thousand"), (2008, "two thousand and eight"), (2026, "twenty twenty six")],
)  # fmt: skip
def test_years(number: int, words: str) -> None:
    assert year(number) == words


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "piece",
    ["a", "1", "*", "(", "[", "<", "😀", "1,", "a.b.", "http://", "@", "#a", "**a", "```", "你", "あ", "ー", "0-",
     "$1", "\n- ",
              "a@b.", ":", "x:", "1/", "((", "![", "~", "&#", "A ", "w"]
)  # fmt: skip
def test_ten_thousand_characters_do_not_hang(piece: str, language: Language) -> None:
    text = (piece * 10_000)[:10_000]
    started = time.perf_counter()
    PHONEMIZER.spoken(text, language)
    assert time.perf_counter() - started < 1.5


def test_lone_surrogates_and_controls_are_harmless() -> None:
    assert PHONEMIZER.spoken("Hi\ud800 there\x1b[31m!\udfff", "en").startswith("Hi there")
