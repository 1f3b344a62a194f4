"""Text to Kokoro's phoneme symbols, by language, with each script in a clause read in its own language.

English: misaki's dictionaries, neighbour words for heteronyms, letter-to-sound rules for what they do not know.
Chinese: jieba, pypinyin and misaki's pinyin-to-IPA. Japanese: Open JTalk's analysis in misaki's symbols. No espeak, and
nothing is fetched at run time.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Callable

from engines.store import built_dir
from idol.seams import LANGUAGES, Language
from idol.voice.numbers_en import words_en
from idol.voice.numbers_ja import words_ja
from idol.voice.numbers_zh import words_zh
from idol.voice.speakable import has_words, speakable, tidy

log = logging.getLogger(__name__)

_HAN = "\u3400-\u9fff\uf900-\ufaff々〆〇"
_KANA = "\u3040-\u309f\u30a0-\u30ff"
_LATIN = "A-Za-z\u00c0-\u024f"
_LATIN_SPAN = f"[{_LATIN}][{_LATIN}'’ .-]*[{_LATIN}'’]|[{_LATIN}]"
_SPANS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(f"([{_HAN}{_KANA}][{_HAN}{_KANA}、。・「」]*)"),
    "zh": re.compile(f"({_LATIN_SPAN}|[{_KANA}]+)"),
    "ja": re.compile(f"({_LATIN_SPAN})"),
}
_MARKS = "'’,.!?;:…—-\"“”()，。！？；：、「」『』《》【】（）·・ "
_UNREADABLE = re.compile(f"[^{_LATIN}{_HAN}{_KANA}{re.escape(_MARKS)}]+")
_PUNCTUATION = str.maketrans(
    {"，": ",", "、": ",", "。": ".", "．": ".", "！": "!", "？": "?", "：": ":", "；": ";", "「": "“", "」": "”",
     "『": "“", "』": "”", "《": "“", "》": "”", "【": "“", "】": "”", "（": "(", "）": ")", "·": " ", "・": " ",
     "–": "—", "‘": "'", "’": "'", "«": "“", "»": "”", "¿": "", "¡": ""}
)  # fmt: skip
_JA_PUNCTUATION = str.maketrans({",": "、", ".": "。", "!": "！", "?": "？", ";": "、", ":": "、"})
# misaki's single-letter palatalised consonants, and plain g, in the vocabulary's symbols.
_JA_SYMBOLS = {
    "g": "ɡ", "ᶄ": "kʲ", "ᶃ": "ɡʲ", "ᶀ": "bʲ", "ᶁ": "dʲ", "ᶂ": "fʲ", "ᶆ": "mʲ", "ᶇ": "nʲ", "ᶈ": "pʲ", "ᶉ": "ɾʲ",
    "ƫ": "tʲ", "ʶ": "ɡʲ", "K": "kw", "G": "ɡw", "D": "dʲ", "T": "tʲ", "ᵈ": "d",
}  # fmt: skip
_WORDS: dict[Language, Callable[[str], str]] = {"en": words_en, "zh": words_zh, "ja": words_ja}


_readers: dict[Language, Callable[[str], str]] = {}
"""The languages' dictionaries, of which all voices have one copy: reading one holds up every thread for a moment."""
_locks = {language: threading.Lock() for language in LANGUAGES}


