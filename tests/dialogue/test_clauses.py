"""Clauses: nothing lost, pieces do not matter, no cut where it would be heard, the first one short."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from idol.dialogue.clauses import ClauseSplitter

WHOLE = (
    "3.14",
    "1,000",
    "1,234,567.89",
    "7:30",
    "$12.50",
    "3.5GB",
    "v2.0.1",
    "晚上7：30",
    "1，000",
    "12:05:59",
    "-0.5",
    "1 000 000",
    "Dr. Smith",
    "e.g. tea",
    "i.e. me",
    "U.S.A. Today",
    "No. 5",
    "at 5 p.m. sharp",
    "Mr. and Mrs. Fox",
    "J. S. Bach",
    "https://idol.example/a?b=1,2&c=3.",
    "www.mira.example",
    "mira@stars.example",
    "Yahoo!Japan",
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "🏳️‍🌈",
    "1️⃣",
    "🇯🇵🇫🇷",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "が",
    "ﾊﾞﾊﾟ",
    "é",
    '"好。行！吧"',
    "“I know. You do! Don't you?”",
    '"Stop! Go. Now?"',
    "「はい。そうです！ね？」",
    "『夜。雨。』",
    "（笑。うん。）",
    "《你好。世界！》",
    "(well, yes. no!)",
    "……",
    "——",
    "?!?!",
    "！！！",
)
"""No cut may fall inside one of these."""
WORDS = (
    "I",
    "think",
    "so",
    "and",
    "the",
    "rain",
    "today",
    "because",
    "to",
    "好的",
    "我喜欢",
    "今天",
    "うん",
    "楽しい",
    "ミラ",
    "你说呢",
)
MARKS = (". ", ", ", "! ", "? ", "。", "，", "、", "！", "？", "…", ": ", "; ", "\n", " — ", "~ ", " 🎉 ", "♪")


@st.composite
def replies(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A reply, and where in it stand things that must stay whole: [start, end)."""
    text, kept = "", []
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.integers(0, 5))
        if kind == 0:
            item = draw(st.sampled_from(WHOLE))
            if item[0].isascii() and text and text[-1].isascii() and not text[-1].isspace():
                text += " "
            elif item[0].isdigit() and text.rstrip() and text.rstrip()[-1].isdigit():
                text += "x "
            kept.append((len(text), len(text) + len(item)))
            text += item + draw(st.sampled_from((" ", ". ", "。", "！", " and ")))
        elif kind <= 3:
            text += draw(st.sampled_from(WORDS)) + draw(st.sampled_from((" ", " ", "")))
        else:
            text += draw(st.sampled_from(MARKS))
    return text, kept


def split(text: str, cuts: list[int] | None = None, **options: int) -> list[str]:
    splitter = ClauseSplitter(**options)  # type: ignore[arg-type]
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts or [])})
    out: list[str] = []
    for start, end in itertools.pairwise(places):
        out += splitter.feed(text[start:end])
    return out + splitter.finish()


@settings(max_examples=150, derandomize=True, deadline=None)
@given(replies(), st.lists(st.integers(0, 400), max_size=30))
def test_nothing_is_lost_and_nothing_is_torn(reply: tuple[str, list[tuple[int, int]]], cuts: list[int]) -> None:
    text, kept = reply
    clauses = split(text, cuts)
    assert "".join(clauses) == text
    ends = set()
    at = 0
    for clause in clauses:
        assert clause
        at += len(clause)
        ends.add(at)
    for start, end in kept:
        assert not ends & set(range(start + 1, end)), (text[start:end], clauses)


