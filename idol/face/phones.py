"""Kokoro's phoneme spans become sound segments that each name a viseme. Symbols are read by language.

The same symbol means another mouth in another language (u, f, w, r, y), modifiers may stand as spans of their own or be
merged into the sound before, diphthongs are one symbol with two mouths, and the moraic nasal and the geminate of
Japanese take the place of the sound that follows. Symbol sets: misaki's English, Chinese and pyopenjtalk routes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from idol.face.articulation import VISEMES
from idol.seams import SAMPLE_RATE, Language, PhonemeSpan

_COMMON: dict[str, str] = {
    **dict.fromkeys("pbm", "PP"),
    **dict.fromkeys("fvʋ", "FF"),
    **dict.fromkeys("ɸβ", "PHI"),
    "w": "W",
    **dict.fromkeys("θð", "TH"),
    **dict.fromkeys("szʦʣ", "SS"),
    **dict.fromkeys("ʃʒʧʤS", "CH"),
    **dict.fromkeys("ɕʨʥ", "CH_FLAT"),
    **dict.fromkeys("ʂꭧʐ", "CH_BACK"),
    **dict.fromkeys("tdnlTɾrɖɟɳɽʈʎ", "DD"),
    **dict.fromkeys("ɹɻɚʁ", "RR"),
    **dict.fromkeys("jçɲʝ", "J"),
    **dict.fromkeys("kɡgŋcqxɣɰχ", "KK"),
    "h": "H",
    "ʔ": "HOLD",
    "ɴ": "NN_MORA",
    **dict.fromkeys("yɥø", "Y"),
    **dict.fromkeys("aɑ", "aa"),
    "ɒ": "ao",
    "œ": "er",
    "æ": "ae",
    **dict.fromkeys("ʌɐ", "ah"),
    **dict.fromkeys("əᵊᵻ", "schwa"),
    **dict.fromkeys("ɛe", "eh"),
    "ɜ": "er",
    "ɤ": "uh_flat",
    "i": "ih",
    "ɪ": "ih_lax",
    "ɨ": "ih_lax",
    "o": "oh",
    "ɔ": "aw",
    "u": "oo",
    "ʊ": "oo_lax",
    "ɯ": "u_ja",
}
_PER_LANGUAGE: dict[Language, dict[str, str]] = {
    "en": {},
    "zh": {"ɨ": "buzz", "ɻ": "CH_BACK", "ɹ": "CH_BACK", "ɚ": "er"},
    "ja": {"f": "PHI", "w": "W_JA", "β": "W_JA", "u": "u_ja", "ɯ": "u_ja", "ɨ": "u_ja", "y": "J", "o": "oh"},
}
_DIPHTHONGS: dict[str, tuple[str, str]] = {
    "A": ("eh", "ih"),
    "I": ("aa", "ih_lax"),
    "W": ("aa", "oo_lax"),
    "O": ("oh", "oo_lax"),
    "Q": ("schwa", "oo_lax"),
    "Y": ("aw", "ih_lax"),
}
_FIRST_TARGET_SHARE = 0.57
"""A diphthong leaves its first mouth at this share of its span."""

_STRESS = {"ˈ": 2, "ˌ": 1}
_MODIFIERS = frozenset("ː→↗↘↓ʰʲᵝ\u0303")
_BREAKS = frozenset('.,;:!?—…"“”()«»。、，！？；： ')
_VOICELESS = frozenset("ptksʦʨʔhçfɸɕʃʧ")
_MAX_VOWEL_RUN = 0.6


@dataclass(frozen=True, slots=True)
class Segment:
    """One mouth shape in time. Seconds from the clause's first sample; ``stress`` 0 none, 1 secondary, 2 primary."""

    symbol: str
    viseme: str
    start: float
    end: float
    stress: int = 0

    @property
    def kind(self) -> str:
        return VISEMES[self.viseme].kind

    @property
    def seconds(self) -> float:
        return self.end - self.start


def viseme_of(symbol: str, language: Language) -> str | None:
    """The viseme of one symbol, None for breaks, modifiers and what no mouth shows. Diphthongs give their first."""
    if symbol in _DIPHTHONGS:
        return _DIPHTHONGS[symbol][0]
    return _PER_LANGUAGE[language].get(symbol) or _COMMON.get(symbol)


