"""Scripts go to their languages, every symbol is in the voice's vocabulary, nothing is fetched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from idol.seams import LANGUAGES, Language
from idol.voice.phonemes import Phonemizer, _routes
from tests.voice import cases
from tests.voice.lines import CHINESE, ENGLISH, JAPANESE, PERSON_LINE

pytestmark = pytest.mark.models
_SUBJECTS: dict[Language, tuple[str, ...]] = {
    "en": ("My new song", "The old dragon", "Our next stream", "Your favourite VTuber", "The weird sandwich in Kyoto"),
    "zh": ("我的新歌", "那条老龙", "我们的直播", "你喜欢的VTuber", "北京的烤鸭"),
    "ja": ("私の新しい歌", "古い竜", "次の配信", "好きなVTuber", "京都の抹茶"),
}
_PREDICATES: dict[Language, tuple[str, ...]] = {
    "en": ("makes me laugh!", "costs $3.50, right?", "was finished on 2024-05-01.",
           "lives rent-free in my head…", "isn't ready yet; sorry.", "won 3:2 against GPT-4.",
           "needs 12GB of RAM", "started at 7:30 pm", "is 100% pog", "can't be beaten, y'know"),
    "zh": ("让我笑死了！", "要3块5，对吗？", "是2024年5月1日完成的。", "太好看了……", "还没准备好；抱歉。",
           "以3:2赢了GPT-4。", "需要12GB内存", "晚上7:30开始", "百分之百厉害", "行长说不行"),
    "ja": ("が面白いです！", "は350円ですか？", "は2024年5月1日に終わりました。", "が頭から離れない…",
           "はまだです；ごめんね。", "は3対2でGPT-4に勝った。", "は12GB必要", "は7:30に始まる", "は100%最高",
           "はちょっと無理っすね"),
}  # fmt: skip


@pytest.fixture(scope="module")
def phonemizer(model_path: Callable[[str], Path]) -> Phonemizer:
    vocabulary = json.loads((model_path("kokoro") / "vocab.json").read_text(encoding="utf-8"))["vocab"]
    return Phonemizer(frozenset(vocabulary))


def _sentences(language: Language) -> list[str]:
    lines = {"en": ENGLISH, "zh": CHINESE, "ja": tuple(text for text, _ in JAPANESE)}[language]
    shown = {"en": cases.ENGLISH, "zh": cases.CHINESE, "ja": cases.JAPANESE}[language]
    made = [f"{subject}{' ' if language == 'en' else ''}{predicate}"
            for subject in _SUBJECTS[language] for predicate in _PREDICATES[language]]  # fmt: skip
    return [*lines, *(text for text, _ in shown), *made, PERSON_LINE]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_symbol_is_in_the_vocabulary(phonemizer: Phonemizer, language: Language) -> None:
    sentences = _sentences(language)
    assert len(sentences) > 100
    for sentence in sentences:
        spoken = phonemizer.spoken(sentence, language)
        sounds = phonemizer.phonemes(spoken, language)
        assert bool(sounds) == bool(spoken), sentence
        assert not phonemizer.unknown, (sentence, phonemizer.unknown)


@pytest.mark.parametrize(
    ("text", "language", "routes"),
    [
        ("I like 你好 very much", "en", ["en", "zh", "en"]),
        ("Say ありがとう and 東京タワー", "en", ["en", "ja", "en", "ja"]),
        ("我在用AI写歌", "zh", ["zh", "en", "zh"]),
        ("我喜欢ありがとう这个词", "zh", ["zh", "ja", "zh"]),
        ("今日はAIとゲーム", "ja", ["ja", "en", "ja"]),
        ("東京大学", "ja", ["ja"]),
        ("東京大学", "zh", ["zh"]),
        ("Hello, world!", "en", ["en"]),
    ],
)
def test_scripts_go_to_their_languages(text: str, language: Language, routes: list[str]) -> None:
    pieces = _routes(text, language)
    assert [route for _, route in pieces] == routes
    assert "".join(piece for piece, _ in pieces) == text


def test_han_in_a_japanese_clause_is_japanese(phonemizer: Phonemizer) -> None:
    assert phonemizer.phonemes("東京", "ja") == "toːkʲoː"
    assert phonemizer.phonemes("东京", "zh") == "tʊ→ŋʨi→ŋ"


@pytest.mark.parametrize(
    ("text", "language", "sounds"),
    [
        ("银行", "zh", "i↗nxa↗ŋ"), ("不行", "zh", "pu↘ɕi↗ŋ"), ("长大", "zh", "ꭧa↓ŋta↘"), ("两个", "zh", "lja↓ŋkɤ↘"),
        ("三匹", "ja", "saɴbiki"), ("八百", "ja", None), ("九月九日", "ja", "kuɡaʦukokonoka"), ("学校", "ja", "ɡaʔkoː"),
    ],
)  # fmt: skip
def test_readings(phonemizer: Phonemizer, text: str, language: Language, sounds: str | None) -> None:
    said = phonemizer.phonemes(phonemizer.spoken(text, language), language)
    assert said.replace(" ", "") == sounds if sounds else said


def test_dictionaries_load_without_network_and_without_a_tagger() -> None:
    program = """
import socket
def refuse(*arguments, **more):
    raise OSError("no network in this test")
socket.socket.connect = refuse
socket.create_connection = refuse
socket.getaddrinfo = refuse
import sys
from idol.voice.phonemes import Phonemizer
phonemizer = Phonemizer(frozenset())
for language, text in (("en", "Hello"), ("zh", "你好"), ("ja", "今日は")):
    phonemizer.load(language)
    phonemizer.phonemes(text, language)
heavy = {"spacy", "torch", "num2words", "phonemizer", "espeakng_loader", "transformers"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_loading_is_lazy() -> None:
    heavy = {"onnx", "onnxruntime", "jieba", "misaki", "pyopenjtalk"}
    program = f"import sys, idol.voice; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
