"""``main.py bench``: 30 scripted turns, measured stage by stage.

The same lines every time, ten per language, of the kinds a stream brings: greetings, questions, teasing, numbers, long
and short. Latencies are in ms since submit; ``first_sample`` is what a viewer waits.
"""

from __future__ import annotations

import argparse
import sys

from idol.cli.headless_run import add_headless_arguments, run_lines
from idol.show.latency import STAGES, TurnRecord, stage_summaries, summarise

LINES: tuple[str, ...] = (
    "Hi! How are you today?",
    "What is your name?",
    "Tell me something nice about rain.",
    "Do you like cats or dogs more?",
    "I just lost my ranked game and I feel terrible.",
    "What should I eat at 7:30 tonight?",
    "Sing me one line of a song you made up.",
    "You are so cute!",
    "Can you count to five?",
    "Good night, see you tomorrow!",
    "你好！今天过得怎么样？",
    "你叫什么名字？",
    "你喜欢下雨天吗？",
    "我今天考试考砸了，好难过。",
    "晚饭吃什么好呢？",
    "你最喜欢的颜色是什么？",
    "给我讲个小笑话吧。",
    "你好可爱啊！",
    "你会唱歌吗？",
    "晚安，明天见！",
    "こんにちは！元気ですか？",
    "お名前は何ですか？",
    "雨の日は好きですか？",
    "今日テストで失敗しちゃった。",
    "晩ごはんは何がいいかな？",
    "好きな色は何？",
    "面白い話をして。",
    "かわいいね！",
    "歌は歌えますか？",
    "おやすみ、また明日ね！",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=len(LINES), metavar="N", help="how many of the lines (repeats)")
    parser.add_argument("--language", choices=("en", "zh", "ja"), help="only the lines of one language")
    add_headless_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.turns < 1:
        print(f"--turns is {arguments.turns}; it must be at least 1", file=sys.stderr)
        return 2
    arguments.headless = True  # the measuring has no window
    if arguments.seed is None:
        arguments.seed = 1
    start = {"en": 0, "zh": 10, "ja": 20}.get(arguments.language)
    pool = LINES if start is None else LINES[start : start + 10]
    lines = [pool[index % len(pool)] for index in range(arguments.turns)]
    return run_lines(arguments, lines, "bench", with_llm=True, quiet=True, finish=print_table)


def print_table(rows: list[TurnRecord]) -> None:
    """Statistics per stage and per turn figure, on stdout."""
    print(f"{len(rows)} turns, ms since submit")
    print(f"{'stage':<16}{'turns':>6}{'median':>10}{'p95':>10}{'p99':>10}{'sd':>10}")
    for stage, summary in stage_summaries(rows).items():
        figures = (summary.median, summary.p95, summary.p99, summary.sd)
        print(f"{stage:<16}{summary.count:>6}" + "".join(f"{value:>10.1f}" for value in figures))
    spoken = [row for row in rows if row.audio_seconds > 0]
    for name, values in (
        ("held back ms", [row.held_back_ms for row in spoken]),
        ("real-time factor", [row.rtf for row in spoken]),
        ("tokens/s", [row.tokens_per_second for row in spoken if row.tokens_per_second > 0]),
    ):
        if values:
            summary = summarise(values)
            print(f"{name:<22}{summary.median:>10.2f}{summary.p95:>10.2f}{summary.p99:>10.2f}{summary.sd:>10.2f}")
    print(f"gaps inside replies: {sum(row.underruns for row in rows)}")
    for stage in STAGES:
        missing = sum(1 for row in rows if stage not in row.stages)
        if missing:
            print(f"{stage} was not reached in {missing} turns")
