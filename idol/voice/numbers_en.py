"""English numbers, dates, money, units and abbreviations as words."""

from __future__ import annotations

import re
from collections.abc import Callable

from idol.voice import numerals_en as numerals
from idol.voice.speakable import tidy

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December")  # fmt: skip
_UNITS: dict[str, tuple[str, str]] = {
    "kb": ("kilobyte", "kilobytes"), "mb": ("megabyte", "megabytes"), "gb": ("gigabyte", "gigabytes"),
    "tb": ("terabyte", "terabytes"), "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "kg": ("kilogram", "kilograms"), "mg": ("milligram", "milligrams"),
    "ml": ("milliliter", "milliliters"), "ms": ("millisecond", "milliseconds"), "min": ("minute", "minutes"),
    "sec": ("second", "seconds"), "hr": ("hour", "hours"), "hrs": ("hour", "hours"), "hz": ("hertz", "hertz"),
    "khz": ("kilohertz", "kilohertz"), "mhz": ("megahertz", "megahertz"), "ghz": ("gigahertz", "gigahertz"),
    "fps": ("frame per second", "frames per second"), "mph": ("mile per hour", "miles per hour"),
    "km/h": ("kilometer per hour", "kilometers per hour"), "kmh": ("kilometer per hour", "kilometers per hour"),
    "°c": ("degree Celsius", "degrees Celsius"), "°f": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"), "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "ft": ("foot", "feet"),
    "px": ("pixel", "pixels"), "db": ("decibel", "decibels"),
}  # fmt: skip
_ATTACHED: dict[str, tuple[str, str]] = {
    "m": ("meter", "meters"), "g": ("gram", "grams"), "l": ("liter", "liters"), "L": ("liter", "liters"),
    "s": ("second", "seconds"), "h": ("hour", "hours"), "in": ("inch", "inches"), "w": ("watt", "watts"),
    "W": ("watt", "watts"), "v": ("volt", "volts"), "V": ("volt", "volts"), "x": ("times", "times"),
}  # fmt: skip
"""Units that are also words or letters: only right after the figure."""
_CURRENCY = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "penny"), "¥": ("yen", "")}
_SCALE = {"k": "thousand", "m": "million", "b": "billion", "bn": "billion"}
_FRACTIONS = {"1/2": "one half", "1/3": "one third", "2/3": "two thirds", "1/4": "one quarter", "3/4": "three quarters"}
_WORDS = {
    "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Dr.": "Doctor", "Prof.": "Professor", "St.": "Saint",
    "Jr.": "Junior", "Sr.": "Senior", "e.g.": "for example", "i.e.": "that is", "etc.": "et cetera",
    "vs.": "versus", "vs": "versus", "approx.": "approximately", "No.": "number", "a.m.": "A M", "p.m.": "P M",
    "w/": "with", "w/o": "without",
    "btw": "by the way", "idk": "I don't know", "tbh": "to be honest", "imo": "in my opinion", "brb": "be right back",
    "irl": "in real life", "thx": "thanks", "pls": "please", "plz": "please", "omg": "oh my god", "gg": "G G",
    "afk": "A F K", "lol": "lol", "lmao": "ha ha", "ikr": "I know, right", "ngl": "not gonna lie", "np": "no problem",
    "u": "you", "ur": "your", "r": "are", "U.S.": "U S", "U.K.": "U K", "ok": "okay", "OK": "okay",
}  # fmt: skip
_WORD_PATTERN = re.compile(
    r"(?<![\w.])(?:" + "|".join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True)) + r")(?![\w+#])"
)
_MONTH = "|".join(_MONTHS) + r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)\.?"
_N = r"\d{1,3}(?:,\d{3})+|\d+"
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))


