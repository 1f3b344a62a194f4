"""English text to Kokoro's phonemes: misaki's pronunciation dictionaries, read by the words around.

The dictionaries (Apache-2.0, 180 000 words) are misaki's data files; reading them here instead of running misaki's own
G2P needs neither spaCy nor a tagger model. What they do not know is inflected, taken apart, spelt or, at last,
pronounced by rule. British voices read the British dictionary when it is asked for.
"""

from __future__ import annotations

import json
import re
from importlib import resources

from idol.voice.letter_to_sound import CHAT_WORDS, LETTERS, sounds_of, spell, without_accents
from idol.voice.word_class import word_class

Entry = str | dict[str, str | None]

VOWELS = frozenset("AIOQWYaiuæɑɒɐɔəɚɛɜɪʊʌᵊᵻ")
_PAUSES = ",.;:!?—…"
_TOKENS = re.compile(
    r"(?P<word>[^\W\d_]+(?:\u2060[^\W\d_])+|[^\W\d_]+(?:['’][^\W\d_]+)*(?:-[^\W\d_]+(?:['’][^\W\d_]+)*)*['’]?)|(?P<mark>[,.;:!?—…\"“”()])|(?P<space>\s+)"
)
_JOINED_LETTERS = "\u2060"
_LETTER_ROW = re.compile(r"\b[A-Z](?: [A-Z])+\b(?!['’])")
"""Single capitals in a row are said as one word: "seven A M"."""
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_WORDS_IN_CAPITALS = frozenset(
    ("so", "hi", "do", "is", "in", "as", "or", "am", "oh", "no", "go", "we", "me", "my", "he")
)
_WEAK_VOWEL = {
    "to": ("tu", "tə", "tʊ"),
    "the": ("ði", "ðə", "ði"),
    "am": ("ˈæm", "ɐm", "ɐm"),
    "in": ("ˈɪn", "ɪn", "ɪn"),
}
"""Function words by what follows: a pause, a consonant, a vowel."""
_SUFFIXES = (
    ("ness", "nəs"), ("less", "ləs"), ("ful", "fəl"), ("ment", "mənt"), ("ish", "ɪʃ"), ("able", "əbᵊl"), ("ers", "əɹz"),
    ("ier", "iəɹ"), ("er", "əɹ"), ("est", "əst"), ("ly", "li"), ("y", "i"),
)  # fmt: skip
_FLAP_AFTER = frozenset("AIOWYiuæɑəɛɪɹʊʌ")