class Phonemizer:
    """Phonemes of clauses. ``symbols`` are the vocabulary's; anything else is a defect and is logged, never sent on."""

    def __init__(self, symbols: frozenset[str]) -> None:
        self._symbols = symbols
        self.unknown: set[str] = set()
        """Symbols that no vocabulary entry matched, for tests."""

    def load(self, language: Language) -> None:
        """Load a language's dictionaries now (0.1 to 1.5 s each) instead of at its first clause. From any thread."""
        with _locks[language]:
            if language not in _readers:
                _readers[language] = {"en": _load_english, "zh": _load_chinese, "ja": _load_japanese}[language]()

    def spoken(self, text: str, language: Language) -> str:
        """The words to be said: markdown, emoji, numbers and so on resolved, letters of other scripts left out.

        '' when nothing can be said."""
        words = _WORDS[language](speakable(text, language))
        words = tidy(_UNREADABLE.sub(" ", words))
        return words if has_words(words) else ""

    def phonemes(self, spoken: str, language: Language) -> str:
        """Symbols of the vocabulary for text that ``spoken`` made."""
        out = []
        for piece, route in _routes(spoken.translate(_PUNCTUATION), language):
            if not re.search(r"\w", piece):
                out.append(piece.strip())
                continue
            self.load(route)
            with _locks[route]:
                out.append(_readers[route](piece))
        joined = re.sub(r"([,.!?;:…”)])(?=[^\s,.!?;:…”)])", r"\1 ", tidy(" ".join(out).replace("-", " ")))
        joined = re.sub(r"\s*([“(])\s*", r" \1", joined).strip()
        kept = []
        for symbol in joined:
            if symbol in self._symbols:
                kept.append(symbol)
            elif symbol not in self.unknown:
                self.unknown.add(symbol)
                log.warning("no such phoneme in the voice: %r (of %r)", symbol, spoken[:80])
        return "".join(kept).strip()


def _routes(text: str, language: Language) -> list[tuple[str, Language]]:
    """Stretches of ``text`` with the language that reads each.

    Latin words are English. In an English clause a stretch of han is Chinese, or Japanese when it holds kana; in a
    Chinese one kana alone are Japanese; in a Japanese one all but Latin is Japanese.
    """
    pieces: list[tuple[str, Language]] = []
    for piece in _SPANS[language].split(text):
        if not piece.strip():
            continue
        route: Language = language
        if re.match(f"[{_LATIN}]", piece):
            route = "en"
        elif re.search(f"[{_KANA}]", piece):
            route = "ja"
        elif re.search(f"[{_HAN}]", piece):
            route = "zh" if language == "en" else language
        elif pieces and not re.search(r"\w", piece):
            pieces[-1] = (pieces[-1][0] + piece, pieces[-1][1])
            continue
        pieces.append((piece, route))
    return pieces


def _load_english() -> Callable[[str], str]:
    from idol.voice.english import English

    return English().say


def _load_chinese() -> Callable[[str], str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba imports pkg_resources and has stale escapes
        import jieba
        from misaki import zh

    jieba.setLogLevel(logging.ERROR)
    # Its cache is unmarshalled, so it must not lie in a folder that others can write to, as it does by default.
    place = built_dir() / "jieba"
    place.mkdir(parents=True, exist_ok=True)
    jieba.dt.tmp_dir = str(place)
    jieba.initialize()
    convert = zh.ZHG2P()

    def say(text: str) -> str:
        text = re.sub("(.)々", r"\1\1", text)
        return re.sub(f"[{_HAN}]", "", str(convert(text)[0]))  # rare characters without a reading stay as they are

    return say


def _load_japanese() -> Callable[[str], str]:
    from misaki import ja

    convert = ja.JAG2P("pyopenjtalk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the analyser opens its second dictionary by a name that is deprecated
        convert("風")  # a homograph, so that it is opened now

    def say(text: str) -> str:
        out = []
        # The analyser refuses long texts: they go in sentence by sentence, or in stretches where there is no mark.
        for sentence in re.findall(r"[^。！？]{1,200}[。！？]*|[。！？]+", text.translate(_JA_PUNCTUATION)):
            # misaki appends a pitch mark per sound, for which the vocabulary has no place: the first half is sounds.
            both, _ = convert(sentence)
            out.append(both[: len(both) // 2].replace("❓", ""))
        return "".join(_JA_SYMBOLS.get(symbol, symbol) for symbol in " ".join(out))

    return say
