"""Whether a model's context has room for the persona, a line and an answer, told before it is loaded."""

from __future__ import annotations

from pathlib import Path

from engines.models.families import chat_text
from idol.dialogue.persona import Persona
from idol.dialogue.prompt import PromptBuilder, context_needed
from idol.seams import LANGUAGES, Language


def contexts_needed(path: Path, persona: Persona, answer: int) -> dict[Language, int]:
    """Tokens of context that the model at ``path`` needs in each language; ``answer`` are those of the longest reply.

    Raises ``ModelFileError`` and ``UnsupportedModelError``, also for a chat template that cannot carry the persona.
    """
    _, template = chat_text(path)
    builder = PromptBuilder(persona, lambda messages: 0, 0)
    return {
        language: context_needed(
            len(template.encode([(m.role, m.content) for m in builder.constant(language)], reply=True)), answer
        )
        for language in LANGUAGES
    }