class English:
    """``say`` gives phonemes for plain words and punctuation; only symbols of Kokoro's, no word dropped."""

    def __init__(self) -> None:
        self._gold = _dictionary("us_gold.json")
        self._silver = _dictionary("us_silver.json")

    def say(self, text: str) -> str:
        """Phonemes of ``text``; words without a letter of the Latin alphabet are skipped."""
        tokens = _tokens(text)
        words = [token.lower() if kind == "word" else "" for token, kind in tokens if kind != "space"]
        shouted = text.isupper() and sum(kind == "word" for _, kind in tokens) > 1
        sounds: list[str] = []
        vowel: bool | None = None
        at = len(words)
        for index in range(len(tokens) - 1, -1, -1):
            token, kind = tokens[index]
            if kind == "space":
                sounds.append(" ")
                continue
            at -= 1
            if kind == "mark":
                sounds.append(token)
                vowel = None if token in _PAUSES else vowel
                continue
            said = self._word(token, words, at, vowel, shouted)
            sounds.append(said)
            first = next((symbol for symbol in said if symbol not in "ˈˌ"), "")
            vowel = first in VOWELS if first else vowel
        joined = "".join(reversed(sounds)).replace("ɾ", "T").replace("ʔ", "t")
        return re.sub(r"\s+", " ", joined).strip()

    def known(self, word: str) -> str | None:
        """The dictionary's pronunciation of ``word``, its most usual one; None when it is not there."""
        entry = self._entry(word)
        return entry.get("DEFAULT") if isinstance(entry, dict) else entry

    def _word(self, token: str, words: list[str], at: int, vowel: bool | None, shouted: bool) -> str:
        token = token.replace("’", "'")
        plain = token.lower()
        if _JOINED_LETTERS in token:
            return spell(token)
        if plain in CHAT_WORDS:
            return CHAT_WORDS[plain]
        if len(token) == 1 and token != "a":
            if token in ("A", "I"):
                following = words[at + 1] if at + 1 < len(words) else ""
                if token == "I":
                    return "ˌI" if len(following) != 1 or following == "i" else "ˈI"
                return "ɐ" if len(following) > 1 and not (at and words[at - 1]) else "ˈA"
            return LETTERS.get(plain) or sounds_of(token, self.known)
        if plain in ("a", "an"):
            return "ɐ" if plain == "a" else "ɐn"
        if token.isupper() and not shouted:
            capitals = self._capitals(token)
            if capitals is not None:
                return capitals
        if plain in _WEAK_VOWEL:
            return _WEAK_VOWEL[plain][0 if vowel is None else 2 if vowel else 1]
        entry = self._entry(token)
        if entry is None:
            return self._unknown(token)
        said = _choose(entry, word_class(words, at) if isinstance(entry, dict) else "", vowel is None)
        if token[0].isupper() and token[1:].islower() and not set("ˈˌ") & set(said):
            said = _marked(said, "ˌ")
        if token.isupper() and len(token) > 1 and not shouted:
            said = said.replace("ˌ", "ˈ", 1) if "ˈ" not in said else said
        return said

    def _capitals(self, token: str) -> str | None:
        """A word in capitals: an acronym with its own entry, letters, or None for a word that is only shouted."""
        entry = self._gold.get(token)
        plain = token.lower()
        if isinstance(entry, str):
            return entry
        if isinstance(entry, dict) and "NOUN" in entry and entry["NOUN"] is None:
            return None if plain in _WORDS_IN_CAPITALS else spell(token)
        if len(token) <= 5 and self._entry(plain) is None:
            return spell(token) if len(token) <= 3 or not re.search("[AEIOUY]", token) else None
        return None

    def _entry(self, word: str) -> Entry | None:
        for form in (word, word.lower(), word.capitalize()):
            found = self._gold.get(form) or self._silver.get(form)
            if found and len(form) > 1:
                return found
        return None

    def _unknown(self, token: str) -> str:
        """Endings taken off, compounds and camel case taken apart, else by rule. '' only without Latin letters."""
        plain = without_accents(token)
        if plain != token and self.known(plain):
            return self.known(plain) or ""
        if plain.endswith("in'") and (inflected := self._inflected(plain.lower())):
            return inflected
        word = plain.strip("'")
        if "-" in word:
            return _compound([self._part(part) for part in word.split("-") if part])
        if re.fullmatch("[A-Z]{2,5}s", word):
            return (self._capitals(word[:-1]) or spell(word[:-1])) + "z"
        stem = word.removesuffix("'s")
        if stem != word and stem:
            capitals = self._capitals(stem) if stem.isupper() else None
            return _plural(capitals or self.known(stem) or self._unknown(stem) or "ɪ")
        inflected = self._inflected(word.lower())
        if inflected:
            return inflected
        parts = _CAMEL.findall(word)
        if len(parts) > 1 and not word.isupper():
            return _compound([self._part(part) for part in parts])
        return sounds_of(word, self.known)

    def _part(self, part: str) -> str:
        if part.isupper() and len(part) <= 3:
            entry = self._gold.get(part)
            return entry if isinstance(entry, str) else spell(part)
        return self.known(part) or self._inflected(part.lower()) or sounds_of(part, self.known)

    def _inflected(self, word: str) -> str:
        """A known word with an ending; '' when there is none."""
        for ending, join in (("'s", _plural), ("s'", _plural), ("s", _plural), ("ed", _past), ("d", _past)):
            stem = word.removesuffix(ending)
            if stem == word or len(stem) < 2:
                continue
            for base in _bases(stem, ending):
                if (sounds := self.known(base)) is not None:
                    return join(sounds)
        for ending in ("ing", "in'"):
            stem = word.removesuffix(ending)
            if stem != word and len(stem) > 1:
                for base in (stem, stem + "e", stem[:-1] if stem[-1:] == stem[-2:-1] else ""):
                    if base and (sounds := self.known(base)) is not None:
                        return _flapped(sounds) + "ɪŋ"
        for ending, sound in _SUFFIXES:
            stem = word.removesuffix(ending)
            if stem != word and len(stem) > 2:
                for base in _stems(stem):
                    if len(base) > 2 and (sounds := self.known(base)) is not None:
                        return sounds + sound
        return ""


