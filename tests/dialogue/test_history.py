"""The history on disk: durable, torn lines survived, nothing overwritten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from idol.dialogue.history import History, PastLine
from idol.dialogue.prompt import Exchange

ONE, TWO = Exchange("hi", "Hello!", "en"), Exchange("再见", "拜拜！🎤", "zh")


def test_what_was_added_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "deep/er/mira.jsonl"
    history = History(path)
    history.add(ONE)
    history.add(TWO)
    assert list(history.exchanges) == [ONE, TWO]
    assert list(History(path).exchanges) == [ONE, TWO]
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["reply"] for row in rows] == ["Hello!", "拜拜！🎤"] and all(row["at"] > 1.7e9 for row in rows)


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_a_torn_last_line_costs_only_itself(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "mira.jsonl"
    history = History(path)
    history.add(ONE)
    whole = path.stat().st_size
    history.add(TWO)
    with path.open("r+b") as file:
        file.truncate(whole + kept)
    again = History(path)
    assert list(again.exchanges) == [ONE] and again.skipped == 1
    again.add(TWO)
    assert list(History(path).exchanges) == [ONE, TWO]


def test_a_kill_while_writing_loses_at_most_one_exchange(tmp_path: Path) -> None:
    path = tmp_path / "mira.jsonl"
    program = (
        "import sys\nfrom pathlib import Path\nfrom idol.dialogue.history import History\n"
        "from idol.dialogue.prompt import Exchange\nhistory = History(Path(sys.argv[1]))\n"
        "for number in range(100000):\n"
        "    history.add(Exchange(f'line {number}', '返事' * 300, 'ja'))\n    print(number, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        reported = 0
        for line in child.stdout:
            reported = int(line)
            if reported >= 20:
                break
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read().split("\n")
        reported = max([reported, *(int(number) for number in rest[:-1] if number)])
    history = History(path)
    assert history.exchanges[-1].user in (f"line {reported}", f"line {reported + 1}")
    assert len(history.exchanges) >= reported + 1 and history.skipped <= 1


def test_damaged_lines_are_skipped_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "mira.jsonl"
    good = json.dumps({"at": 1, "language": "en", "user": "hi", "reply": "Hello!"})
    damage = b'not json\n{"user": "x"}\n[1, 2]\n{"at":1,"language":"xx","user":"a","reply":"b"}\n\xff\xfe\n\n'
    path.write_bytes(damage + good.encode() + b"\n")
    history = History(path)
    assert list(history.exchanges) == [ONE] and history.skipped == 5
    history.add(TWO)
    assert path.read_bytes().startswith(damage)


def test_separators_that_json_does_not_escape_do_not_tear_a_line(tmp_path: Path) -> None:
    odd = Exchange("a\u2028b\u2029c\x85d", "e\u2028f\ng", "en")
    History(tmp_path / "h.jsonl").add(odd)
    assert list(History(tmp_path / "h.jsonl").exchanges) == [odd]


def test_only_the_newest_are_held(tmp_path: Path) -> None:
    history = History(tmp_path / "h.jsonl", keep=3)
    for number in range(5):
        history.add(Exchange(str(number), "ok", "en"))
    assert [exchange.user for exchange in history.exchanges] == ["2", "3", "4"]
    assert [exchange.user for exchange in History(tmp_path / "h.jsonl", keep=2).exchanges] == ["3", "4"]
    assert len(History(tmp_path / "h.jsonl").exchanges) == 5


def test_forget_starts_anew_and_keeps_every_old_file(tmp_path: Path) -> None:
    history = History(tmp_path / "h.jsonl")
    for number in range(3):
        history.add(Exchange(str(number), "ok", "en"))
        history.forget()
        assert not history.exchanges
    assert list(History(tmp_path / "h.jsonl").exchanges) == []
    kept = sorted(tmp_path.glob("h-*.jsonl"))
    assert [json.loads(path.read_text())["user"] for path in kept] == ["0", "1", "2"]


def test_in_memory_only(tmp_path: Path) -> None:
    history = History(None)
    history.add(ONE)
    assert list(history.exchanges) == [ONE]
    history.forget()
    assert not history.exchanges and not list(tmp_path.iterdir())


def test_a_write_that_fails_says_so_and_is_remembered_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    history = History(tmp_path / "file/h.jsonl")
    with pytest.raises(OSError):
        history.add(ONE)
    assert list(history.exchanges) == [ONE]


def said(history: History, limit: int = 50) -> list[tuple[str, str]]:
    return [(line.text, line.reply) for line in history.recent(limit)]


def test_a_line_that_waits_is_on_the_disk_and_in_no_prompt(tmp_path: Path) -> None:
    path = tmp_path / "deep/h.jsonl"
    history = History(path)
    history.add(ONE)
    history.note(1, "are  you there?")
    again = History(path)
    assert said(again) == said(history) == [("hi", "Hello!"), ("are  you there?", "")]
    assert list(again.exchanges) == list(history.exchanges) == [ONE] and again.skipped == 0
    history.note(2, "and you?")
    history.add(Exchange("are you there?", "Yes!", "en"), 1)
    assert said(History(path)) == said(history)
    assert said(history) == [("hi", "Hello!"), ("are  you there?", "Yes!"), ("and you?", "")]
    assert [e.user for e in History(path).exchanges] == ["hi", "are you there?"]
    later = History(path)
    later.note(2, "the second line of another start")
    assert said(History(path), 2) == [("and you?", ""), ("the second line of another start", "")]


def test_rows_without_a_waiting_line_are_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text('{"at": 5.5, "language": "en", "user": "hi", "reply": "Hello!"}\n', encoding="utf-8")
    history = History(path)
    assert list(history.exchanges) == [ONE] and history.recent(9) == [PastLine("hi", "Hello!", 5.5)]


@pytest.mark.parametrize("row", ['{"line": 5}', '{"line": "a", "user": "x", "reply": "y"}', "5", '{"at": {}}'])
def test_odd_rows_of_waiting_lines_are_skipped(tmp_path: Path, row: str) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text(row + "\n", encoding="utf-8")
    history = History(path)
    assert history.skipped == 1 and history.recent(9) == [] and not history.exchanges


def test_the_last_lines_are_held_and_forgotten_ones_are_not(tmp_path: Path) -> None:
    history = History(tmp_path / "h.jsonl", keep=3)
    for number in range(5):
        history.note(number, str(number))
    assert said(history) == [("2", ""), ("3", ""), ("4", "")] and said(history, 1) == [("4", "")]
    assert history.recent(0) == []
    history.forget()
    assert said(history) == said(History(tmp_path / "h.jsonl")) == []
    history.note(4, "4")
    assert said(History(tmp_path / "h.jsonl")) == [("4", "")]
