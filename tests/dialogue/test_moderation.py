"""The blocklist: disguises are seen through, harmless words that hold a blocked one are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from idol.dialogue.moderation import BUILT_IN, Blocklist


@pytest.mark.parametrize("word", BUILT_IN)
def test_every_built_in_word_is_found_in_a_line(word: str) -> None:
    blocklist = Blocklist()
    assert blocklist.find(word) and blocklist.find(f"well, {word}!!") and blocklist.find(word.upper())


@pytest.mark.parametrize(
    "line",
    [
        "KYS",
        "kys!",
        "go k y s",
        "k.y.s",
        "ＫＹＳ",
        "just k1ll yourself",
        "k i l l y o u r s e l f",
        "kill-yourself",
        "ｋｉｌｌ　ｙｏｕｒｓｅｌｆ",
        "kіll yоurself",
        "k\u200bill your\u200bself",
        "kíll yoursélf",
        "f@gg0t",
        "faggots",
        "去 死 吧",
        "去死吧！！",
        "操.你.妈",
        "死 ね よ",
        "くたばれ！",
        "くたば\u200bれ",
    ],
)
def test_disguises_are_seen_through(line: str) -> None:
    assert Blocklist().find(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "🎉",
        "I'll give you a grape, you know",
        "They drape you in silk",
        "She sniggered at the joke",
        "sky's the limit",
        "skys",
        "sky say",
        "my sky skills",
        "Which killer, yours or elf's?",
        "那个BOSS杀了你三次",
        "他去世了，死因不明",
        "必死ねばならぬ",
        "クタクタばれる",
        "死ぬ気で頑張る",
        "Hi Mira!",
    ],
)
def test_harmless_lines_pass(line: str) -> None:
    assert Blocklist().find(line) == ""


def test_the_streamers_own_words(tmp_path: Path) -> None:
    path = tmp_path / "blocklist.txt"
    path.write_text("# spoilers\n\nTurnip King\n黒幕\nass\n", encoding="utf-8")
    blocklist = Blocklist.with_file(path)
    assert blocklist.find("the TURNIP  king dies") == "turnipking"
    assert blocklist.find("実は黒幕が…") and blocklist.find("kys")
    assert blocklist.find("what an ass!") == "ass"
    for line in ("spoilers", "a class pass", "as soon as", "assemble"):
        assert blocklist.find(line) == ""


def test_a_list_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    assert Blocklist.with_file(tmp_path / "none.txt").find("kys")
    (tmp_path / "blocklist.txt").write_bytes(b"\xff\xfe\x00bad")
    assert Blocklist.with_file(tmp_path / "blocklist.txt").find("kys")


def test_no_words_block_nothing() -> None:
    assert Blocklist(("", "  ", "!!")).find("kys !!") == ""
