"""What is shown, made speakable: markdown, emoji, links, actions and repetitions become words or silence.

The same for all languages; numbers and abbreviations follow in ``numbers_en``, ``numbers_zh`` and ``numbers_ja``.
Nothing here raises, whatever the text holds, and time grows linearly with its length.
"""

from __future__ import annotations

import html
import re
import unicodedata

from idol.seams import Language

LONGEST = 20_000
"""Characters of one text that are looked at."""

_EMOJI = (
    "\U0001f000-\U0001faff\U0001fb00-\U0001fbff\U00002600-\U000027bf\U00002b00-\U00002bff\U00002300-\U000023ff"
    "\U000025a0-\U000025ff\U00002190-\U000021ff\U00002500-\U0000259f\U0000fe0f\U0000fe0e\U0000200d\U000020e3"
    "\U000e0020-\U000e007f\U0001f1e6-\U0001f1ff\U00003030\U0000303d\U00003297\U00003299\U0000fe30-\U0000fe4f"
)
_EMOJI_PATTERN = re.compile(f"[0-9#*]\ufe0f?\u20e3|[{_EMOJI}]+")
_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{0,500}\)")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'，。！？、）)\u3040-\u30ff\u4e00-\u9fff]+", re.IGNORECASE)
_MAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}")
_DOMAIN = re.compile(
    r"(?<![\w@.-])((?:[a-z0-9-]{1,63}\.){1,3}(?:com|org|net|io|tv|gg|dev|app|jp|cn|me|co|ai|moe))(?![\w-]|\.\w)", re.I
)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>|<!--.{0,500}?-->", re.DOTALL)
_ACTION = re.compile(r"(?<![\w*])\*(?!\s)([^*\n]{1,80}?)(?<!\s)\*(?![\w*])")
_BRACKET_ACTION = re.compile(
    r"[（(\[【](?:笑|泣|汗|微笑|大笑|拍手|爆笑|(?:smil|laugh|giggl|sigh|wav|nod|blush|wink)\w{0,4})[）)\]】]", re.I
)
_BRACKETS = re.compile(r"[(（]([^()（）\n]{1,20})[)）][ﾉノ/\\oｏ♪づ彡~]{0,2}")
_FACE = re.compile(
    r"(?<![\w:])(?:[:;=8xX]['\-^]?[)(DPpOo3|/\\]{1,3}|<3+|[Tt]_+[Tt]|>_<|\^_*\^|o_O|O_o|QAQ|QwQ|OwO|UwU|orz)(?!\w)"
)
_LIST = re.compile(r"^[ \t]{0,8}(?:[-*+•‣]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+|>+[ \t]?)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|_{2,3}|~~|`+)")
_RULE = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$", re.MULTILINE)
_LINE_END = re.compile(r"(?<=[^\s,.;:!?…，。！？；：、])[ \t]*\n\s*")
_STRETCH = re.compile(r"([A-Za-z])\1{2,}")
_CJK_STRETCH = re.compile(r"([\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff])\1{3,}")
_PUNCTUATION = re.compile(r"([!?！？。，、,;；:：…])(?:\s*\1)+")
_MIXED = re.compile(r"[!?！？](?:\s*[!?！？])+")
_DOTS = re.compile(r"\.{2,}|。{2,}|…+|⋯+|・{3,}")
_THIRD_PERSON = re.compile(r"^(?:[a-z]+s|[a-z]+ing)\b")
_DEEDS = re.compile(
    r"^(?:smil|laugh|giggl|wav|nod|sigh|blush|wink|clap|bow|gasp|shrug|grin|pout|yawn|hug|cough|cr[iy]|sob|jump|danc|sing"
    r"|chuckl|blink|stretch|whisper|cheer|spin|hum)\w{0,4}$", re.IGNORECASE,
)  # fmt: skip

_DOT = {"en": " dot ", "zh": "点", "ja": "ドット"}
_AT = {"en": " at ", "zh": "艾特", "ja": "アット"}
_HASH = {"en": " hashtag ", "zh": "话题", "ja": "ハッシュタグ"}
_NUMBER_SIGN = {"en": "number ", "zh": "第", "ja": "ナンバー"}
_ABOUT = {"en": "about ", "zh": "约", "ja": "約"}
_STOP = {"en": ". ", "zh": "。", "ja": "。"}
_EQUALS = {"en": " equals ", "zh": "等于", "ja": "イコール"}
_TIMES = {"en": " times ", "zh": "乘", "ja": "かける"}


