"""Which of her languages a line is in, from its script and a few telling words. Made for short chat lines."""

from __future__ import annotations

import re

from idol.seams import Language

_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_WORD = re.compile("[A-Za-z\u00c0-\u024f']+")
SIMPLIFIED_ONLY = re.compile(
    "[这们吗么说给还云电车东门问间马鸟鱼长见风飞让谁爱听记认识话语读写买卖红绿蓝银钱铁钟错难题页颜饭饮乐欢开关对时应该样现实过边运动]"
)
"""Frequent characters of simplified Chinese that Japanese does not write."""
# Han-only lines that are Japanese: words and characters that Chinese does not use.
_JA_HAN = re.compile(
    "^草[wｗ]*$|大丈夫|素敵|最高|可愛|歌姫|配信|名前|元気|勉強|仕事|電車|時間|本当|今晩|毎|々|気|楽|読|対|駅|円|弾|聴|図|動画|一緒"
)
_ZH_HAN = re.compile("[你我他她它您吗呢吧啊啦呀嘛这那什么没很哪的是在不]|(?<![完終])了(?![解承])")
_LONGEST_WITHOUT_KANA = 8
"""A Japanese sentence longer than this holds kana."""


def identify(text: str, fallback: Language) -> Language:
    """The language of ``text``; ``fallback`` where it holds no letters (emoji, digits)."""
    kana, han, latin = (len(pattern.findall(text)) for pattern in (_KANA, _HAN, _LATIN))
    if kana + han and latin >= 4 * (kana + han) and len(_WORD.findall(text)) >= 3:
        return "en"  # an English line with a foreign name in it
    if kana:
        # A Chinese line may quote a kana word (の is fashionable): kana must be a fair share of the line.
        return "zh" if kana == 1 and han >= 5 and (_ZH_HAN.search(text) or SIMPLIFIED_ONLY.search(text)) else "ja"
    if han:
        if latin > 3 * han and han <= 2:
            return "en"
        if SIMPLIFIED_ONLY.search(text):
            return "zh"
        if _JA_HAN.search(text) and han <= _LONGEST_WITHOUT_KANA:
            return "ja" if fallback == "ja" or not _ZH_HAN.search(text) else "zh"
        if _ZH_HAN.search(text) or han > _LONGEST_WITHOUT_KANA:
            return "zh"
        return "ja" if fallback == "ja" and han <= 4 else "zh"
    return "en" if latin else fallback
