"""Which of her languages a line is in, from its script and a few telling words. Made for short chat lines."""

from __future__ import annotations

import re

from idol.seams import Language

_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# Han-only lines that are Japanese: words and characters that Chinese does not use.
_JA_HAN = re.compile(
    "草$|^草|大丈夫|素敵|最高|可愛|歌姫|配信|名前|元気|勉強|仕事|電車|時間|本当|今晩|毎|々|気|楽|読|対|駅|円|弾|聴|図"
)
_ZH_HAN = re.compile("[你我他她们吗呢吧啊这那什么说没还给让过对开时间个电话们见听爱欢为]")


def identify(text: str, fallback: Language) -> Language:
    """The language of ``text``; ``fallback`` where it holds no letters (emoji, digits)."""
    kana, han, latin = (len(pattern.findall(text)) for pattern in (_KANA, _HAN, _LATIN))
    if kana:
        # A Chinese line may quote a kana word (の is fashionable): kana must be a fair share of the line.
        return "zh" if kana == 1 and han >= 5 and _ZH_HAN.search(text) else "ja"
    if han:
        if latin > 3 * han and han <= 2:
            return "en"
        if _ZH_HAN.search(text):
            return "zh"
        return "ja" if _JA_HAN.search(text) else ("ja" if fallback == "ja" and han <= 4 else "zh")
    return "en" if latin else fallback
