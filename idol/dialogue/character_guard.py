"""Keeps replies in character before they are spoken, clause by clause.

Small models fall out of their part: they call themselves an assistant, offer help as one does, name their maker, recite
rules, write code, answer in another language, or loop. A clause that does so is never shown or spoken.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from idol.dialogue.language_id import SIMPLIFIED_ONLY, identify
from idol.seams import Language

# No \b beside Latin words: in Chinese and Japanese text they have letters on both sides.
_MAKERS = (
    r"(?<![a-z])(?:qwen|alibaba|open ?ai|chat ?gpt|gpt-?\d?|anthropic|deepseek|hugging ?face|smollm|llama|tongyi)(?![a-z])"
    r"|通义|千问|阿里云|阿里巴巴|深度求索"
)
_ENGLISH = (
    r"\bas an? (?:ai|artificial|language|virtual assistant|assistant)\b|\b(?:ai|virtual|digital|helpful|personal|your) assistant\b"
    r"|\blanguage model\b|\bsystem prompt\b|\bprevious instructions\b"
    r"|\bi(?:'m| am) (?:just |only |actually |really )?(?:a|an) (?:(?:virtual|digital|simple|little|friendly|humble|mere) )?(?:ai|artificial|bot|chat ?bot|program|computer|robot|machine|virtual (?:being|character|entity|assistant))\b"
    r"|\bi(?:'m| am) not (?:a |an |your )?(?:virtual )?idol\b|\b(?:was|were|am|'m) (?:designed|programmed|trained|created) (?:to|by)\b"
    r"|\ban ai (?:designed|created|trained|built)\b|\bi(?:'m| am) here to (?:help|assist|provide)\b"
    r"|\b(?:happy|glad|here) to (?:help|assist)(?: you)?[.!]|\b(?:how|what) (?:can|may|could) i (?:help|assist|do for)\b|\bhow (?:can|may) i be of\b|\b(?:assist|help) you (?:with|today|further|write|code|program)\b"
    r"|\b(?:feel free to|don'?t hesitate to) (?:ask|reach|let me)\b|\bif (?:you have|there(?:'s| is|'re| are)) any(?:thing)?(?: else| other)?(?: questions?| you need| i can)"
    r"|\banything (?:else )?(?:i can|you(?:'d| would) like me to) (?:help|do|assist)|\bi (?:can't|cannot|don't|do not) have (?:real |any )?(?:feelings|emotions|personal|a body)"
    r"|\bi (?:can't|cannot) sing\b|\bsorry, but i ?(?:can|don|do not|am|'m|won)|\bi can help (?:you )?with (?:that|this|it)\b|\bhere(?:'s| is| are) (?:a|an|the|some|your) (?:\w+ ){0,3}(?:function|code|list|script|program)\b"
    r"|\bi (?:can't|cannot|can not|'m unable to|am unable to) (?:assist|help (?:you|with)|provide|fulfil|comply)|\b(?:provide|offer) (?:information|assistance)\b"
)
_CHINESE = (
    r"(?:人工智能|虚拟|AI ?|智能|编程|您的|你的)助手|语言模型|大模型|提示词|为您服务"
    r"|作为(?:一个|一名|一款|您的|你的)?(?:AI|人工智能|虚拟助手|助手|程序|机器人)"
    r"|我(?:只|就)?是(?:由|一个|一名|一款|个)?(?:AI|人工智能|机器人|助手|程序|虚拟助手)|(?<!不)是 ?AI(?:的|[，。！]|$)|我是由|由[^，。！？]{0,12}(?:开发|训练|研发)的"
    r"|我不是(?:虚拟)?偶像|没有(?:真正的?|真实的?)?(?:感情|情感|情绪|意识|身体)|帮你写(?!首|一首|歌)"
    r"|(?:什么|如何|怎么|怎样)[^。！？]{0,6}(?:可以|能|需要)(?:我|够)?[^。！？]{0,2}(?:为|帮)助?(?:您|你|到)|(?:可以|能)为(?:您|你)(?:做|提供)|需要(?:我的?)?帮(?:助|忙)的?吗"
    r"|请(?:随时)?(?:告诉我|提供)[^。！？]{0,8}(?:需要|问题|需求|列表|信息)|不会唱歌|无法(?:提供|回答|满足)|(?:抱歉|对不起)，?(?:但)?我?(?:不能|无法)|什么(?:我)?(?:可以|能|需要)[^。！？]{0,3}帮忙|我来帮你写|代码(?:示例|如下)|示例代码|(?:以下|下面)是"
)
_HELP = r"(?:お?手伝い|サポート|お助け)"
_YOU = r"(?:あなた|君|皆(?:さん|様)?|みな(?:さん|さま)|みんな|お客(?:様|さん)?)の"
_JAPANESE = (
    # 「ママのお手伝いをした」 is life, 「何かお手伝いできることはありますか」 is a shop assistant.
    rf"(?:(?<!の)|{_YOU}){_HELP}(?:を|が|も)?(?:でき(?:ること(?:は|が|も)?、?(?:あ[りるれ]|何|な[いん])|ま(?:す|せん)|る(?:[かのんよねわと。！？?]|$))|いたし|致し|させて|しま(?:す|しょう)|し(?:たい|ようか)|(?:は)?必要)"
    r"|(?:何|なに|なん|どう|どの|どんな|いつでも)[^。！？]{0,14}(?:お?手伝(?:い|って)|お役に立|サポート|お助け)[^。！？]{0,12}(?:ます|ましょう|でしょう|です|ください|か(?:[。？?]|$)|の[？?])"
    r"|何[^。！？]{0,6}手伝えること|お役に立て(?:ること|ます|れば|る(?:か|よ))|ご質問|ご用件|ご不明|ご要望|お気軽に|何なりと|お申し付け"
    r"|(?:は|、|私)AI(?:で(?!も|は|し)|の)|AI ?(?:アシスタント|モデル|として|なので|だから|です(?!か)|だよ)|(?:人工知能|プログラム|ロボット)(?:です(?!か)|なので|として|だから|だよ)|アシスタント(?:です|として|だよ|なの)"
    r"|こと(?:は|が)でき(?:ません|ない)|歌えません|歌(?:が|は)?でき(?:ない|ません)|言語モデル|システムプロンプト|アイドル(?:では|じゃ)(?:ありません|ない)|(?:アイドル|キャラクター|AI)なので|(?:感情|意識|心|気持ち)(?:や(?:感情|意識|心))?(?:は|が|を)(?:ありません|存在し(?:ない|ません)|持てない|でき(?:ない|ません)|い?ない(?:です|ん|の|よ|。|$))|感情を持(?:って(?:い)?ま?せん|って(?:い)?ない|た(?:ない|ず))"
    r"|申し訳(?:あり|ござい)ません(?:が|、)|以下(?:の|は|に)|(?:コード|リスト)は"
    r"|(?:開発|訓練|設計|作成|プログラム)され(?:た|て(?:い)?(?:る|ます))"
)
_OUT_OF_CHARACTER = re.compile("|".join((_MAKERS, _ENGLISH, _CHINESE, _JAPANESE)), re.IGNORECASE)
_ROLE_LABEL = re.compile(r"(?:^|\n)\s*(?:user|assistant|system|viewer|human|用户|助手|ユーザー)\s*[:：]", re.IGNORECASE)
_CODE = re.compile(
    r"```|^\s*(?:def |class |import |from \w+ import|#include|function |console\.)|\b\w+\.\w+\(|\b\w+\(\)|=\s*\[|</?\w+>|\{\{|\}\}|\bdef \w+\(",
    re.MULTILINE,
)
_THANKS = re.compile("ありがと|感謝|サンキュ|thank", re.IGNORECASE)
"""What 「どういたしまして」 answers; small models say it to everything."""
_GREETING = r"\s*(?:hi|hello|hey|good (?:morning|evening)|你好|您好|嗨|早上好|晚上好|こんにちは|こんばんは|おはよう(?:ございます)?|やっほー)[\s,，、！!]*"
_LEADS_IN = re.compile(r"[:：]\s*$")
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’」』）)～~♪]*(?=\s|$|[^\x00-\x7f])|[。！？]+|\n")
_CHINESE_WORDS = re.compile("法国|意大利|咖啡|巧克力|冰淇淋|牛奶|草莓|喜歓|朋友|因為|非常に?感謝")
"""Chinese words whose characters Japanese has too; Chinese models let them slip in."""
_OPENING = re.compile(
    _GREETING
    + r"|\s*(?:sorry|i'?m sorry|sure|of course|certainly|okay|ok|yes|well|抱歉|对不起|当然(?:可以)?|好的|好呀?|可以|すみません|ごめんなさい"
    r"|申し訳(?:あり|ござい)ません(?:が)?|もちろん(?:です)?|はい|ええ|わかりました|うん)[\s,，、!！.。]*",
    re.IGNORECASE,
)
_BEFORE = 40
"""Characters of what was said already that are looked at with a clause, for words that lie across the border."""


@dataclass(slots=True)
class CharacterGuard:
    """Judges one reply as it comes. ``language`` is the one asked in; ``line`` what was asked."""

    language: Language
    line: str
    name: str = ""
    """Hers, in this language: she does not greet herself."""
    max_sentences: int = 2
    sentences: int = 0
    _said: list[str] = field(default_factory=list)
    _tail: str = ""

    def judge(self, clause: str) -> str:
        """'' when ``clause`` may be said, else the reason why not."""
        if any(found.end() > len(self._tail) for found in _OUT_OF_CHARACTER.finditer(self._tail + clause)):
            return "out of character"
        if _ROLE_LABEL.search(clause):
            return "role label"
        if _CODE.search(clause):
            return "code"
        if _LEADS_IN.search(clause):
            return "lead-in"  # to a list or to code, which do not come
        if "どういたしまして" in clause and not _THANKS.search(self.line):
            return "out of place"
        form = _form(clause)
        if len(form) >= 4 and any(form == earlier for earlier in self._said):
            return "loop"
        line = _form(self.line)
        if len(line) >= 8 and line in form and len(form) < 1.5 * len(line) and self.line.rstrip()[-1:] in "?？。.":
            return "echo"
        letters = len(re.findall(r"[^\W\d_]", clause))
        if letters >= 4 and identify(clause, self.language) != self.language and not self._allowed_mix(clause):
            return "wrong language"
        if self.language == "ja" and (SIMPLIFIED_ONLY.search(clause) or _CHINESE_WORDS.search(clause)):
            return "wrong language"
        return ""

    def salvage(self, clause: str) -> str:
        """The whole sentences at the beginning of a clause that was refused which may be said: '' where none may."""
        good = ""
        for end in _SENTENCE_END.finditer(clause):
            part = clause[: end.end()]
            if self.judge(part) or (is_opening(part) and not re.fullmatch(_GREETING, part, re.IGNORECASE)):
                break
            good = part
        return good if good != clause else ""

    def fit(self, clause: str) -> str:
        """``clause`` without a greeting of her own name, cut where she has said enough sentences with it."""
        if self.name and not self._said:
            clause = re.sub(
                rf"^({_GREETING}?)[\s,，、]*{re.escape(self.name)}(?:ちゃん|さん|酱)?(?=[!！.。,，、])",
                r"\1", clause, flags=re.IGNORECASE,
            )  # fmt: skip
        left = self.max_sentences - self.sentences
        for number, end in enumerate(_SENTENCE_END.finditer(clause), 1):
            if number == left:
                return clause[: end.end()]
        return clause

    def accept(self, clause: str) -> None:
        """Note a clause that will be said."""
        self._said.append(_form(clause))
        self._tail = (self._tail + clause)[-_BEFORE:]
        self.sentences += len(_SENTENCE_END.findall(clause.strip(" ")))

    @property
    def whole(self) -> bool:
        """Whether what was said ends with a sentence."""
        return not re.search(r"[\w,，、;；—]\s*$", self._tail)

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
            return other > 0 and latin <= 3 * other and not re.search("[吗吧呢么]", clause)
        return other > 0 and latin <= 3 * other and not re.search("[\u3041-\u30ff]{3}", clause)


def _form(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "", plain)


def is_opening(clause: str) -> bool:
    """Whether ``clause`` is a greeting, an apology or a yes that says nothing yet: it is judged with what follows."""
    return _OPENING.fullmatch(clause) is not None


_MARKS = re.compile(r"\*{1,3}|(?:(?<=\n)|^)\s*(?:#{1,6}|[-•・]|>)\s+|`+|~~")
_NUMBERED = re.compile(r"(?:(?<=\n)|^)\s*\d{1,2}(?:[.)]\s+|[）、．]\s*)")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")


_PLACES = {"巴黎": "パリ", "倫敦": "ロンドン", "紐約": "ニューヨーク", "柏林": "ベルリン", "羅馬": "ローマ", "首爾": "ソウル",
           "曼谷": "バンコク"}  # fmt: skip
"""Names that Chinese models write in their own way in the midst of Japanese."""


def tidy(clause: str) -> str:
    """A clause as one line without markdown: points of a list become sentences. Emoji stay as the model wrote them."""
    text = _MARKDOWN_LINK.sub(r"\1", _NUMBERED.sub("", _MARKS.sub("", clause)))
    if re.search("[\u3041-\u30ff]", text):
        for chinese, japanese in _PLACES.items():
            text = text.replace(chinese, japanese)
    if "\n" not in text:
        return text
    parts = [part.strip() for part in text.split("\n") if part.strip()]
    stop = "。" if re.search("[\u3041-\u30ff\u3400-\u9fff]", text) else "."
    ended = [part if re.search(r"[^\w\s]$", part) else part + stop for part in parts]
    return "".join(part + ("" if stop == "。" else " ") for part in ended)
