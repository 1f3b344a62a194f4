"""English numbers, dates, money, units and abbreviations as words."""

from __future__ import annotations

import re
from collections.abc import Callable

from num2words import num2words

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December")  # fmt: skip
_UNITS: dict[str, tuple[str, str]] = {
    "kb": ("kilobyte", "kilobytes"), "mb": ("megabyte", "megabytes"), "gb": ("gigabyte", "gigabytes"),
    "tb": ("terabyte", "terabytes"), "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "m": ("meter", "meters"), "kg": ("kilogram", "kilograms"),
    "g": ("gram", "grams"), "mg": ("milligram", "milligrams"), "ml": ("milliliter", "milliliters"),
    "l": ("liter", "liters"), "ms": ("millisecond", "milliseconds"), "s": ("second", "seconds"),
    "min": ("minute", "minutes"), "h": ("hour", "hours"), "hz": ("hertz", "hertz"), "khz": ("kilohertz", "kilohertz"),
    "mhz": ("megahertz", "megahertz"), "ghz": ("gigahertz", "gigahertz"),
    "fps": ("frame per second", "frames per second"),
    "mph": ("mile per hour", "miles per hour"), "km/h": ("kilometer per hour", "kilometers per hour"),
    "°c": ("degree Celsius", "degrees Celsius"), "°f": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"), "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "ft": ("foot", "feet"),
    "in": ("inch", "inches"), "px": ("pixel", "pixels"), "w": ("watt", "watts"), "v": ("volt", "volts"),
    "k": ("thousand", "thousand"), "x": ("times", "times"), "p": ("p", "p"),
}  # fmt: skip
_CURRENCY = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "penny"), "¥": ("yen", "")}
_SCALE = {"k": "thousand", "m": "million", "b": "billion", "bn": "billion"}
_FRACTIONS = {"1/2": "one half", "1/3": "one third", "2/3": "two thirds", "1/4": "one quarter", "3/4": "three quarters"}
_WORDS = {
    "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Dr.": "Doctor", "Prof.": "Professor", "St.": "Saint",
    "Jr.": "Junior", "Sr.": "Senior", "e.g.": "for example", "i.e.": "that is", "etc.": "et cetera",
    "vs.": "versus", "vs": "versus", "approx.": "approximately", "No.": "number", "a.m.": "A M", "p.m.": "P M",
    "C++": "C plus plus", "c++": "C plus plus", "C#": "C sharp", "F#": "F sharp", "w/": "with", "w/o": "without",
    "btw": "by the way", "idk": "I don't know", "tbh": "to be honest", "imo": "in my opinion", "brb": "be right back",
    "irl": "in real life", "thx": "thanks", "pls": "please", "plz": "please", "omg": "oh my god", "gg": "G G",
    "afk": "A F K", "lol": "lol", "lmao": "ha ha", "ikr": "I know, right", "ngl": "not gonna lie", "np": "no problem",
    "u": "you", "ur": "your", "r": "are", "U.S.": "U S", "U.K.": "U K", "kg": "kilograms", "ok": "okay", "OK": "okay",
}  # fmt: skip
_WORD_PATTERN = re.compile(
    r"(?<![\w.])(?:" + "|".join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True)) + r")(?![\w+#])"
)
_MONTH = "|".join(_MONTHS) + r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)\.?"
_N = r"\d{1,3}(?:,\d{3})+|\d+"
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))


