"""English words: heteronyms by context, inflections, names and slang, letters."""

from __future__ import annotations

import re

import pytest

from idol.voice.english import English

SYMBOLS = frozenset("abdefhijklmnopqrstuvwzæðŋɐɑɔəɚɛɜɡɪɹʃʊʌʒʔʤʧθᵊᵻAIOQSTWYɾˈˌ ,.;:!?—…“”()")


@pytest.fixture(scope="module")
def english() -> English:
    return English()


@pytest.mark.parametrize(
    ("sentence", "sounds"),
    [
        ("I read books every day.", "ɹˈid"), ("I read it yesterday.", "ɹˈɛd"), ("She read it aloud.", "ɹˈɛd"),
        ("I have read that one.", "ɹˈɛd"), ("Did you read it?", "ɹˈid"), ("I want to read more.", "ɹˈid"),
        ("Read this, please.", "ɹˈid"), ("I live in Tokyo.", "lˈɪv"), ("We are live on stage!", "lˈIv"),
        ("My live stream starts now.", "lˈIv"), ("Where do you live?", "lˈɪv"), ("Going live soon.", "lˈIv"),
        ("Close the door.", "klˈOz"), ("That was close!", "klˈOs"), ("You are a close friend.", "klˈOs"),
        ("Please close your eyes.", "klˈOz"), ("I will record a song.", "ɹəkˈɔɹd"),
        ("That is a new record.", "ɹˈɛkəɹd"), ("Let me present my friend.", "pɹizˈɛnt"),
        ("Thank you for the present.", "pɹˈɛzᵊnt"), ("I use it daily.", "jˈuz"), ("What is the use of it?", "jˈus"),
        ("I used to sing.", "jˈust"), ("I used a pen.", "jˈuzd"), ("Do not tear the paper.", "tˈɛɹ"),
        ("A tear fell down.", "tˈɪɹ"), ("The wind is cold.", "wˈɪnd"), ("It is a perfect day.", "pˈɜɹfəkt"),
        ("I want to perfect my dance.", "pəɹfˈɛkt"), ("I object to that.", "əbʤˈɛkt"),
        ("It is a strange object.", "ˈɑbʤəkt"), ("The content is fun.", "kˈɑntɛnt"), ("I am content.", "kəntˈɛnt"),
        ("No excuse for that.", "ɪkskjˈus"), ("Excuse me!", "ɪkskjˈuz"),
    ],
)  # fmt: skip
def test_heteronyms(english: English, sentence: str, sounds: str) -> None:
    assert sounds in english.say(sentence)


@pytest.mark.parametrize(
    ("sentence", "sounds"),
    [
        ("the apple", "ði ˈæpᵊl"), ("the cat", "ðə kˈæt"), ("to eat", "tʊ ˈit"), ("to go", "tə ɡˌO"),
        ("a cat", "ɐ kˈæt"), ("Yes I can.", "kˈæn."), ("I can go", "kæn ɡˌO"),
    ],
)  # fmt: skip
def test_small_words_change_with_what_follows(english: English, sentence: str, sounds: str) -> None:
    assert sounds in english.say(sentence)


@pytest.mark.parametrize(
    ("word", "sounds"),
    [
        ("AI", "ˈAˌI"), ("GPU", "ʤˌipˌijˈu"), ("GPUs", "ʤˌipˌijˈuz"), ("NASA", "nˈæsə"), ("USB", "jˌuˌɛsbˈi"),
        ("A M", "ˌAˈɛm"), ("VTuber", "vˈitˌubəɹ"), ("YouTube's", "jˈutˌubz"), ("livestream", "lˈIvstɹˌim"),
        ("goin'", "ɡˌOɪŋ"), ("emoting", "ɪmˈOTɪŋ"), ("coolest", "kˈulɪst"), ("cuteness", "kjˈutnəs"),
        ("vibed", "vˈIbd"), ("memes", "mˈimz"), ("naïve", "nɑˈiv"), ("Straße", None), ("Łódź", None), ("xqzt", None),
        ("Blorbo", None), ("skibidi", None), ("Mizuki", None), ("Kaguya", None), ("pog", "pˈɑɡ"), ("brrr", None),
    ],
)  # fmt: skip
def test_words_the_dictionary_lacks(english: English, word: str, sounds: str | None) -> None:
    said = english.say(word)
    assert said and re.search("[AIOQWYaiuæɑɔəɛɜɪʊʌᵊᵻ]", said), said
    if sounds is not None:
        assert said.replace("ɾ", "T") == sounds


def test_no_word_of_the_dictionaries_leaves_the_symbols(english: English) -> None:
    words = [word for word in [*english._gold, *english._silver] if word.isascii()][::40]
    assert len(words) > 4000
    for word in words:
        said = english.say(word)
        assert said, word
        assert set(said) <= SYMBOLS, (word, said)


def test_made_up_words_are_never_dropped(english: English) -> None:
    import random

    random.seed(5)
    for _ in range(2000):
        word = "".join(random.choices("abcdefghijklmnopqrstuvwxyzABCeiou'", k=random.randint(1, 14))).strip("'")
        if re.search("[a-zA-Z]", word):
            said = english.say(word)
            assert said, word
            assert set(said) <= SYMBOLS, (word, said)


def test_quotes_and_marks_stay(english: English) -> None:
    assert english.say('"Hi," she said — (softly)…') == "“hˈI,” ʃi sˈɛd — (sˈɔftli)…"


def test_shouting_keeps_the_words(english: English) -> None:
    assert english.say("I LOVE THIS SO MUCH").replace("ˈ", "").replace("ˌ", "") == "I lʌv ðɪs sO mʌʧ"
