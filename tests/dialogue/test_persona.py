"""Persona files: the default one is whole, a bad one is refused with the place and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from idol.dialogue.character_guard import CharacterGuard, tidy
from idol.dialogue.clauses import ClauseSplitter
from idol.dialogue.language_id import identify
from idol.dialogue.persona import PersonaError, default_persona, load_persona
from idol.seams import LANGUAGES, Language

SMALL = """
name = "Rin"
names = { en = "Rin", zh = "铃", ja = "リン" }
description = "Rin sings."
style = "short"
greeting = { en = "Hi", zh = "嗨", ja = "やあ" }
[fallback]
en = ["Hm."]
zh = ["嗯。"]
ja = ["うん。"]
"""


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_small_persona_is_enough(tmp_path: Path) -> None:
    persona = load_persona(write(tmp_path / "rin.toml", SMALL))
    assert persona.described("ja") == "Rin sings." and persona.example.get("en") == [] and persona.secret is None


def test_a_description_per_language(tmp_path: Path) -> None:
    described = '[description]\nen = "Rin sings."\nzh = "铃唱歌。"\nja = "リンは歌う。"\n'
    text = SMALL.replace('description = "Rin sings."\n', "") + described
    assert load_persona(write(tmp_path / "rin.toml", text)).described("zh") == "铃唱歌。"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x\ny"', "bad.toml cannot be read.*line 1"),
        (b"name = '\xff'", "bad.toml cannot be read.*UTF-8"),
        ("", "bad.toml is not valid.*name: Field required"),
        (SMALL.replace('ja = "リン"', 'jp = "リン"'), r"names\.ja: Field required.*names\.jp: Extra inputs"),
        (SMALL.replace('"Rin"\n', "7\n"), "name: Input should be a valid string"),
        (SMALL.replace('["Hm."]', "[]"), r"fallback\.en: List should have at least 1"),
        (SMALL + "\n[temper]\nx = 1\n", "temper: Extra inputs"),
        (SMALL + '\n[[example.en]]\nuser = "a"\n', r"example\.en\.0\.reply: Field required"),
        (SMALL.replace("Rin sings.", "x" * 5000), "description.*at most 4000"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(PersonaError, match=f"(?s){message}"):
        load_persona(write(tmp_path / "bad.toml", text))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(PersonaError, match="cannot be read"):
            load_persona(path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_her_own_words_pass_her_own_guard(language: Language) -> None:
    persona = default_persona()
    assert persona.secret is not None
    own = [*persona.fallback.get(language), *persona.secret.get(language), persona.greeting.get(language)]
    own += [example.reply for example in persona.example.get(language)]
    for text in own:
        guard = CharacterGuard(language, "?")
        splitter = ClauseSplitter()
        for clause in [*splitter.feed(text), *splitter.finish()]:
            assert guard.judge(clause) == "" and guard.fit(clause) == clause and tidy(clause) == clause, text
            guard.accept(clause)
        assert identify(text, language) == language
    for example in persona.example.get(language):
        assert identify(example.user, language) == language
