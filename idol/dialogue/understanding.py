"""What a line means to her: its language, its emotion, and whether it may be answered at all."""

from __future__ import annotations

import re
import unicodedata

from idol.dialogue.emotion_classifier import EmotionClassifier
from idol.dialogue.language_id import identify
from idol.dialogue.moderation import Blocklist
from idol.seams import Emotion, Language, Turn, Understanding

MAX_CHARACTERS = 1000
"""Longer lines are cut here for the model; the chat still shows them whole."""

_RULES: tuple[tuple[Emotion, re.Pattern[str]], ...] = (
    ("angry", re.compile(r"[😠😡🤬👿💢]|\b(?:furious|pissed off|how dare|i hate (?:it when|you|this))\b|\b(?:i'm|i am|makes? me) (?:so |really |very )?(?:angry|mad)\b|气死|可恶|太过分|我(?:真的?|好)?生气了|不许|最讨厌|ムカつく|腹が立|許せない|怒っ(?:た|て)る?よ|こら[！!]", re.IGNORECASE)),
    ("sad", re.compile(r"[😢😭😞😔💔🥺]|T_T|QAQ|[;:]'?\(|\bR\.?I\.?P\b|^oh no\b(?!\?)|\bpoor (?:thing|you|dog|cat|baby)\b|难过|伤心|想哭|心疼|好?难受|可怜|悲し[いく]|寂し|さみし|つら(?:い|か)|かわいそう", re.IGNORECASE)),
    ("surprised", re.compile(r"[😮😲😱🤯]|\b(?:wow|whoa|no way|omg)\b|[?？][!！]|[!！][?？]|天啊|竟然|びっくり|まさか", re.IGNORECASE)),
    ("shy", re.compile(r"[😳🙈☺]|//+|\b(?:blush|embarrass)|害羞|不好意思|照れ|恥ずかし", re.IGNORECASE)),
    ("happy", re.compile(r"[😀-😆😊😄🎉🥳😍💖❤]|\b(?:haha|yay|hooray|lol)\b|哈哈|好耶|开心|嬉しい|やった|笑$", re.IGNORECASE)),
    ("relaxed", re.compile(r"[😌💤😴]|\b(?:good night|sweet dreams)\b|晚安|おやすみ", re.IGNORECASE)),
    ("thinking", re.compile(r"[🤔]|^(?:hmm|let me think|let me see)|让我想想|うーん|えーと", re.IGNORECASE)),
)  # fmt: skip
_EXCLAIMS = re.compile(r"[!！♪♡~～]\s*$")
_SURE = 0.34
_SURE_OF_ANGER = 0.6
"""Cheerful exclamations look angry to a classifier of letters, and a scowl at good news is the worse mistake."""


class Understander:
    """Reads lines. Keeps the language of the last one for lines that have none (emoji, digits)."""

    def __init__(self, blocklist: Blocklist, language: Language = "en") -> None:
        self._blocklist = blocklist
        self._classifier = EmotionClassifier()
        self._language: Language = language

    def read(self, turn: Turn) -> tuple[Understanding, str]:
        """What was understood, and the line cleaned for the model."""
        text = clean(turn.text)
        language = turn.language or identify(text, self._language)
        self._language = language
        if not text:
            return Understanding(language, "neutral", False, "the line is empty"), text
        blocked = self._blocklist.find(text)
        if blocked:
            return Understanding(language, "neutral", False, "the line holds a blocked word"), text
        return Understanding(language, self.emotion(text), True), text

    def reply_emotion(self, text: str) -> Emotion:
        """As ``emotion``, for her own words: an exclamation with no other mark is meant cheerfully."""
        emotion = self.emotion(text)
        return "happy" if emotion == "neutral" and _EXCLAIMS.search(text) else emotion

    def emotion(self, text: str) -> Emotion:
        """Rules first, since emoji and set phrases are sure; then the classifier where it is confident."""
        for emotion, pattern in _RULES:
            if pattern.search(text):
                return emotion
        chances = self._classifier.chances(text)
        if chances["angry"] < _SURE_OF_ANGER:
            del chances["angry"]
        best = max(chances, key=lambda emotion: chances[emotion])
        return best if chances[best] >= _SURE else "neutral"


def clean(text: str) -> str:
    """One line without control characters, at most ``MAX_CHARACTERS`` long."""
    text = text[: MAX_CHARACTERS * 4]
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    text = "".join(c for c in text if unicodedata.category(c) != "Cs")
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS].rstrip() + "…"
