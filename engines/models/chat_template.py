"""Chat templates: messages to one prompt, with the users' text kept apart from the template's control tokens.

A template is untrusted code from a model file: it is rendered in Jinja's immutable sandbox, with a limit on what comes
out. Each message's text is replaced by a marker while rendering, so that the template's own control tokens can be told
from characters a user typed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any, NoReturn

from engines.errors import ModelFileError
from engines.models.tokenizer import Tokenizer

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""Used where a model brings no template."""


class ChatTemplate:
    """Renders (role, text) messages to token ids. Raises ``ModelFileError`` when the template cannot be used."""

    def __init__(self, source: str | None, tokenizer: Tokenizer, *, bos: str = "", eos: str = "") -> None:
        from jinja2.exceptions import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda format: ""
        self._tokenizer = tokenizer
        self._names = {"bos_token": bos, "eos_token": eos}
        try:
            self._template: Any = environment.from_string(source or CHATML)
        except TemplateError as error:
            raise ModelFileError(f"The model's chat template is damaged: {error}.", "Choose another model.") from error

    def encode(self, messages: Sequence[tuple[str, str]], *, reply: bool) -> list[int]:
        """Ids of the whole prompt; ``reply`` True opens the assistant's message at the end."""
        from jinja2.exceptions import TemplateError

        marker = secrets.token_hex(8)
        marked = [{"role": role, "content": f"[{marker}:{index}]"} for index, (role, _) in enumerate(messages)]
        try:
            text = self._template.render(messages=marked, add_generation_prompt=reply, tools=None, **self._names)
        except (
            TemplateError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
        ) as error:  # fmt: skip
            raise ModelFileError(f"The model's chat template fails: {error}.", "Choose another model.") from error
        if len(text) > 100_000:
            raise ModelFileError("The model's chat template makes an endless prompt.", "Choose another model.")
        ids: list[int] = []
        run = ""
        # Text between two control tokens is encoded in one go, the template's and a user's together, as it would be
        # were the prompt one string: words at the border of both may share a token.
        for part in re.split(rf"(\[{marker}:\d+\])", text):
            found = re.fullmatch(rf"\[{marker}:(\d+)\]", part)
            for piece in [messages[int(found[1])][1]] if found else self._tokenizer.split_control(part):
                if isinstance(piece, str):
                    run += piece
                else:
                    ids += [*self._tokenizer.encode(run), piece]
                    run = ""
        return [*ids, *self._tokenizer.encode(run)]


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)