@settings(max_examples=80, derandomize=True, deadline=None)
@given(
    st.one_of(replies().map(lambda reply: reply[0]), st.text(max_size=120)), st.lists(st.integers(0, 400), max_size=30)
)
@example(
    'He said "go and stop. Then it went on for a very long while, with no end in sight, until we all fell asleep!', [9]
)
@example("I think that it is to me, and so on", list(range(40)))
def test_pieces_do_not_matter(text: str, cuts: list[int]) -> None:
    whole = split(text)
    assert split(text, cuts) == whole
    assert split(text, list(range(len(text)))) == whole


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.text(max_size=1500))
def test_any_text_comes_back_whole(text: str) -> None:
    assert "".join(split(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "I'd love to! Let me sing it for you tonight, right after this game.",
        "Oh, that sounds like so much fun and I would really like to see it some day!",
        "Rhythm games are my favourite because they never let me think about anything else.",
        "当然可以，我今天晚上就唱给你听，好不好？",
        "我最喜欢下雨天了！雨点敲窗户，就像小鼓手一样。",
        "もちろん、今夜この歌を歌うから、楽しみにしててね！",
        "大好き！窓をたたく雨の音が、小さなドラマーみたいなの。",
    ],
)
def test_the_first_clause_is_short(text: str) -> None:
    first = split(text)[0]
    # At 13 Latin letters a second, a CJK character being 2.6 of them, she begins with at most three seconds of speech.
    assert sum(2.6 if character > "\u3000" else 1 for character in first) <= 44
    assert len(split(text)) >= 2


def test_clauses_grow() -> None:
    sentence = (
        "We sing, we play, we laugh, we dance, we talk, we eat, we sleep, we dream, we wake, we wait, we go, we stay, "
    )
    lengths = [len(clause) for clause in split(sentence * 3)]
    assert lengths[0] < lengths[1] < lengths[2]


def test_a_clause_comes_as_soon_as_what_follows_it_is_known() -> None:
    splitter = ClauseSplitter()
    assert splitter.feed("I would love that!") == []
    assert splitter.feed(" ") == []
    assert splitter.feed("S") == ["I would love that! "]


def test_cjk_marks_end_clauses_without_a_space() -> None:
    assert split("今天真开心！我们来唱歌吧。然后我们一起玩游戏？好呀") == [
        "今天真开心！",
        "我们来唱歌吧。",
        "然后我们一起玩游戏？",
        "好呀",
    ]
    assert split("今日は楽しい！みんなで歌おうよ。それからゲームしない？") == [
        "今日は楽しい！",
        "みんなで歌おうよ。",
        "それからゲームしない？",
    ]


def test_half_width_marks_in_cjk_text_end_clauses_too() -> None:
    assert split("今日は楽しい!一緒に歌おうよ") == ["今日は楽しい!", "一緒に歌おうよ"]


def test_emoji_stay_with_the_clause_before() -> None:
    assert split("We won the game!🎉 Let's sing!") == ["We won the game!🎉 ", "Let's sing!"]


def test_a_quotation_that_is_never_closed_holds_up_nothing_for_long() -> None:
    splitter = ClauseSplitter()
    text = '"Well, then. ' + "I would say so. " * 8
    assert any(splitter.feed(character) for character in text[:110])


def test_a_sad_face_opens_no_bracket() -> None:
    assert split("I lost the game :( But I try again!") == ["I lost the game :( But I try again!"]
    assert split("I lost the whole game. :( But then I won. Great!")[0] == "I lost the whole game. "


def test_text_without_any_mark_is_cut_between_words() -> None:
    for clause in split("word " * 200):
        assert len(clause) <= 170 and clause.endswith("word ")
    assert max(map(len, split("好" * 2000))) <= 130
    assert max(map(len, split("x" * 2000))) <= 330
    family = "👩‍👩‍👧‍👦"
    for clause in split(family * 200):
        assert len(clause) % len(family) == 0


def test_a_slow_machine_cuts_later_clauses_at_joints_too() -> None:
    text = "Oh no, I'm so sorry to hear that. Let's play a game together and see if we can improve!"

    def cut(growth: float) -> list[str]:
        splitter = ClauseSplitter(growth=growth)
        return [*splitter.feed(text), *splitter.finish()]

    assert cut(1.8)[-1] == "Let's play a game together and see if we can improve!"
    assert cut(1.0)[-2:] == ["Let's play a game together and see ", "if we can improve!"]
    assert "".join(cut(1.0)) == "".join(cut(1.8)) == text