def speakable(text: str, language: Language) -> str:
    """``text`` without what cannot be said, in one line. May be ''."""
    text = text[:LONGEST]
    text = re.sub(r"(\d{30})\d+", r"\1…", text)  # nobody reads on, and the number rules need an end
    text = _FENCE.sub(" ", text)
    text = _IMAGE.sub(r" \1 ", text)
    text = _LINK.sub(r"\1", text)
    text = html.unescape(_TAG.sub(" ", text))
    text = _MAIL.sub(lambda found: _spoken_mail(found[0], language), text)
    text = _URL.sub(lambda found: _spoken_host(found[0], language), text)
    text = _DOMAIN.sub(lambda found: _spoken_host(found[1], language), text)
    text = _BRACKET_ACTION.sub(" ", text)
    text = _BRACKETS.sub(_kaomoji, text)
    text = _FACE.sub(" ", text)
    text = _EMOJI_PATTERN.sub(" ", text)
    text = _RULE.sub(" ", text)
    text = _HEADING.sub("", text)
    text = _LIST.sub("", text)
    text = _ACTION.sub(_action, text)
    text = re.sub(r"(?<![A-Za-z0-9])([CcFf])(\+\+|#)(?![A-Za-z0-9])", _programming, text)
    text = _EMPHASIS.sub("", text)
    text = text.replace("№", _NUMBER_SIGN[language])
    text = unicodedata.normalize("NFKC", _DOTS.sub("…", re.sub("[™©®]", "", text)))
    text = _LINE_END.sub(_STOP[language], text)
    text = "".join(_visible(character) for character in text)
    text = re.sub(r"(?<!\w)@(\w{1,40}?)(?=[^\w]|$)", lambda found: found[1].replace("_", " "), text)
    text = re.sub(r"(?<![\w&])#([^\W\d]\w{0,40})#?", lambda found: f"{_HASH[language]}{found[1]}", text)
    text = _STRETCH.sub(_shorten, text)
    text = _CJK_STRETCH.sub(r"\1\1\1", re.sub("ー{2,}", "ー", text))
    text = _MIXED.sub(lambda found: "?" if "?" in found[0] or "？" in found[0] else "!", text)
    text = _PUNCTUATION.sub(r"\1", _DOTS.sub("…", text))
    text = re.sub(r"(?<=\d)\s?[~〜∼]\s?(?=\d)", "-", text)
    text = re.sub(r"[~〜∼≈]\s?(?=[\d$€£¥])", _ABOUT[language], text)
    text = re.sub(r"[~〜∼]", "…" if language == "en" else "", text)
    text = re.sub(r"(?<=\d)\s*=\s*(?=[-\d])", _EQUALS[language], text)
    text = re.sub(r"(?<=\d)\s*[×✕]\s*(?=\d)", _TIMES[language], text)
    return tidy(re.sub(r"[|\\^_=<>{}\[\]≈×]+", " ", text))


def tidy(text: str) -> str:
    """Single spaces, none before punctuation or at either end."""
    return re.sub(r"\s+(?=[,.!?;:…，。！？；：、)）”])", "", re.sub(r"\s+", " ", text)).strip()


def has_words(text: str) -> bool:
    """True when a letter, digit, han or kana is left to be said."""
    return any(unicodedata.category(character)[0] in "LN" for character in text)


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Mn":
        return character if character in "\u3099\u309a\u0301\u0300\u0308\u0303" else ""
    if category in ("Cc", "Zl", "Zp", "Zs"):
        return " "
    if character == "°":
        return character
    return "" if category[0] == "C" or category in ("So", "Sk", "Me", "Co") else character


def _kaomoji(found: re.Match[str]) -> str:
    """A bracket is a face when it holds signs that no sentence has, and no word."""
    inside = found[1]
    signs = sum(unicodedata.category(c)[0] == "S" or c in "^_`´;・ω<>*'﹏︶=" for c in inside if c not in "+$%#")
    words = re.search(r"[^\W\d_]{3,}|[\u4e00-\u9fff]{2,}|\d{2,}", inside.replace("ω", "").replace("ヮ", ""))
    return " " if signs and not words else found[0]


def _action(found: re.Match[str]) -> str:
    inside = found[1]
    before = found.string[: found.start()].rstrip()
    stands_alone = not before or before[-1] in ".!?…。！？*,，、)"
    if _DEEDS.match(inside) or (_THIRD_PERSON.match(inside) and (stands_alone or " " in inside)):
        return " "
    return inside if inside.isascii() or len(inside) > 6 else " "


def _programming(found: re.Match[str]) -> str:
    return f"{found[1].upper()} {'plus plus' if found[2] == '++' else 'sharp'}"


def _shorten(found: re.Match[str]) -> str:
    letter, length = found[1], len(found[0])
    word_start, word_end = found.start(), found.end()
    if word_start and found.string[word_start - 1].isascii() and found.string[word_start - 1].isalpha():
        return letter * 2 if letter.lower() in "mh" else letter
    alone = word_end >= len(found.string) or not (found.string[word_end].isascii() and found.string[word_end].isalpha())
    if alone and letter in "zw":
        return ""  # snoring; laughing in Japanese chat
    if alone and letter.isupper() and length == 3:
        return found[0]
    return letter * 2 if letter.lower() in "mh" else letter


def _spoken_host(url: str, language: Language) -> str:
    host = re.sub(r"^(?:https?://)?(?:www\.)?", "", url, flags=re.IGNORECASE)
    trailing = url[-1] if url[-1] in ".!?,;:" else ""
    host = re.split(r"[/?#:]", host, maxsplit=1)[0].strip(".,!?;")
    return f" {host.replace('.', _DOT[language])}{trailing} " if host else " "


def _spoken_mail(mail: str, language: Language) -> str:
    trailing = "." if mail.endswith(".") else ""
    return f" {mail.strip('.').replace('@', _AT[language]).replace('.', _DOT[language])}{trailing} "
