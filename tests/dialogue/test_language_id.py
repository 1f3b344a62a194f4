"""Chat lines told apart: English, Chinese, Japanese, and what has no letters."""

from __future__ import annotations

import pytest

from idol.dialogue.language_id import identify
from idol.seams import LANGUAGES, Language

LINES: dict[Language, tuple[str, ...]] = {
    "en": (
        "hi",
        "Hello Mira!",
        "lol",
        "What's your favourite 漢字?",
        "I love ミラ ... wait",
        "café au lait please",
        "gg wp 10/10",
        "How do you say thanks in Japanese?",
        "OK",
        "brb, 5 min",
        "THE END",
    ),
    "zh": (
        "你好",
        "米拉，唱首歌吧",
        "草莓牛奶！它不仅健康，而且超级美味。",
        "晚上好",
        "我爱の味道很好吃",
        "哈哈哈",
        "今天玩Minecraft吗",
        "谢谢",
        "最高的山是哪座",
        "666，太强了",
        "我在上海",
        "学习使我快乐",
        "请问现在几点",
        "下午三点半有直播",
        "加油加油加油",
        "真的假的",
        "法国的首都是巴黎。",
        "草地上有一只猫",
        "时间不早了",
        "主播唱得真好",
        "一起唱歌吗",
        "本当の爱是什么意思",
    ),
    "ja": (
        "こんにちは",
        "ミラちゃん、歌って！",
        "草",
        "草ｗｗｗ",
        "最高！",
        "大丈夫？",
        "お疲れ様",
        "今日は何するの？",
        "ﾐﾗﾁｬﾝ",
        "名前は？",
        "元気？",
        "配信待ってた",
        "OK、またね",
        "本当に？",
        "可愛い",
        "時間です",
        "楽しみ",
        "ラーメン",
        "AIなの？",
        "頑張れ",
        "YouTubeで見たよ",
        "Minecraft楽しい",
        "了解です",
    ),
}


@pytest.mark.parametrize(("language", "line"), [(language, line) for language in LANGUAGES for line in LINES[language]])
def test_lines_are_told_apart(language: Language, line: str) -> None:
    assert identify(line, "en") == language


@pytest.mark.parametrize("fallback", LANGUAGES)
@pytest.mark.parametrize("line", ["", "   ", "🎉🎉", "12345", "?!", "(^_^)", "…"])
def test_lines_without_letters_take_the_language_before(line: str, fallback: Language) -> None:
    assert identify(line, fallback) == fallback


def test_short_han_lines_stay_with_a_japanese_chat() -> None:
    assert identify("了解", "ja") == "ja" and identify("日本", "ja") == "ja"
    assert identify("了解", "zh") == "zh" and identify("日本", "zh") == "zh"