def _rules() -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
    half = r"(?:\s?([ap])(?:\.m\.|m\b))"
    return [
        (re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b"), _iso_date),
        (re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b"), _us_date),
        (re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?![:\d])"), _month_day),
        (re.compile(r"(?:\+\d{1,3}[- ])?(?<![\d.-])(?:\(?\d{3}\)?[- ])?\d{3}-\d{4}(?![\d-])"), _phone),
        (re.compile(rf"\b(\d{{1,2}}):(\d{{2}})(?::(\d{{2}}))?{half}?", re.IGNORECASE), _clock),
        (re.compile(rf"\b(\d{{1,2}}){half}", re.IGNORECASE), lambda f: f"{_cardinal(f[1])} {f[2].upper()} M"),
        (re.compile(r"\b(\d{1,2})\s?:\s?(\d)(?!\d)"), lambda f: f"{_cardinal(f[1])} to {_cardinal(f[2])}"),
        (re.compile(rf"([$€£¥])\s?({_N})(?:\.(\d{{1,2}}))?(?:\s?(k|m|b|bn|thousand|million|billion)\b)?", re.I),
         _money),
        (re.compile(rf"({_N})(?:\.(\d+))?\s?%"), lambda f: f"{_decimal(f[1], f[2])} percent"),
        (re.compile(r"\b24/7\b"), lambda f: "twenty four seven"),
        (re.compile(r"(?<![\d/])(?:1/2|1/3|2/3|1/4|3/4)(?![\d/])"), lambda f: _FRACTIONS[f[0]]),
        (re.compile(r"\bv(\d+(?:\.\d+)+)\b", re.IGNORECASE),
         lambda f: "version " + " point ".join(map(_cardinal, f[1].split(".")))),
        (re.compile(r"\b(\d+(?:\.\d+){2,})\b"), lambda f: " point ".join(map(_cardinal, f[1].split(".")))),
        (re.compile(rf"\b({_N})(st|nd|rd|th)\b"), lambda f: _ordinal(int(f[1].replace(",", "")))),
        (re.compile(r"\b(1[0-9]|20)(\d)0s\b"), lambda f: numerals.year(int(f[1] + f[2] + "0")).rstrip("y") + "ies"),
        (re.compile(r"(?i)\b((?:the|early|late|mid)[ -])'?([2-9]0)s\b"), _decade),
        (re.compile(r"(?<!\w)(')([2-9]0)s\b"), _decade),
        (re.compile(r"\b(\d{1,2})(\d{2})p\b"), lambda f: f"{_cardinal(f[1])} {_cardinal(f[2])} p"),
        (re.compile(r"\b([248])K\b"), lambda f: f"{_cardinal(f[1])} K"),
        (re.compile(rf"\b({_N})(?:\.(\d+))?(K|k|M|B|bn)\b"),
         lambda f: f"{_decimal(f[1], f[2])} {_SCALE[f[3].lower()]}"),
        (re.compile(r"\bx(\d+)\b"), lambda f: f"times {_cardinal(f[1])}"),
        (re.compile(r"(?<![\w.])[-−](?=\d)"), lambda f: "minus "),
        (re.compile(rf"\b({_N})(?:\.(\d+))?\s?[-–—]\s?(?=\d)"), lambda f: f"{_decimal(f[1], f[2])} to "),
        (re.compile(rf"\b({_N})(?:\.(\d+))?\s?({_UNIT})(?![\w/])", re.IGNORECASE), _unit),
        (re.compile(rf"\b({_N})(?:\.(\d+))?({'|'.join(_ATTACHED)})(?![\w/])"), _unit),
        (re.compile(r"\b(1[1-9]\d{2}|20\d{2})\b(?!\.\d)(?!,\d)"), _year_or_count),
        (re.compile(r"\b0\d+\b|\b\d{8,}\b"), lambda f: numerals.digits(f[0])),
        (re.compile(rf"({_N})(?:\.(\d+))?"), lambda f: f" {_decimal(f[1], f[2])} "),
    ]  # fmt: skip


def words_en(text: str) -> str:
    """``text`` with numbers, money, units and abbreviations spelt out; no digit is left."""
    text = _WORD_PATTERN.sub(lambda found: _WORDS[found[0]], text)
    text = re.sub(r"#(?=\d)", " number ", text)
    for pattern, say in _RULES:
        text = pattern.sub(say, text)
    text = re.sub(r"\s?&\s?", " and ", text)
    text = re.sub(r"\s?\+\s?", " plus ", text)
    text = text.replace("%", " percent ").replace("°", " degrees ").replace("$", " dollars ").replace("@", " at ")
    text = "".join(f" {numerals.digits(str(int(c)))} " if c.isdecimal() else c for c in text)
    return tidy(re.sub("[/*#]", " ", text))


def _cardinal(number: str | int) -> str:
    value = int(str(number).replace(",", ""))
    return numerals.cardinal(value) if value <= numerals.LARGEST else numerals.digits(str(number))


def _ordinal(number: int) -> str:
    return numerals.ordinal(number) if number <= numerals.LARGEST else numerals.digits(str(number)) + " th"


def _decimal(whole: str, fraction: str | None) -> str:
    words = _cardinal(whole)
    if fraction:
        words += " point " + " ".join(_cardinal(digit) for digit in fraction[:12])
    return words


def _month_name(word: str) -> str:
    return next(month for month in _MONTHS if month.startswith(word.rstrip(".")[:3]))


def _iso_date(found: re.Match[str]) -> str:
    month, day = int(found[2]), int(found[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " ".join(_cardinal(part) for part in found.groups())
    return f"{_MONTHS[month - 1]} {_ordinal(day)}, {numerals.year(int(found[1]))}"


def _us_date(found: re.Match[str]) -> str:
    first, second = int(found[1]), int(found[2])
    month, day = (second, first) if first > 12 else (first, second)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " ".join(_cardinal(part) for part in found.groups())
    return f"{_MONTHS[month - 1]} {_ordinal(day)}, {numerals.year(int(found[3]))}"


def _month_day(found: re.Match[str]) -> str:
    day = int(found[2])
    return f"{_month_name(found[1])} {_ordinal(day) if 1 <= day <= 31 else _cardinal(day)}"


def _phone(found: re.Match[str]) -> str:
    return ", ".join(numerals.digits(group) for group in re.findall(r"\d+", found[0]))


def _decade(found: re.Match[str]) -> str:
    return found[1].replace("'", "") + _cardinal(found[2]).rstrip("y") + "ies"


def _year_or_count(found: re.Match[str]) -> str:
    """A figure that may be a year is a count before a plural."""
    plural = re.match(
        r" (?:people|men|women|children|(?!is |was |has |as )[a-z]+s)\b", found.string[found.end() :][:30]
    )
    return _cardinal(found[1]) if plural else numerals.year(int(found[1]))


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found[1]), int(found[2])
    half = f" {found[4].upper()} M" if found[4] else ""
    if hour > 24 or minute > 59:
        return f"{_cardinal(hour)} to {_cardinal(minute)}{half}"
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
    # "a $5 gift" is a five dollar gift.
    measure = re.search(r"(?i)\b(?:an?|the|this|my|your)\s$", found.string[: found.start()][-8:])
    before_noun = not cents and measure and re.match(r"\s[a-z]", found.string[found.end() :])
    words = []
    if whole or not cents:
        words.append(f"{_cardinal(whole)} {unit if whole == 1 or before_noun else _plural(unit)}")
    if cents:
        words.append(f"{_cardinal(cents)} {cent if cents == 1 else _plural(cent)}")
    return " and ".join(words)


def _plural(unit: str) -> str:
    return {"penny": "pence", "yen": "yen"}.get(unit, unit + "s")


def _unit(found: re.Match[str]) -> str:
    one, many = _ATTACHED.get(found[3]) or _UNITS[found[3].lower()]
    return f"{_decimal(found[1], found[2])} {one if found[1] == '1' and not found[2] else many}"


_RULES = _rules()