def _rules() -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
    return [
        (re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b"), _iso_date),
        (re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b"), _us_date),
        (re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)"),
         lambda f: f"{_month_name(f[1])} {_ordinal(int(f[2]))}"),
        (re.compile(r"\b(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?([ap])\.?m\b\.?)?", re.IGNORECASE), _clock),
        (re.compile(r"\b(\d{1,2})\s?([ap])\.?m\b\.?", re.IGNORECASE), lambda f: f"{_cardinal(f[1])} {f[2].upper()} M"),
        (re.compile(rf"([$€£¥])\s?({_N})(?:\.(\d{{1,2}}))?\s?(k|m|b|bn|thousand|million|billion)?\b", re.I),
         _money),
        (re.compile(rf"({_N})(?:\.(\d+))?\s?%"), lambda f: f"{_decimal(f[1], f[2])} percent"),
        (re.compile(r"(?<![\d/])(?:1/2|1/3|2/3|1/4|3/4)(?![\d/])"), lambda f: _FRACTIONS[f[0]]),
        (re.compile(r"\bv(\d+(?:\.\d+)+)\b", re.IGNORECASE),
         lambda f: "version " + " point ".join(map(_cardinal, f[1].split(".")))),
        (re.compile(r"\b(\d+(?:\.\d+){2,})\b"), lambda f: " point ".join(map(_cardinal, f[1].split(".")))),
        (re.compile(rf"\b({_N})(st|nd|rd|th)\b"), lambda f: _ordinal(int(f[1].replace(",", "")))),
        (re.compile(r"\b(1[89]|20)(\d)0s\b"), lambda f: f"{_year(int(f[1] + f[2] + '0'))}".rstrip("y") + "ies"),
        (re.compile(r"(?<![\w.])[-−](?=\d)"), lambda f: "minus "),
        (re.compile(rf"\b({_N})(?:\.(\d+))?\s?[-–—]\s?(?=\d)"), lambda f: f"{_decimal(f[1], f[2])} to "),
        (re.compile(rf"\b({_N})(?:\.(\d+))?\s?({_UNIT})(?![\w/])", re.IGNORECASE), _unit),
        (re.compile(r"\b(1[1-9]\d{2}|20\d{2})\b(?!\.\d)(?!,\d)"), lambda f: _year(int(f[1]))),
        (re.compile(r"\b0\d+\b|\b\d{8,}\b"), lambda f: " ".join(_cardinal(digit) for digit in f[0])),
        (re.compile(rf"({_N})(?:\.(\d+))?"), lambda f: f" {_decimal(f[1], f[2])} "),
    ]  # fmt: skip


def words_en(text: str) -> str:
    """``text`` with numbers, money, units and abbreviations spelt out; no digit is left."""
    text = _WORD_PATTERN.sub(lambda found: _WORDS[found[0]], text)
    text = text.replace("№", " number ").replace("#1", "number one")
    for pattern, say in _RULES:
        text = pattern.sub(say, text)
    text = re.sub(r"\s?&\s?", " and ", text)
    text = re.sub(r"\s?\+\s?", " plus ", text)
    text = text.replace("%", " percent ").replace("°", " degrees ").replace("$", " dollars ")
    text = re.sub(r"(?<=\w)/(?=\w)", " slash ", text)
    text = re.sub(r"\b([A-Z]{4,})\b", lambda found: found[1] if _is_acronym(found[1]) else found[1].capitalize(), text)
    return re.sub(r"\s+", " ", text.replace("/", " ").replace("*", " ").replace("@", " at ").replace("#", " ")).strip()


def _is_acronym(word: str) -> bool:
    return not re.search("[AEIOUY]", word)


def _cardinal(number: str | int) -> str:
    digits = str(number).replace(",", "")
    if len(digits) > 15:
        return " ".join(str(num2words(int(digit))) for digit in digits)
    return str(num2words(int(digits))).replace(",", "").replace("-", " ")


def _ordinal(number: int) -> str:
    return str(num2words(number, to="ordinal")).replace("-", " ").replace(",", "") if number < 10**9 else str(number)


def _decimal(whole: str, fraction: str | None) -> str:
    words = _cardinal(whole)
    if fraction:
        words += " point " + " ".join(_cardinal(digit) for digit in fraction[:12])
    return words


def _year(year: int) -> str:
    return str(num2words(year, to="year")).replace("-", " ").replace(",", "")


def _month_name(word: str) -> str:
    return next(month for month in _MONTHS if month.startswith(word.rstrip(".")[:3]))


def _iso_date(found: re.Match[str]) -> str:
    month, day = int(found[2]), int(found[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " ".join(_cardinal(part) for part in found.groups())
    return f"{_MONTHS[month - 1]} {_ordinal(day)}, {_year(int(found[1]))}"


def _us_date(found: re.Match[str]) -> str:
    first, second = int(found[1]), int(found[2])
    month, day = (second, first) if first > 12 else (first, second)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " ".join(_cardinal(part) for part in found.groups())
    return f"{_MONTHS[month - 1]} {_ordinal(day)}, {_year(int(found[3]))}"


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found[1]), int(found[2])
    half = f" {found[4].upper()} M" if found[4] else ""
    if hour > 24 or minute > 59:
        return f"{_cardinal(hour)} {_cardinal(minute)}"
    if minute == 0:
        words = _cardinal(hour) + ("" if half else " o'clock" if 1 <= hour <= 12 else " hundred")
    elif minute < 10:
        words = f"{_cardinal(hour)} oh {_cardinal(minute)}"
    else:
        words = f"{_cardinal(hour)} {_cardinal(minute)}"
    if found[3]:
        words += f" and {_cardinal(int(found[3]))} seconds"
    return words + half


def _money(found: re.Match[str]) -> str:
    unit, cent = _CURRENCY[found[1]]
    scale = found[4] and _SCALE.get(found[4].lower(), found[4].lower())
    if scale:
        return f"{_decimal(found[2], found[3])} {scale} {_plural(unit)}"
    whole = int(found[2].replace(",", ""))
    cents = int((found[3] or "0").ljust(2, "0")) if cent else 0
    words = [f"{_cardinal(whole)} {unit if whole == 1 else _plural(unit)}"] if whole or not cents else []
    if cents:
        words.append(f"{_cardinal(cents)} {cent if cents == 1 else _plural(cent)}")
    return " and ".join(words)


def _plural(unit: str) -> str:
    return {"penny": "pence", "yen": "yen"}.get(unit, unit + "s")


def _unit(found: re.Match[str]) -> str:
    one, many = _UNITS[found[3].lower()]
    return f"{_decimal(found[1], found[2])} {one if found[1] == '1' and not found[2] else many}"


_RULES = _rules()