def _bases(stem: str, ending: str) -> tuple[str, ...]:
    if ending == "ed":
        doubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
        return (stem, stem + "e", doubled, stem[:-1] + "y" if stem.endswith("i") else stem)
    if ending == "s" and stem.endswith("ie"):
        return (stem[:-2] + "y", stem)
    if ending == "s" and stem.endswith("e"):
        return (stem, stem[:-1])
    return (stem,)


def _stems(stem: str) -> tuple[str, ...]:
    """What ``stem`` may have been before an ending: happi-ness, mak-er, big-g-est."""
    return (stem, stem + "e", stem[:-1] + "y" if stem.endswith("i") else "", stem[:-1] if stem[-1] == stem[-2] else "")


def _flapped(sounds: str) -> str:
    """A final t between vowels becomes a flap when a vowel follows."""
    return sounds[:-1] + "ɾ" if sounds[-1] == "t" and sounds[-2:-1] in _FLAP_AFTER else sounds


def _plural(stem: str) -> str:
    last = stem[-1]
    return stem + ("s" if last in "ptkfθ" else "ᵻz" if last in "szʃʒʧʤ" else "z")


def _past(stem: str) -> str:
    last = stem[-1]
    if last in "pkfθʃsʧ":
        return stem + "t"
    if last == "t":
        return _flapped(stem) + "ᵻd"
    return stem + ("ᵻd" if last == "d" else "d")


def _marked(sounds: str, mark: str) -> str:
    """``sounds`` with a stress mark before the first vowel."""
    place = next((index for index, symbol in enumerate(sounds) if symbol in VOWELS), None)
    return sounds if place is None else sounds[:place] + mark + sounds[place:]


def _compound(parts: list[str]) -> str:
    """Parts of a compound in one: the lighter half of those with a primary stress keep a secondary one."""
    stressed = sorted((len(part), index) for index, part in enumerate(parts) if "ˈ" in part)
    for _, index in stressed[: len(stressed) // 2]:
        parts[index] = parts[index].replace("ˈ", "ˌ")
    return "".join(parts)


def _choose(entry: Entry, kind: str, final: bool) -> str:
    if isinstance(entry, str):
        return entry
    if final and entry.get("None"):
        return entry["None"] or ""
    if kind in ("VBD", "VBN") and kind not in entry:
        kind = "VERB"
    return entry.get(kind) or entry["DEFAULT"] or ""


def _tokens(text: str) -> list[tuple[str, str]]:
    """(text, "word" | "mark" | "space"), with letters in a row (A M) made one word and quotes turned the right way."""
    text = _LETTER_ROW.sub(lambda found: found[0].replace(" ", _JOINED_LETTERS), text)
    found: list[tuple[str, str]] = []
    opened = False
    for match in _TOKENS.finditer(text):
        kind, token = match.lastgroup or "", match[0]
        if token == '"':
            opened = not opened
            token = "“" if opened else "”"
        found.append((token, kind))
    return found


def _dictionary(name: str) -> dict[str, Entry]:
    # misaki's package holds the data; importing its English module would pull in spaCy and a number library.
    path = resources.files("misaki.data").joinpath(name)
    entries: dict[str, Entry] = json.loads(path.read_text(encoding="utf-8"))
    return entries
