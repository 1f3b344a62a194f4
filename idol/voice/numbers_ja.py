"""Japanese numbers, times, money and units in a form the dictionary reads rightly."""

from __future__ import annotations

import re

from idol.voice.speakable import tidy

_UNITS = {
    "km/h": "キロメートル毎時", "km": "キロメートル", "cm": "センチ", "mm": "ミリ", "kg": "キロ",
    "mg": "ミリグラム", "ml": "ミリリットル", "℃": "度", "°C": "度", "°": "度", "KB": "キロバイト",
    "MB": "メガバイト", "GB": "ギガバイト", "TB": "テラバイト", "Hz": "ヘルツ", "MHz": "メガヘルツ",
    "GHz": "ギガヘルツ", "ms": "ミリ秒", "m": "メートル", "g": "グラム", "L": "リットル", "s": "秒",
    "fps": "エフピーエス", "px": "ピクセル", "min": "分",
}  # fmt: skip
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_DIGITS = "〇一二三四五六七八九"
_SAID = ("ゼロ", "イチ", "ニー", "サン", "ヨン", "ゴー", "ロク", "ナナ", "ハチ", "キュー")
_NUMBER = r"(\d+(?:,\d{3})+|\d+)(?:\.(\d+))?"


def cardinal_ja(digits: str) -> str:
    """Digits as kanji numerals, 10 000 at a time; more than 16 digits are read one by one."""
    digits = digits.replace(",", "").lstrip("0") or "0"
    if digits == "0":
        return "ゼロ"
    if len(digits) > 16:
        return _spell(digits)
    groups = [digits[max(0, end - 4) : end] for end in range(len(digits), 0, -4)]
    words = ""
    for name, group in zip(("", "万", "億", "兆"), groups, strict=False):
        value, part = int(group), ""
        for size, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
            digit, value = divmod(value, size)
            if digit:
                part += ("" if digit == 1 and unit else _DIGITS[digit]) + unit
        if part:
            words = part + name + words
    return words


def _spell(digits: str) -> str:
    return "".join(_SAID[int(digit)] for digit in digits if digit.isdecimal())


def _decimal(whole: str, fraction: str | None) -> str:
    if not fraction:
        return cardinal_ja(whole)
    head = "れい" if whole.strip("0,") == "" else cardinal_ja(whole)
    return head + "点" + "".join("ゼロ" if digit == "0" else _DIGITS[int(digit)] for digit in fraction)


def _money(unit: str, cent: str = "") -> str:
    def say(found: re.Match[str]) -> str:
        fraction = found[2] or ""
        if cent and len(fraction) == 2 and not found[3]:
            cents = int(fraction)
            return cardinal_ja(found[1]) + unit + (cardinal_ja(str(cents)) + cent if cents else "")
        return _decimal(found[1], fraction.rstrip("0")) + (found[3] or "") + unit

    return say  # type: ignore[return-value]


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found[1]), int(found[2])
    if hour > 24 or minute > 59:
        return f"{cardinal_ja(found[1])}対{cardinal_ja(found[2])}"
    words = ("れい" if hour == 0 else cardinal_ja(found[1])) + "時"
    return words + ("半" if minute == 30 else "" if minute == 0 else cardinal_ja(found[2]) + "分")


def _date(found: re.Match[str]) -> str:
    return f"{cardinal_ja(found[1])}年{cardinal_ja(found[2])}月{cardinal_ja(found[3])}日"


def _fraction(found: re.Match[str]) -> str:
    above, below = int(found[1]), int(found[2])
    if below > 10 and 1 <= above <= 12 and below <= 31:
        return f"{cardinal_ja(found[1])}月{cardinal_ja(found[2])}日"
    return f"{cardinal_ja(found[2])}分の{cardinal_ja(found[1])}"


def words_ja(text: str) -> str:
    """``text`` with digits, money, times and units spelt out; no digit is left."""
    text = re.sub(r"(?<![A-Za-z])[wｗ]{2,}(?![A-Za-z])|(?<=[^\x00-\x7f])[wｗ](?=$|[\s。、!?])", "", text)  # laughter
    text = re.sub(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", _date, text)
    text = re.sub(
        r"(?<!\d)(0\d{1,4})-(\d{1,4})-(\d{3,4})(?!\d)", lambda f: "、".join(_spell(g) for g in f.groups()), text
    )
    text = re.sub(r"(?<!\d)(\d{1,2}):(\d{2})(?!\d)", _clock, text)
    text = re.sub(r"(?<!\d)(\d{1,2}):(\d)(?!\d)", lambda f: f"{cardinal_ja(f[1])}対{cardinal_ja(f[2])}", text)
    for sign, unit, cent in (
        ("[¥￥]", "円", ""),
        (r"\$", "ドル", "セント"),
        ("€", "ユーロ", "セント"),
        ("£", "ポンド", ""),
    ):
        text = re.sub(rf"{sign}\s?{_NUMBER}([万億]?)", _money(unit, cent), text)
    text = re.sub(rf"{_NUMBER}\s?%", lambda f: _decimal(f[1], f[2]) + "パーセント", text)
    text = re.sub(r"(?<![\d/])(\d{1,3})/(\d{1,3})(?![\d/])", _fraction, text)
    text = re.sub(r"(?<![\dA-Za-z.\-)])[-−](?=\d)", "マイナス", text)
    text = re.sub(r"(?<=\d)\s?[-–—~〜]\s?(?=\d)", "から", text)
    text = re.sub(rf"{_NUMBER}\s?({_UNIT})(?![A-Za-z])", lambda f: _decimal(f[1], f[2]) + _UNITS[f[3]], text)
    text = re.sub(r"(?<!\d)(?:0\d+|\d{11,})(?![\d.])", lambda f: _spell(f[0]), text)
    text = re.sub(_NUMBER, lambda f: _decimal(f[1], f[2]), text)
    for sign, word in (("+", "プラス"), ("&", "アンド"), ("%", "パーセント"), ("@", "アット"), ("°", "度")):
        text = re.sub(rf"\s?{re.escape(sign)}\s?", word, text)
    text = "".join(_SAID[int(c)] if c.isdecimal() else c for c in text)
    text = re.sub(r"八百(?![\u4e00-\u9fff])", "はっぴゃく", text)  # a greengrocer otherwise
    return tidy(re.sub("[/*#]", " ", text))
