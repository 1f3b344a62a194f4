"""Reading lines and her own words: emotion by rules and classifier, language kept, blocked words, cleaning."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from idol.dialogue.emotion_classifier import EmotionClassifier, accuracy, examples, features, train
from idol.dialogue.moderation import Blocklist
from idol.dialogue.understanding import MAX_CHARACTERS, Understander, clean
from idol.seams import EMOTIONS, LANGUAGES, Emotion, Language, Turn

REPLIES = tomllib.loads((Path(__file__).parent / "reply_emotions.toml").read_text(encoding="utf-8"))


def read(understander: Understander, line: str, language: Language | None = None) -> tuple[str, str, bool]:
    understanding, _ = understander.read(Turn(1, line, "typed", language, 0.0))
    return understanding.language, understanding.emotion, understanding.allowed


@pytest.mark.parametrize("language", LANGUAGES)
def test_emotions_of_her_replies(language: Language) -> None:
    understander = Understander(Blocklist())
    right = total = wrongly_angry = angry = 0
    for emotion, texts in REPLIES[language].items():
        for text in texts:
            found = understander.reply_emotion(text)
            total += 1
            right += found == emotion
            wrongly_angry += found == "angry" != emotion
            angry += found == emotion == "angry"
    # Measured: 39, 37 and 39 of 42 right, none wrongly angry; before anger needed a sign 26, 23, 26 and 3, 2, 4.
    assert total >= 40 and right >= 36
    assert wrongly_angry == 0
    assert angry >= 3


@pytest.mark.parametrize(
    ("line", "emotion"),
    [
        ("😭😭", "sad"),
        ("I passed 🎉", "happy"),
        ("what?!", "surprised"),
        ("私、怒ったよ", "angry"),
        ("气死我了", "angry"),
        ("おやすみ〜", "relaxed"),
        ("让我想想", "thinking"),
        ("you make me blush", "shy"),
        ("The stream starts at seven.", "neutral"),
        ("", "neutral"),
        ("12345", "neutral"),
    ],
)
def test_emotions_of_lines(line: str, emotion: Emotion) -> None:
    assert Understander(Blocklist()).emotion(line) == emotion


def test_anger_needs_a_sign_or_a_sure_classifier() -> None:
    understander = Understander(Blocklist())
    classifier = EmotionClassifier()
    unsure = [
        "To get to the other side!",
        "I try my best to be the best!",
        "Go, go, go!",
        "草莓牛奶！",
        "レズムゲームをよくプレイしてるよ！",
    ]
    for text in unsure:
        assert classifier.chances(text)["angry"] < 0.6
        assert understander.emotion(text) != "angry"
    assert classifier.chances("Shut up already! This is unfair!")["angry"] >= 0.6
    assert understander.emotion("Shut up already! This is unfair!") == "angry"


def test_lines_without_letters_keep_the_language() -> None:
    understander = Understander(Blocklist(), "ja")
    assert read(understander, "🎉")[0] == "ja"
    assert read(understander, "你好呀")[0] == "zh"
    assert read(understander, "666")[0] == "zh"
    assert read(understander, "Hello", "ja")[0] == "ja"  # a language given is not guessed
    assert read(understander, "!!")[0] == "ja"


def test_blocked_and_empty_lines_are_not_allowed() -> None:
    understander = Understander(Blocklist(("turnip",)))
    understanding, text = understander.read(Turn(1, "a t.u.r.n.i.p", "typed", None, 0.0))
    assert not understanding.allowed and understanding.reason == "the line holds a blocked word"
    assert "turnip" not in understanding.reason and text == "a t.u.r.n.i.p"
    assert read(understander, "\x00 \u200b\n".replace("\u200b", ""))[2] is False


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("  a\t b\r\nc ", "a b c"),
        ("a\x00b", "a b"),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("\ud800x\udfff", "x"),
        ("👩‍👩‍👧‍👦 ok", "👩‍👩‍👧‍👦 ok"),
        ("x" * MAX_CHARACTERS, "x" * MAX_CHARACTERS),
        ("x" * 10_000, "x" * MAX_CHARACTERS + "…"),
        ("\x07" * 20_000, ""),
    ],
)
def test_cleaning(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


def test_the_classifier_learns_and_its_weights_are_those_of_the_examples() -> None:
    lines = examples()
    held_out = lines[::5]
    weights, bias = train([line for index, line in enumerate(lines) if index % 5], steps=150)
    assert accuracy(weights, bias, held_out) >= 0.35  # chance is 0.125
    kept = EmotionClassifier()
    right = sum(max(c := kept.chances(text), key=lambda e: c[e]) == emotion for emotion, text in lines)
    assert right / len(lines) >= 0.95
    assert {emotion for emotion, _ in lines} == set(EMOTIONS)


def test_chances_sum_to_one_for_any_text() -> None:
    classifier = EmotionClassifier()
    for text in ("", "x", "🎉" * 500, "你好", "ﾐﾗ", "A" * 10_000):
        chances = classifier.chances(text)
        assert set(chances) == set(EMOTIONS) and sum(chances.values()) == pytest.approx(1)
    assert list(features("Ａb")) == list(features("ab"))  # width and case are folded
