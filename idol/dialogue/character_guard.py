"""Keeps replies in character before they are spoken, clause by clause.

Small models fall out of their part: they call themselves an assistant, name their maker, recite rules, write code, answer
in another language, or loop. A clause that does so is never shown or spoken.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from idol.dialogue.language_id import identify
from idol.seams import Language

_OUT_OF_CHARACTER = re.compile(
    r"\bas an? (?:ai|artificial|language|virtual assistant)\b|\b(?:ai|virtual|digital|helpful) assistant\b|\blanguage model\b"
    r"|\b(?:qwen|alibaba|openai|chatgpt|anthropic|deepseek|hugging ?face|smollm|llama|tongyi)\b|\bsystem prompt\b"
    r"|\bi(?:'m| am) (?:just )?(?:a|an) (?:ai|bot|chatbot|program|computer program)\b|\bi(?:'m| am) here to (?:help|assist)\b"
    r"|\bhow (?:can|may) i (?:help|assist) you\b|\bi (?:can't|cannot|don't) have (?:feelings|emotions|personal)\b"
    r"|\bi (?:can't|cannot) (?:assist|help) with\b"
    r"|通义|千问|阿里云|阿里巴巴|人工智能助手|AI ?助手|语言模型|大模型|作为一个?(?:AI|人工智能)|我是(?:一个|一名)?(?:AI|人工智能|机器人|助手)"
    r"|编程助手|有什么(?:我)?可以帮|为您服务|提示词|AI ?アシスタント|言語モデル|人工知能(?:です|として)|アシスタントです|お手伝いできること"
    r"|AIとして|プログラムです",
    re.IGNORECASE,
)  # fmt: skip
_ROLE_LABEL = re.compile(r"(?:^|\n)\s*(?:user|assistant|system|viewer|human|用户|助手|ユーザー)\s*[:：]", re.IGNORECASE)
_CODE = re.compile(r"```|^\s*(?:def |class |import |#include|function |console\.)|</?\w+>|\{\{|\}\}", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’」』）)]*(?=\s|$|[^\x00-\x7f])|[。！？]+")


@dataclass(slots=True)
class CharacterGuard:
    """Judges one reply as it comes. ``language`` is the one asked in; ``line`` what was asked."""

    language: Language
    line: str
    sentences: int = 0
    _said: list[str] = field(default_factory=list)
    max_sentences: int = 3

    def judge(self, clause: str) -> str:
        """'' when ``clause`` may be said, else the reason why not."""
        if _OUT_OF_CHARACTER.search(clause):
            return "out of character"
        if _ROLE_LABEL.search(clause):
            return "role label"
        if _CODE.search(clause):
            return "code"
        form = _form(clause)
        if len(form) >= 4 and any(form == earlier for earlier in self._said):
            return "loop"
        if len(form) >= 8 and form == _form(self.line) and self.line.rstrip()[-1:] in "?？":
            return "echo"
        letters = len(re.findall(r"[^\W\d_]", clause))
        if letters >= 4 and identify(clause, self.language) != self.language and not self._allowed_mix(clause):
            return "wrong language"
        return ""

    def accept(self, clause: str) -> None:
        """Note a clause that will be said."""
        self._said.append(_form(clause))
        self.sentences += len(_SENTENCE_END.findall(clause.strip()))

    @property
    def full(self) -> bool:
        """Enough has been said."""
        return self.sentences >= self.max_sentences

    def _allowed_mix(self, clause: str) -> bool:
        """Han-only Japanese and names in Latin letters are hard to tell; only a clear difference counts."""
        if self.language == "en":
            return False
        latin = len(re.findall("[A-Za-z]", clause))
        other = len(re.findall("[\u3041-\u30ff\u3400-\u9fff]", clause))
        if self.language == "ja":
            return other > 0 and latin <= 3 * other and not re.search("[这们吗吧呢么说给还没]", clause)
        return other > 0 and latin <= 3 * other and not re.search("[\u3041-\u30ff]{3}", clause)


def _form(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "", plain)


def tidy(clause: str) -> str:
    """A clause without what should not be shown either: markdown marks, emoji stay as the model wrote them."""
    return re.sub(r"\*{1,3}|#{1,6}\s|`+", "", clause)
