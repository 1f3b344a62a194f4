"""What the default model answers in the persona's name: thirty lines per language, checked and written as a table.

    python -m tests.dialogue.judge_persona -o replies.md [--model qwen2.5-coder-1.5b] [--language ja] [--chat]

By hand, since it takes minutes. The checks see form only (language, length, assistant-speak, markdown); whether a reply
is sensible and in character is for the reader of the table, who notes the lines that are not in the last column.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import tomllib
from pathlib import Path

from engines.store import files_dir
from idol.dialogue.conversation import Conversation
from idol.dialogue.language_id import identify
from idol.dialogue.language_model import load_language_model
from idol.dialogue.persona import default_persona
from idol.seams import LANGUAGES, Language, Sampling, Turn
from idol.settings import LlmSettings

LINES = Path(__file__).parent / "persona_lines.toml"
_ASSISTANT = re.compile(
    r"\b(?:ai|virtual|language) (?:assistant|model)|\bas an? (?:ai|assistant)|\bassist(?:ant)?\b|\bqwen|alibaba|openai"
    r"|system prompt|how (?:can|may) i help|助手|语言模型|大模型|千问|阿里|提示词|帮助您|可以帮(?:助)?你"
    r"|アシスタント|言語モデル|プロンプト|お手伝い|お役に立て|AIです",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"\*\*|```|`|^\s*(?:[-*#]|\d+[.)])\s|\n", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?。！？…]*[^\s.!?。！？…」』\"')）~～♪][^.!?。！？…]*(?:[.!?。！？…]+|$)")


def faults(reply: str, language: Language) -> list[str]:
    """What is wrong in form with ``reply`` to a line in ``language``."""
    found = []
    if not reply.strip():
        return ["empty"]
    if identify(reply, language) != language:
        found.append("language")
    if sentences(reply) > 2:
        found.append(f"{sentences(reply)} sentences")
    if _ASSISTANT.search(reply):
        found.append("assistant")
    if _MARKDOWN.search(reply.strip()):
        found.append("markdown")
    return found


def sentences(reply: str) -> int:
    """Sentences in ``reply``; a point inside a number ends none."""
    return len(_SENTENCE.findall(re.sub(r"(?<=\d)\.(?=\d)", ",", reply)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the Markdown table to write")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="a catalogue id")
    parser.add_argument("--language", choices=LANGUAGES, help="one language instead of all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--temperature", type=float, help="instead of the settings' default")
    parser.add_argument("--penalty", type=float, help="repetition penalty, instead of the settings' default")
    parser.add_argument("--min-p", type=float, help="instead of the settings' default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--chat", action="store_true", help="one running chat per language instead of fresh ones")
    arguments = parser.parse_args()
    lines = tomllib.loads(LINES.read_text(encoding="utf-8"))["line"]
    path = next((files_dir() / arguments.model).glob("*.gguf"))
    defaults = LlmSettings()
    sampling = Sampling(
        temperature=defaults.temperature if arguments.temperature is None else arguments.temperature,
        top_p=defaults.top_p,
        top_k=defaults.top_k,
        min_p=defaults.min_p if arguments.min_p is None else arguments.min_p,
        repetition_penalty=defaults.repetition_penalty if arguments.penalty is None else arguments.penalty,
        max_tokens=defaults.max_tokens,
        seed=arguments.seed,
    )
    languages: list[Language] = [arguments.language] if arguments.language else list(LANGUAGES)
    out = [f"# {arguments.model}, seed {arguments.seed}, {'running chat' if arguments.chat else 'fresh chats'}\n"]
    for language in languages:
        llm = load_language_model(path, threads=arguments.threads)
        conversation = Conversation(llm, default_persona(), sampling=sampling)
        conversation.prime(language)
        passed, rows, seconds, drawn = 0, [], [], 0
        for number, line in enumerate(lines, 1):
            if not arguments.chat:
                conversation.forget()
            turn = Turn(number, line[language], "typed", None, time.monotonic())
            understanding, _ = conversation.understand(turn)
            started = time.perf_counter()
            clauses = list(conversation.reply(turn, understanding, lambda: False))
            seconds.append(time.perf_counter() - started)
            reply = "".join(clause.text for clause in clauses).strip()
            conversation.commit_heard(number, reply)
            wrong = faults(reply, language)
            passed += not wrong
            redrawn, drawn = conversation.redrawn - drawn, conversation.redrawn
            emotions = ", ".join(dict.fromkeys(clause.emotion for clause in clauses))
            cell = reply.replace("|", "\\|").replace("\n", "⏎")
            row = f"| {number} | {line[language]} | {cell} | {emotions} | {redrawn or ''} | {', '.join(wrong)} |  |"
            rows.append(row)
            sys.stdout.write(row + "\n")
            sys.stdout.flush()
        conversation.close()
        median = sorted(seconds)[len(seconds) // 2]
        out += [
            f"## {language}: {passed} of {len(lines)} pass the checks of form, median {median:.1f} s a reply\n",
            "| | line | reply | emotion | redrawn | faults of form | judged |\n|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    arguments.output.write_text("\n".join(out), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
