"""Chinese numbers, dates, times, money and units as characters."""

from __future__ import annotations

import re

from idol.voice.speakable import tidy

_DIGITS = "零一二三四五六七八九"
_UNITS = {
    "km/h": "公里每小时", "km": "公里", "cm": "厘米", "mm": "毫米", "kg": "公斤", "mg": "毫克",
    "ml": "毫升", "°C": "摄氏度", "℃": "摄氏度", "°": "度", "KB": " KB", "MB": " MB", "GB": " GB",
    "TB": " TB", "Hz": "赫兹", "GHz": "吉赫", "MHz": "兆赫", "ms": "毫秒", "m": "米", "g": "克",
    "L": "升", "h": "小时", "min": "分钟", "s": "秒", "fps": "帧", "px": "像素",
}  # fmt: skip
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_MEASURES = "个只本张条位次种件杯块台辆场首天年周点分米斤遍倍人名口家层座朵颗份元岁瓶碗双套部"
_NUMBER = r"(\d+(?:,\d{3})+|\d+)(?:\.(\d+))?"


def cardinal_zh(digits: str) -> str:
    """Digits as a Chinese number, 10 000 at a time; more than 16 digits are read one by one."""
    digits = digits.replace(",", "").lstrip("0") or "0"
    if len(digits) > 16:
        return _spell(digits)
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
        words += ("两" if value == 2 and place and not words else _group(value)) + names[place]
        pending_zero = False
    words = words or "零"
    if words[0] == "二" and words[1:2] in ("百", "千"):
        words = "两" + words[1:]
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
    return "".join(_DIGITS[int(digit)] for digit in digits if digit.isdecimal())


def _decimal(whole: str, fraction: str | None) -> str:
    return cardinal_zh(whole) + (f"点{_spell(fraction)}" if fraction else "")


def _money(unit: str) -> str:
    def say(found: re.Match[str]) -> str:
        whole = "两" if found[1] == "2" and not found[2] else None
        return (whole or _decimal(found[1], (found[2] or "").rstrip("0"))) + (found[3] or "") + unit

    return say  # type: ignore[return-value]


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found[1]), int(found[2])
    if hour > 24 or minute > 59:
        return f"{cardinal_zh(found[1])}比{cardinal_zh(found[2])}"
    words = ("两" if hour == 2 else cardinal_zh(found[1])) + "点"
    if minute == 30:
        return words + "半"
    return words + ("" if minute == 0 else ("零" if minute < 10 else "") + cardinal_zh(found[2]) + "分")


def _date(found: re.Match[str]) -> str:
    return f"{_spell(found[1])}年{cardinal_zh(found[2])}月{cardinal_zh(found[3])}日"


def _fraction(found: re.Match[str]) -> str:
    above, below = int(found[1]), int(found[2])
    if below > 10 and 1 <= above <= 12 and below <= 31 and not found.string[found.end() :].startswith("的"):
        return f"{cardinal_zh(found[1])}月{cardinal_zh(found[2])}日"
    return f"{cardinal_zh(found[2])}分之{cardinal_zh(found[1])}"


def _long(found: re.Match[str]) -> str:
    mobile = len(found[0]) == 11 and found[0][0] == "1"
    return _spell(found[0]).replace("一", "幺") if mobile else _spell(found[0])


def words_zh(text: str) -> str:
    """``text`` with digits, money, dates and units spelt out; no digit is left."""
    text = re.sub(r"(?<!\d)23{3,}(?!\d)", "哈哈哈", text)  # laughter in chat
    text = re.sub(r"(?<!\d)6{3,}(?!\d)", "六六六", text)
    text = re.sub(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", _date, text)
    text = re.sub(r"(\d{4})年", lambda f: _spell(f[1]) + "年", text)
    text = re.sub(r"(?<!\d)(\d{3,4})-(\d{3,4})-(\d{4})(?!\d)", lambda f: "，".join(_spell(g) for g in f.groups()), text)
    text = re.sub(r"(?<!\d)(\d{1,2}):(\d{2})(?!\d)", _clock, text)
    text = re.sub(r"(?<!\d)(\d{1,2}):(\d)(?!\d)", lambda f: f"{cardinal_zh(f[1])}比{cardinal_zh(f[2])}", text)
    for sign, unit in (("[¥￥]", "元"), (r"\$", "美元"), ("€", "欧元"), ("£", "英镑")):
        text = re.sub(rf"{sign}\s?{_NUMBER}([万亿]?)", _money(unit), text)
    text = re.sub(rf"{_NUMBER}\s?%", lambda f: "百分之" + _decimal(f[1], f[2]), text)
    text = re.sub(r"(?<![\d/])(\d{1,3})/(\d{1,3})(?![\d/])", _fraction, text)
    text = re.sub(r"(?<![\dA-Za-z.\-)])[-−](?=\d)", "负", text)
    text = re.sub(r"(?<=\d)\s?[-–—~]\s?(?=\d)", "到", text)
    text = re.sub(rf"{_NUMBER}\s?({_UNIT})(?![A-Za-z])", lambda f: _decimal(f[1], f[2]) + _UNITS[f[3]], text)
    text = re.sub(rf"(?<![\d.第])2(?=[{_MEASURES}])(?!月)", "两", text)
    text = re.sub(r"(?<!\d)(?:0\d+|\d{9,})(?![\d.])", _long, text)
    text = re.sub(r"第(\d+)", lambda f: "第" + cardinal_zh(f[1]).replace("两", "二"), text)
    text = re.sub(_NUMBER, lambda f: _decimal(f[1], f[2]), text)
    text = re.sub(r"(?<=[零一二三四五六七八九十百千万亿年])〇|〇(?=[零一二三四五六七八九〇])", "零", text).replace(
        "〇", "零"
    )
    text = re.sub(r"\s?\+\s?", "加", text)
    text = re.sub(r"\s?&\s?", "和", text).replace("%", "百分号").replace("@", "艾特").replace("°", "度")
    text = "".join(_DIGITS[int(c)] if c.isdecimal() else c for c in text)
    return tidy(re.sub("[/*#]", " ", text))
