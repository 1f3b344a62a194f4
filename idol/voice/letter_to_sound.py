"""English words no dictionary knows: names, brands, slang. A pronunciation that is never empty.

Compounds are split into words the dictionary has (``livestream``); what is left is spelt by context rules in the manner
of Elovitz et al. 1976 (the NRL rules), in Kokoro's symbols, with the stress on the first or the last-but-one syllable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

# (left context, letters, right context) -> sounds; the first rule that fits wins. Contexts are regular expressions.
_RULES: tuple[tuple[str, str, str, str], ...] = (
    ("", "tion", "", "ʃən"), ("", "sion", "", "ʒən"), ("", "cious", "", "ʃəs"), ("", "tious", "", "ʃəs"),
    ("", "ture", "$", "ʧəɹ"), ("", "ough", "", "O"), ("", "augh", "", "ɔ"), ("", "eigh", "", "A"), ("", "igh", "", "I"),
    ("", "tch", "", "ʧ"), ("", "sch", "", "sk"), ("", "dge", "", "ʤ"), ("", "chr", "", "kɹ"), ("", "ch", "", "ʧ"),
    ("", "sh", "", "ʃ"), ("", "ph", "", "f"), ("", "th", "", "θ"), ("^", "wh", "", "w"), ("^", "wr", "", "ɹ"),
    ("^", "kn", "", "n"), ("^", "gn", "", "n"), ("^", "ps", "", "s"), ("^", "x", "", "z"), ("", "ck", "", "k"),
    ("", "qu", "", "kw"), ("", "q", "", "k"), ("", "ng", "$", "ŋ"), ("", "nk", "", "ŋk"), ("", "gh", "", ""),
    ("", "ee", "", "i"), ("", "ea", "", "i"), ("", "ie", "$", "i"), ("", "ie", "", "i"), ("", "ei", "", "A"),
    ("", "ey", "$", "i"), ("", "ai", "", "A"), ("", "ay", "", "A"), ("", "oa", "", "O"), ("", "oo", "", "u"),
    ("", "ou", "", "W"), ("", "ow", "$", "O"), ("", "ow", "", "W"), ("", "oy", "", "Y"), ("", "oi", "", "Y"),
    ("", "au", "", "ɔ"), ("", "aw", "", "ɔ"), ("", "ew", "", "u"), ("", "ue", "$", "u"), ("", "ui", "", "u"),
    ("", "eau", "", "O"), ("", "eu", "", "ju"), ("", "ae", "", "A"), ("", "oe", "", "O"),
    ("", "er", "", "əɹ"), ("", "ir", "", "ɜɹ"), ("", "ur", "", "ɜɹ"), ("", "ar", "", "ɑɹ"), ("", "or", "", "ɔɹ"),
    ("", "a", "[^aeiouy]e$", "A"), ("", "e", "[^aeiouy]e$", "i"), ("", "i", "[^aeiouy]e$", "I"),
    ("", "o", "[^aeiouy]e$", "O"), ("", "u", "[^aeiouy]e$", "u"), ("", "y", "[^aeiouy]e$", "I"),
    (".*[aeiouy].*", "es", "$", "z"), (".*[aeiouy].*[^aeiou]", "e", "$", ""), ("", "e", "$", "i"), ("", "a", "$", "ə"),
    ("", "i", "$", "i"), ("", "o", "$", "O"), ("", "u", "$", "u"), ("^[^aeiou]*", "y", "$", "I"), ("", "y", "$", "i"),
    ("^", "y", "", "j"), ("", "y", "", "ɪ"), ("", "ss", "", "s"), (".*[aeiourlnmbdgv]", "s", "$", "z"),
    ("", "c", "[eiy]", "s"), ("", "cc", "", "k"), ("", "c", "", "k"), ("", "gg", "", "ɡ"), ("", "g", "[ey]", "ʤ"),
    ("", "g", "", "ɡ"), ("", "j", "", "ʤ"), ("", "x", "", "ks"), ("", "tt", "", "t"), ("", "pp", "", "p"),
    ("", "bb", "", "b"), ("", "dd", "", "d"), ("", "ff", "", "f"), ("", "ll", "", "l"), ("", "mm", "", "m"),
    ("", "nn", "", "n"), ("", "rr", "", "ɹ"), ("", "zz", "", "z"), ("", "kk", "", "k"), ("", "vv", "", "v"),
    ("", "a", "", "æ"), ("", "e", "", "ɛ"), ("", "i", "", "ɪ"), ("", "o", "", "ɑ"), ("", "u", "", "ʌ"),
    ("", "r", "", "ɹ"), ("", "h", "$", ""),
)  # fmt: skip
_COMPILED = tuple(
    (re.compile(f"(?:{left})$") if left else None, letters, re.compile(right) if right else None, sounds)
    for left, letters, right, sounds in _RULES
)
_VOWELS = "AIOWYiuæɑɛɪɔəʌɜʊ"
LETTERS = {
    "a": "ˈA", "b": "bˈi", "c": "sˈi", "d": "dˈi", "e": "ˈi", "f": "ˈɛf", "g": "ʤˈi", "h": "ˈAʧ", "i": "ˈI", "j": "ʤˈA",
    "k": "kˈA", "l": "ˈɛl", "m": "ˈɛm", "n": "ˈɛn", "o": "ˈO", "p": "pˈi", "q": "kjˈu", "r": "ˈɑɹ", "s": "ˈɛs",
    "t": "tˈi", "u": "jˈu", "v": "vˈi", "w": "dˈʌbᵊlju", "x": "ˈɛks", "y": "wˈI", "z": "zˈi",
}  # fmt: skip

_PLAIN = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "th", "þ": "th", "ı": "i", "ŋ": "ng", "ſ": "s",
    "Æ": "Ae", "Œ": "Oe", "Ø": "O", "Ł": "L", "Đ": "D", "Ð": "Th", "Þ": "Th", "ẞ": "SS",
}  # fmt: skip
CHAT_WORDS = {
    "vtuber": "vˈitˌubəɹ", "vtubers": "vˈitˌubəɹz", "hana": "hˈɑnə", "senpai": "sˈɛnpˌI", "sensei": "sˈɛnsˌA",
    "waifu": "wˈIfu", "otaku": "Otˈɑku", "kawaii": "kəwˈI", "arigato": "ˌɑɹiɡˈɑtO", "sakura": "sˈɑkəɹə",
    "konnichiwa": "kOnˌiʧiwˈɑ", "nya": "njˈɑ", "nyan": "njˈɑn", "uwu": "ˈuwˌu", "owo": "ˈOwˌO", "lol": "lˈOl",
    "haha": "hˈɑhˌɑ", "hahaha": "hˈɑhɑhˌɑ", "hehe": "hˈɛhˌɛ", "hihi": "hˈihˌi", "shh": "ʃˈʊʃ", "psst": "psˈɪst",
    "hmm": "hˈəm", "mm": "ˈəm", "mhm": "mhˈəm", "uh": "ˈʌ", "uhm": "ˈʌm", "um": "ˈʌm", "grr": "ɡˈɜɹ", "brr": "bˈɜɹ",
    "pfft": "fˈʊt", "tsk": "tˈɪsk", "ugh": "ˈʌɡ", "yeah": "jˈɛə", "poggers": "pˈɑɡəɹz", "pog": "pˈɑɡ", "sus": "sˈʌs",
    "emote": "ˈimOt", "emotes": "ˈimOts", "livestream": "lˈIvstɹˌim", "livestreams": "lˈIvstɹˌimz",
    "livestreaming": "lˈIvstɹˌimɪŋ", "subathon": "sˈʌbəθˌɑn",
}  # fmt: skip
"""Words of the chat that dictionaries lack or say otherwise."""


def spell(word: str) -> str:
    """The letters' names run together, the last one stressed, as acronyms are said. '' without letters."""
    names = [LETTERS[letter] for letter in word.lower() if letter in LETTERS]
    return "".join(name.replace("ˈ", "ˌ") for name in names[:-1]) + (names[-1] if names else "")


