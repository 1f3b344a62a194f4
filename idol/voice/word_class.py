"""The class of an English word with two pronunciations (read, live, close, record), from the words around it.

A tagger would be surer, at 200 MB of libraries and two seconds of loading; the heteronyms a chat uses are decided well
by the neighbour words. Classes are those of the dictionary: VERB, NOUN, ADJ, VBD, VBN, DT, or '' for the default.
"""

from __future__ import annotations

from collections.abc import Sequence


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DETERMINERS = _set(
    "a an the this that these those my your his her its our their some any no every each another which what whose"
    " one two three four five ten many few all both such"
)
_PREPOSITIONS = _set("of in on at for with from by about into without as per under over during between")
_SUBJECTS = _set("i you we they he she it who people everyone everybody someone nobody let's")
_MODALS = _set(
    "to will would can could should must may might do does did don't doesn't didn't won't can't cannot couldn't"
    " wouldn't shouldn't please gonna wanna gotta let i'll you'll we'll they'll he'll she'll it'll i'd you'd we'd"
    " they'd he'd she'd helps help"
)
_BE = _set(
    "is are was were be been being am i'm you're we're they're he's she's it's that's isn't aren't wasn't weren't"
    " feel feels felt seem seems get gets got so too very pretty how"
)
_HAVE = _set("have has had i've you've we've they've haven't hasn't hadn't having")
_ADVERBS = _set("not never always just really also only often usually still ever already even")
_JOINERS = _set("and or but then so now")
_OBJECTS = _set(
    "the a an my your his our their its this that these those it them me us him her you up down out off everything"
    " something anything all"
)
_PAST = _set("yesterday ago last earlier once already before when")
_PLACES = _set("in at with near here there together forever alone by under for like without")
_FUNCTION = (
    _DETERMINERS | _PREPOSITIONS | _SUBJECTS | _MODALS | _BE | _HAVE | _JOINERS | _OBJECTS
    | _set("than because if while to enough")
)  # fmt: skip
_COPULAS = _set("is was 's are were isn't wasn't one means sounds looks")


def word_class(words: Sequence[str], at: int) -> str:
    """Class of ``words[at]``. ``words``: lower-case words of one phrase, '' where there is a pause."""
    word = words[at]
    before, after = _behind(words, at), _at(words, at + 1)
    if word == "that":
        return "DT" if _at(words, at - 1) == "" or after in _COPULAS or after == "" else ""
    if word == "used":
        return "VBD" if after == "to" else ""
    if word == "content":
        return "ADJ" if before in _BE else "NOUN"
    if word in ("read", "reread"):
        return _read(words, at)
    if word in ("live", "lives"):
        return _live(words, at, before, after)
    if word == "wound":
        return "VBD" if after in ("up", "down", "around", "the", "it") else ""
    if before in _MODALS or before in _SUBJECTS:
        return "VERB"
    asked = _at(words, at - 2) in ("let", "make", "makes", "help", "helps")
    if before in _HAVE or (asked and before in ("me", "us", "him", "her", "them", "you", "it")):
        return "VERB"
    if before in _BE:
        return "ADJ"
    if before in _DETERMINERS or before.endswith("'s") or before in _PREPOSITIONS:
        return "ADJ" if after and after not in _FUNCTION else "NOUN"
    if before in ("", *_JOINERS):
        return "VERB" if after in _OBJECTS else ""
    if after in _OBJECTS - {"that", "all", "you"} and before.endswith("s"):
        return "VERB"
    return "NOUN" if after in ("of", "is", "was", "are", "were") else ""


def _behind(words: Sequence[str], at: int) -> str:
    """The word before, adverbs skipped; '' at a pause."""
    at -= 1
    while at > 0 and words[at] in _ADVERBS:
        at -= 1
    return _at(words, at)


def _at(words: Sequence[str], at: int) -> str:
    return words[at] if 0 <= at < len(words) else ""


def _read(words: Sequence[str], at: int) -> str:
    before = _behind(words, at)
    if before in _HAVE or (before in _BE and before not in ("so", "how", "too", "very", "pretty")):
        return "VBN"
    if before in _MODALS:
        return "VERB"
    if before in _SUBJECTS:
        asked = next((words[index - 1] for index in range(at - 1, 0, -1) if words[index] == before), "")
        if asked in _MODALS:
            return "VERB"
        if before in ("he", "she", "it", "who", "someone", "everyone", "nobody"):
            return "VBD"
    return "VBD" if before in _SUBJECTS and _PAST & set(words) else "VERB"


def _live(words: Sequence[str], at: int, before: str, after: str) -> str:
    if after in ("stream", "streams", "streaming", "streamed", "chat", "show", "shows", "concert", "on", "music"):
        return "VERB" if after == "on" and (before in _MODALS or before in _SUBJECTS) else ""
    if before in _MODALS or before in _SUBJECTS or before in _HAVE or before == "where":
        return "VERB"
    if before in _DETERMINERS or before in _BE or before in ("go", "going", "goes", "went", "our", "watch", "watching"):
        return ""
    return "VERB" if after in _PLACES or (before in ("", "and") and after in _OBJECTS) else ""
