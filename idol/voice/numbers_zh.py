"""Chinese numbers, dates, times, money and units as characters."""

from __future__ import annotations

import re

_DIGITS = "零一二三四五六七八九"
_UNITS = {
    "km/h": "公里每小时", "km": "公里", "cm": "厘米", "mm": "毫米", "kg": "公斤", "mg": "毫克",
    "ml": "毫升", "℃": "摄氏度", "°C": "摄氏度", "°": "度", "KB": "KB", "MB": "MB", "GB": "GB",
    "TB": "TB", "Hz": "赫兹", "GHz": "吉赫", "MHz": "兆赫", "ms": "毫秒", "m": "米", "g": "克",
    "L": "升", "h": "小时", "min": "分钟", "s": "秒", "fps": "帧",
}  # fmt: skip
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_MEASURES = "个只本张条位次种件杯块台辆场首天年月周点分米斤"


def cardinal_zh(digits: str) -> str:
    """Digits as a Chinese number, 10 000 at a time; more than 16 digits are read one by one."""
    digits = digits.replace(",", "").lstrip("0") or "0"
    if len(digits) > 16:
        return "".join(_DIGITS[int(digit)] for digit in digits)
    groups = [digits[max(0, end - 4) : end] for end in range(len(digits), 0, -4)][::-1]
    names = ["", "万", "亿", "万亿"]
    words, pending_zero = "", False
    for place, group in zip(range(len(groups) - 1, -1, -1), groups, strict=True):
        value = int(group)
        if value == 0:
            pending_zero = bool(words)
            continue
        if words and (pending_zero or value < 1000):
            words += "零"
        words += _group(value) + names[place]
        pending_zero = False
    words = words or "零"
    return words[1:] if words.startswith("一十") else words


def _group(value: int) -> str:
    words, zero = "", False
    for size, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, value = divmod(value, size)
        if digit:
            words += ("零" if zero and words else "") + _DIGITS[digit] + name
            zero = False
        else:
            zero = True
    return words


def _spell(digits: str) -> str:
    return "".join(_DIGITS[int(digit)] for digit in digits)


def _decimal(whole: str, fraction: str | None) -> str:
    return cardinal_zh(whole) + (f"点{_spell(fraction)}" if fraction else "")


def _money(found: re.Match[str]) -> str:
    return _decimal(found[1], (found[2] or "").rstrip("0"))


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found[1]), int(found[2])
    if hour > 24 or minute > 59:
        return f"{cardinal_zh(found[1])}比{cardinal_zh(found[2])}"
    words = ("两" if hour == 2 else cardinal_zh(found[1])) + "点"
    if minute == 30:
        return words + "半"
    return words + ("" if minute == 0 else ("零" if minute < 10 else "") + cardinal_zh(found[2]) + "分")


def _two(found: re.Match[str]) -> str:
    return "两" + found[1]


def words_zh(text: str) -> str:
    """``text`` with digits, money, dates and units spelt out; no digit is left."""
    text = re.sub(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", r"\1年\2月\3日", text)
    text = re.sub(r"(\d{4})年", lambda f: _spell(f[1]) + "年", text)
    text = re.sub(r"(?<!\d)(\d{1,2})[::](\d{2})(?!\d)", _clock, text)
    text = re.sub(r"[¥￥](\d[\d,]*)(?:\.(\d+))?", lambda f: _money(f) + "元", text)
    text = re.sub(r"\$(\d[\d,]*)(?:\.(\d+))?", lambda f: _money(f) + "美元", text)
    text = re.sub(r"€(\d[\d,]*)(?:\.(\d+))?", lambda f: _money(f) + "欧元", text)
    text = re.sub(r"(\d[\d,]*)(?:\.(\d+))?\s?%", lambda f: "百分之" + _decimal(f[1], f[2]), text)
    text = re.sub(r"(?<!\d)(\d{1,3})/(\d{1,3})(?!\d)", lambda f: f"{cardinal_zh(f[2])}分之{cardinal_zh(f[1])}", text)
    text = re.sub(r"(?<![\w.\-])[-−](?=\d)", "负", text)
    text = re.sub(r"(?<=\d)\s?[-–—~]\s?(?=\d)", "到", text)
    text = re.sub(
        rf"(\d[\d,]*)(?:\.(\d+))?\s?({_UNIT})(?![A-Za-z])",
        lambda f: _decimal(f[1], f[2]) + " " + _UNITS[f[3]], text,
    )  # fmt: skip
    text = re.sub(rf"(?<![\d.])2([{_MEASURES}])(?!月)", _two, text)
    text = re.sub(
        r"(?<!\d)(?:0\d+|\d{7,})(?![\d.])",
        lambda f: _spell(f[0]).replace("一", "幺") if len(f[0]) == 11 else _spell(f[0]),
        text,
    )
    text = re.sub(r"(\d[\d,]*)(?:\.(\d+))?", lambda f: _decimal(f[1], f[2]), text)
    text = text.replace("+", "加").replace("&", "和").replace("%", "百分号").replace("@", "艾特").replace("#", "")
    return (
        text.replace("C加加", "C plus plus").replace("c加加", "C plus plus").replace("/", " ").replace("*", "").strip()
    )
