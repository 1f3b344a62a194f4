"""Prompts: constant beginning, history in one language, cut in steps, within the budget."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from idol.dialogue.persona import default_persona
from idol.dialogue.prompt import Exchange, PromptBuilder
from idol.seams import LANGUAGES, ChatMessage, Language

PERSONA = default_persona()


def count(messages: Sequence[ChatMessage]) -> int:
    return sum(len(message.content) for message in messages)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_beginning_names_her_and_shows_how_she_talks(language: Language) -> None:
    constant = PromptBuilder(PERSONA, count, 10_000).constant(language)
    assert constant[0].role == "system" and PERSONA.names.get(language) in constant[0].content
    assert "{" not in constant[0].content
    examples = PERSONA.example.get(language)
    assert [message.content for message in constant[1:]] == [t for e in examples for t in (e.user, e.reply)]
    assert [message.role for message in constant[1:]] == ["user", "assistant"] * len(examples)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_prompt_begins_with_it(language: Language) -> None:
    builder = PromptBuilder(PERSONA, count, 10_000)
    history = [Exchange("one", "two", language), Exchange("three", "", language)]
    prompt = builder.build("four", language, history)
    constant = builder.constant(language)
    assert prompt[: len(constant)] == constant
    assert [message.content for message in prompt[len(constant) :]] == ["one", "two", "four"]


def test_cuts_are_rare_and_what_stays_is_a_prefix_of_the_next_prompt() -> None:
    builder = PromptBuilder(PERSONA, count, 3000)
    history: list[Exchange] = []
    reused = 0
    before: list[ChatMessage] = []
    for number in range(100):
        prompt = builder.build(f"line {number} " + "x" * 30, "en", history)
        assert count(prompt) <= 3000
        reused += prompt[: len(before) - 1] == before[:-1]
        before = prompt
        history.append(Exchange(prompt[-1].content, "reply " + "y" * 40, "en"))
    assert reused >= 85


def test_forget_after_a_cut() -> None:
    builder = PromptBuilder(PERSONA, count, 3000)
    history = [Exchange("x" * 60, "y" * 60, "en") for _ in range(50)]
    builder.build("hi", "en", history)
    builder.forget()
    assert [message.content for message in builder.build("hi", "en", history[:2])][-5:] == [
        "x" * 60,
        "y" * 60,
        "x" * 60,
        "y" * 60,
        "hi",
    ]


def test_a_history_that_became_shorter_does_no_harm() -> None:
    builder = PromptBuilder(PERSONA, count, 3000)
    builder.build("hi", "en", [Exchange("x" * 60, "y" * 60, "en") for _ in range(50)])
    assert builder.build("hi", "en", [])[-1].content == "hi"


def test_a_line_that_is_too_long_alone_is_cut() -> None:
    builder = PromptBuilder(PERSONA, count, 3000)
    prompt = builder.build("word " * 1000, "en", [Exchange("a", "b", "en")])
    assert count(prompt) <= 3000 and prompt[-1].content.startswith("word word") and prompt[-1].content.endswith("…")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reminder_changes_only_the_line(language: Language) -> None:
    builder = PromptBuilder(PERSONA, count, 3000)
    prompt = builder.build("hi", language, [])
    again = builder.reminded(prompt, language)
    assert again[:-1] == prompt[:-1] and again[-1].content.startswith("hi\n")