def segments_of(spans: Sequence[PhonemeSpan], language: Language, rate: int = SAMPLE_RATE) -> list[Segment]:
    """Segments in order of time. Stress and tone marks, length and aspiration widen the sound they belong to.

    Spans with unknown symbols keep their time by widening what stands before them. Zero-length spans are ignored.
    """
    found: list[Segment] = []
    stress, stress_from = 0, None
    for span in spans:
        start, end = span.start / rate, span.end / rate
        for symbol, begin, finish in _split(span.phoneme, start, end, language):
            if symbol in _STRESS:
                stress, stress_from = _STRESS[symbol], begin if stress_from is None else stress_from
                continue
            viseme = viseme_of(symbol, language)
            if viseme is None:
                if symbol not in _BREAKS and found and finish > found[-1].end:
                    found[-1] = replace(found[-1], end=finish)
                continue
            if stress_from is not None:
                begin = min(begin, stress_from)
                stress_from = None
            if finish <= begin:
                continue
            mine = stress if VISEMES[viseme].kind == "vowel" else 0
            if VISEMES[viseme].kind == "vowel":
                stress = 0
            found.extend(_targets(symbol, viseme, begin, finish, mine))
    return _in_context(found, language)


def _split(text: str, start: float, end: float, language: Language) -> list[tuple[str, float, float]]:
    """A span's symbols with their shares of its time; merged modifiers ("kʲ", "ˈA", "aː") share with their sound."""
    sounds = [symbol for symbol in text if viseme_of(symbol, language) is not None]
    if len(text) <= 1 or not sounds:
        return [(text, start, end)]
    marks = [(symbol, start, start) for symbol in text if symbol in _STRESS]
    share = (end - start) / len(sounds)
    return marks + [(symbol, start + i * share, start + (i + 1) * share) for i, symbol in enumerate(sounds)]


def _targets(symbol: str, viseme: str, start: float, end: float, stress: int) -> list[Segment]:
    if symbol not in _DIPHTHONGS:
        return [Segment(symbol, viseme, start, end, stress)]
    turn = start + _FIRST_TARGET_SHARE * (end - start)
    first, second = _DIPHTHONGS[symbol]
    return [Segment(symbol, first, start, turn, stress), Segment(symbol, second, turn, end, stress)]


def _in_context(found: list[Segment], language: Language) -> list[Segment]:
    """What a sound becomes beside its neighbours: geminates, moraic nasals, doubled visemes, devoiced vowels."""
    result: list[Segment] = []
    for index, segment in enumerate(found):
        following = found[index + 1] if index + 1 < len(found) else None
        previous = found[index - 1] if index else None
        if (
            following is not None
            and segment.viseme in ("HOLD", "NN_MORA")
            and following.start - segment.end < 0.05
            and (segment.viseme == "HOLD" or following.kind == "closure")
            and following.kind in ("closure", "contact", "sibilant")
        ):
            segment = replace(segment, viseme=following.viseme)
        if language == "ja" and segment.symbol in "uɯɨi" and previous is not None:
            quiet_before = previous.symbol in _VOICELESS
            quiet_after = following is None or following.symbol in _VOICELESS
            gap_after = following is not None and following.start - segment.end > 0.08
            final_u = segment.symbol != "i" and previous.symbol == "s" and (following is None or gap_after)
            if quiet_before and ((quiet_after and following is not None and not gap_after) or final_u):
                segment = replace(segment, viseme="i_ja_quiet" if segment.symbol == "i" else "u_ja_quiet")
        before_round = following is not None and following.viseme in ("oo", "Y")
        if language in ("zh", "ja") and segment.viseme == "CH_FLAT" and before_round:
            segment = replace(segment, viseme="CH")
        last = result[-1] if result else None
        if (
            last is not None
            and last.viseme == segment.viseme
            and segment.kind != "vowel"
            and segment.start - last.end < 0.03
        ):
            result[-1] = replace(last, end=segment.end)
        else:
            result.append(segment)
    return result