def sounds_of(word: str, known: Callable[[str], str | None]) -> str:
    """Phonemes of an unknown ``word``; ``known`` gives a dictionary's phonemes or None. '' only without letters."""
    letters = re.sub("[^a-z]", "", without_accents(word.lower()))
    if not letters:
        return ""
    compact = re.sub("[^A-Za-z]", "", word)
    if len(letters) == 1 or (compact.isupper() and len(letters) <= 5) or not re.search("[aeiouy]", letters):
        return spell(letters)
    for split in sorted(range(3, len(letters) - 2), key=lambda at: abs(at - len(letters) / 2)):
        left, right = known(letters[:split]), known(letters[split:])
        if left and right:
            return left + right.replace("ˈ", "ˌ")
    return _stressed(_by_rule(letters))


def without_accents(word: str) -> str:
    """``word`` in plain Latin letters: é as e, ß as ss, ł as l."""
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")
    return "".join(_PLAIN.get(letter, letter) for letter in plain)


def _by_rule(letters: str) -> str:
    out, at = "", 0
    while at < len(letters):
        for left, spelling, right, sounds in _COMPILED:
            if not letters.startswith(spelling, at):
                continue
            end = at + len(spelling)
            if left is not None and not left.search(letters[:at]):
                continue
            if right is not None and not right.match(letters[end:]):
                continue
            out, at = out + sounds, end
            break
        else:
            out, at = out + letters[at], at + 1
    return out


def _stressed(sounds: str) -> str:
    places = [index for index, sound in enumerate(sounds) if sound in _VOWELS and sound != "ə"]
    if not places:
        return sounds
    place = places[-2] if len(places) >= 3 else places[0]
    return sounds[:place] + "ˈ" + sounds[place:]
