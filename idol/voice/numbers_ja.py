"""Japanese numbers, times, money and units in a form the dictionary reads rightly."""

from __future__ import annotations

import re

_UNITS = {
    "km/h": "キロメートル毎時", "km": "キロメートル", "cm": "センチ", "mm": "ミリ", "kg": "キロ",
    "mg": "ミリグラム", "ml": "ミリリットル", "℃": "度", "°C": "度", "°": "度", "KB": "キロバイト",
    "MB": "メガバイト", "GB": "ギガバイト", "TB": "テラバイト", "Hz": "ヘルツ", "MHz": "メガヘルツ",
    "GHz": "ギガヘルツ", "ms": "ミリ秒", "m": "メートル", "g": "グラム", "L": "リットル", "s": "秒",
    "fps": "エフピーエス",
}  # fmt: skip
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_DIGITS = "〇一二三四五六七八九"


def cardinal_ja(digits: str) -> str:
    """Digits as kanji numerals, 10 000 at a time; more than 16 digits are read one by one."""
    digits = digits.replace(",", "").lstrip("0") or "0"
    if digits == "0":
        return "ゼロ"
    if len(digits) > 16:
        return "".join("ゼロ" if digit == "0" else _DIGITS[int(digit)] for digit in digits)
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


def _decimal(whole: str, fraction: str | None) -> str:
    words = cardinal_ja(whole)
    if fraction:
        words += "点" + "".join("ゼロ" if digit == "0" else _DIGITS[int(digit)] for digit in fraction)
    return words


def _money(found: re.Match[str]) -> str:
    return _decimal(found[1], (found[2] or "").rstrip("0"))


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found[1]), int(found[2])
    if hour > 24 or minute > 59:
        return f"{cardinal_ja(found[1])}対{cardinal_ja(found[2])}"
    words = ("零" if hour == 0 else cardinal_ja(found[1])) + "時"
    return words + ("半" if minute == 30 else "" if minute == 0 else cardinal_ja(found[2]) + "分")


def words_ja(text: str) -> str:
    """``text`` with digits, money, times and units spelt out; no digit is left."""
    text = re.sub(
        r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)",
        lambda f: f"{cardinal_ja(f[1])}年{cardinal_ja(f[2])}月{cardinal_ja(f[3])}日", text,
    )  # fmt: skip
    text = re.sub(r"(?<!\d)(\d{1,2})[::](\d{2})(?!\d)", _clock, text)
    text = re.sub(r"[¥￥](\d[\d,]*)(?:\.(\d+))?", lambda f: _money(f) + "円", text)
    text = re.sub(r"\$(\d[\d,]*)(?:\.(\d+))?", lambda f: _money(f) + "ドル", text)
    text = re.sub(r"€(\d[\d,]*)(?:\.(\d+))?", lambda f: _money(f) + "ユーロ", text)
    text = re.sub(r"(\d[\d,]*)(?:\.(\d+))?\s?%", lambda f: _decimal(f[1], f[2]) + "パーセント", text)
    text = re.sub(r"(?<!\d)(\d{1,3})/(\d{1,3})(?!\d)", lambda f: f"{cardinal_ja(f[2])}分の{cardinal_ja(f[1])}", text)
    text = re.sub(r"(?<![\w.\-])[-−](?=\d)", "マイナス", text)
    text = re.sub(r"(?<=\d)\s?[-–—~〜]\s?(?=\d)", "から", text)
    text = re.sub(
        rf"(\d[\d,]*)(?:\.(\d+))?\s?({_UNIT})(?![A-Za-z])",
        lambda f: _decimal(f[1], f[2]) + _UNITS[f[3]], text,
    )  # fmt: skip
    text = re.sub(
        r"(?<!\d)0\d+(?![\d.])", lambda f: "".join("ゼロ" if d == "0" else _DIGITS[int(d)] for d in f[0]), text
    )
    text = re.sub(r"(\d[\d,]*)(?:\.(\d+))?", lambda f: _decimal(f[1], f[2]), text)
    return text.replace("+", "プラス").replace("&", "アンド").replace("%", "パーセント").replace("@", "アット").replace(
        "#", ""
    ).replace("/", " ").replace("*", "").strip()  # fmt: skip
