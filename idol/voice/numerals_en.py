"""English numerals as words: cardinals, ordinals, years."""

from __future__ import annotations

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ("", " thousand", " million", " billion", " trillion", " quadrillion")
_IRREGULAR = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
LARGEST = 10**18 - 1
"""Larger numbers are said digit by digit."""


def cardinal(number: int) -> str:
    """``number`` (0 to ``LARGEST``) in words without hyphens: 1205 is "one thousand two hundred and five"."""
    if number < 20:
        return _ONES[number]
    groups: list[str] = []
    rest, scale = number, 0
    while rest:
        rest, group = divmod(rest, 1000)
        if group:
            groups.append(_below_thousand(group) + _SCALES[scale])
        scale += 1
    last = number % 1000
    if number > 1000 and 0 < last < 100:
        groups[0] = "and " + groups[0]
    return " ".join(reversed(groups))


def ordinal(number: int) -> str:
    """21 is "twenty first"."""
    head, _, last = cardinal(number).rpartition(" ")
    regular = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return f"{head} {_IRREGULAR.get(last, regular)}".strip()


def year(number: int) -> str:
    """1000 to 2999 as years are said: "nineteen ninety nine", "two thousand and five", "twenty twenty six"."""
    century, rest = divmod(number, 100)
    if 2000 <= number <= 2009 or number % 1000 == 0:
        return cardinal(number)
    if rest == 0:
        return f"{cardinal(century)} hundred"
    return f"{cardinal(century)} {'oh ' if rest < 10 else ''}{cardinal(rest)}"


def digits(text: str) -> str:
    """The digits of ``text`` one by one."""
    return " ".join(_ONES[int(digit)] for digit in text if digit.isdecimal())


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_ONES[hundreds]} hundred"] if hundreds else []
    if rest:
        tens, ones = divmod(rest, 10)
        small = _ONES[rest] if rest < 20 else _TENS[tens - 1] + (f" {_ONES[ones]}" if ones else "")
        words.append(f"and {small}" if hundreds else small)
    return " ".join(words)
