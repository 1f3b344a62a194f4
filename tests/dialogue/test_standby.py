"""Faults put into a chat model: the reply goes on with the spare, without a repeat and without a gap."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.errors import EngineFailure, SessionError, SessionFailure, is_failure
from engines.store import files_dir
from engines.trt.flavours import TensorRTError
from idol.dialogue.conversation import Conversation
from idol.dialogue.language_model import DecoderLanguageModel, load_language_model
from idol.dialogue.persona import default_persona
from idol.dialogue.standby import StandbyLanguageModel
from idol.seams import ChatMessage, LanguageModel, RuntimeInfo, Sampling, Turn
from tests.dialogue.fake_model import FakeModel
from tests.gpu.reference import exact_decoder

REPLY = "The rain sings on the roof, and I sing along. Will you sing with me?"
MESSAGES = [ChatMessage("system", "You are Mira."), ChatMessage("user", "Do you like rain?")]
SAMPLING = Sampling(temperature=0.0, max_tokens=40)


class BrokenModel(FakeModel):
    """Breaks with ``error`` after ``pieces`` pieces."""

    def __init__(self, pieces: int, error: Exception, reply: str = REPLY) -> None:
        super().__init__(reply)
        self.left = pieces
        self.error = error

    @property
    def info(self) -> RuntimeInfo:
        return RuntimeInfo("llm", "card", "broken")

    def prime(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        raise self.error

    def anticipate(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        raise self.error

    def generate(
        self, messages: Sequence[ChatMessage], sampling: Sampling, cancelled: Callable[[], bool], said: str = ""
    ) -> Iterator[str]:
        for piece in super().generate(messages, sampling, cancelled, said):
            if self.left == 0:
                raise self.error
            self.left -= 1
            yield piece


def never() -> bool:
    return False


def text(model: LanguageModel, stop: Callable[[], bool] = never) -> str:
    return "".join(model.generate(MESSAGES, SAMPLING, stop))


@pytest.mark.parametrize("pieces", [0, 1, 5])
def test_the_reply_goes_on_where_it_was(pieces: int) -> None:
    broken, spare = BrokenModel(pieces, SessionFailure("the kernel broke")), FakeModel(REPLY)
    model = StandbyLanguageModel(broken, lambda: spare)
    switches: list[tuple[str, str, str]] = []
    model.on_failure(lambda old, new, error: switches.append((old.model, new.model, str(error))))
    assert text(model) == REPLY
    assert switches == [("broken", "fake", "the kernel broke")]
    assert broken.closed and not spare.closed and broken.generations_open == 0
    assert spare.pieces_given == -(-len(REPLY) // 3) - pieces
    assert model.info == spare.info
    assert text(model) == REPLY and len(switches) == 1
    model.close()
    assert spare.closed


@pytest.mark.parametrize("error", [TensorRTError("no answer"), EngineFailure("nan"), MemoryError()])
def test_what_counts_as_a_failure(error: Exception) -> None:
    assert is_failure(error)
    assert text(StandbyLanguageModel(BrokenModel(2, error), lambda: FakeModel(REPLY))) == REPLY


def test_an_error_of_the_cuda_bindings_counts() -> None:
    kind = type("LaunchError", (RuntimeError,), {"__module__": "pycuda._driver"})
    assert is_failure(kind("an illegal memory access"))


@pytest.mark.parametrize("error", [SessionError("the prompt has 9000 tokens"), ValueError("a user's mistake")])
def test_a_refusal_is_no_failure(error: Exception) -> None:
    broken = BrokenModel(1, error)
    model = StandbyLanguageModel(broken, lambda: FakeModel(REPLY))
    with pytest.raises(type(error)):
        text(model)
    assert not broken.closed and model.info == broken.info


def test_a_spare_that_cannot_be_loaded_ends_the_turn_and_is_tried_again() -> None:
    broken, spare = BrokenModel(1, EngineFailure("the card fell off")), FakeModel(REPLY)
    tries: list[int] = []

    def load() -> LanguageModel:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("the file is gone")
        return spare

    model = StandbyLanguageModel(broken, load)
    with pytest.raises(EngineFailure, match=r"broken failed \(the card fell off\).*the file is gone"):
        text(model)
    assert not broken.closed
    assert text(model) == REPLY and broken.closed


def test_without_a_spare_the_message_says_so() -> None:
    with pytest.raises(EngineFailure, match="it has no spare"):
        text(StandbyLanguageModel(BrokenModel(1, EngineFailure("x"))))


def test_the_spare_fails_too_and_the_next_one_goes_on() -> None:
    first, second = BrokenModel(3, EngineFailure("one")), BrokenModel(2, EngineFailure("two"))
    model = StandbyLanguageModel(first, lambda: second, lambda: FakeModel(REPLY))
    assert text(model) == REPLY
    assert first.closed and second.closed
    assert model.last_stats is not None and model.last_stats.decoded_tokens == 3 * len(REPLY)


def test_the_spare_fails_too_and_there_is_no_other() -> None:
    model = StandbyLanguageModel(BrokenModel(3, EngineFailure("one")), BrokenModel(2, EngineFailure("two")))
    with pytest.raises(EngineFailure, match="two"):
        text(model)


def test_a_cancel_during_the_switch_ends_the_reply() -> None:
    spare = FakeModel(REPLY)
    asked = False

    def load() -> LanguageModel:
        nonlocal asked
        asked = True
        return spare

    model = StandbyLanguageModel(BrokenModel(2, EngineFailure("x")), load)
    assert text(model, lambda: asked) == REPLY[:6]
    assert spare.pieces_given == 0 and model.info == spare.info


def test_a_prepared_spare_is_not_loaded_again_and_closed_with_the_rest() -> None:
    spare = FakeModel(REPLY)
    loads: list[int] = []

    def load() -> LanguageModel:
        loads.append(1)
        return spare

    model = StandbyLanguageModel(BrokenModel(1, EngineFailure("x")), load)
    model.prepare_spare()
    model.prepare_spare()
    assert loads == [1]
    assert text(model) == REPLY and loads == [1]
    idle = StandbyLanguageModel(FakeModel(REPLY), load)
    idle.prepare_spare()
    idle.close()
    assert spare.closed


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowModel(FakeModel):
    """Its fourth token takes ``seconds`` of the clock."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(REPLY)
        self.clock = clock
        self.seconds = seconds

    def generate(
        self, messages: Sequence[ChatMessage], sampling: Sampling, cancelled: Callable[[], bool], said: str = ""
    ) -> Iterator[str]:
        for number, piece in enumerate(super().generate(messages, sampling, cancelled, said)):
            yield piece
            if number == 3:
                self.clock.now += self.seconds


@pytest.mark.parametrize(("seconds", "switched"), [(9.9, False), (10.1, True)])
def test_a_slow_step_counts_as_a_failure(seconds: float, switched: bool) -> None:
    clock = Clock()
    slow, spare = SlowModel(clock, seconds), FakeModel(REPLY)
    model = StandbyLanguageModel(slow, lambda: spare, clock=clock)
    assert text(model) == REPLY
    assert slow.closed is switched


def test_a_slow_model_stays_where_there_is_nothing_better() -> None:
    clock = Clock()

    def load() -> LanguageModel:
        raise OSError("gone")

    for model in (
        StandbyLanguageModel(SlowModel(clock, 60.0), clock=clock),
        StandbyLanguageModel(SlowModel(clock, 60.0), load, clock=clock),
    ):
        assert text(model) == REPLY


def test_a_slow_listener_is_not_a_slow_step() -> None:
    clock = Clock()
    first = FakeModel(REPLY)
    pieces = []
    for piece in StandbyLanguageModel(first, lambda: FakeModel("x"), clock=clock).generate(MESSAGES, SAMPLING, never):
        pieces.append(piece)
        clock.now += 30.0
    assert "".join(pieces) == REPLY and not first.closed


def test_priming_goes_on_with_the_spare() -> None:
    broken, spare = BrokenModel(0, EngineFailure("x")), FakeModel(REPLY)
    model = StandbyLanguageModel(broken, lambda: spare)
    assert model.prime(MESSAGES) and spare.primed == [MESSAGES]
    assert model.anticipate(MESSAGES) and spare.anticipated == [MESSAGES]
    with pytest.raises(EngineFailure):
        StandbyLanguageModel(BrokenModel(0, EngineFailure("x"))).prime(MESSAGES)


def test_a_smaller_context_leaves_out_the_oldest_exchanges() -> None:
    long = [
        ChatMessage("system", "Mira"),
        *(ChatMessage(role, "old " * 20) for _ in range(5) for role in ("user", "assistant")),
        ChatMessage("user", "now"),
    ]
    spare = FakeModel(REPLY, context=300)
    model = StandbyLanguageModel(BrokenModel(1, EngineFailure("x")), lambda: spare)
    assert "".join(model.generate(long, SAMPLING, never)) == REPLY
    assert spare.prompts[0][0] == long[0] and spare.prompts[0][-1] == long[-1] and len(spare.prompts[0]) < len(long)


def test_a_conversation_learns_of_the_switch() -> None:
    reply = "I love rainy days, star! They sound like tiny drums."
    spare = FakeModel(reply, context=1500)
    model = StandbyLanguageModel(BrokenModel(4, EngineFailure("x"), reply), lambda: spare)
    conversation = Conversation(model, default_persona())
    conversation._unprimed.clear()  # as after the start
    model.on_failure(lambda old, new, error: conversation.renew())
    turn = Turn(1, "Do you like rain?", "typed", "en", 0.0)
    understanding, _ = conversation.understand(turn)
    said = [clause.text for clause in conversation.reply(turn, understanding, never)]
    assert "".join(said) == reply
    conversation.commit_heard(1, reply)
    assert len(spare.primed) == 1  # in the language of the reply, before it went on
    assert conversation.prepare(never)  # the others in idle moments
    assert len(spare.primed) == 2
    assert conversation.info.model == "fake"


# -- the real thing ------------------------------------------------------------------------------------------------

SMOLLM = files_dir() / "smollm2-135m" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def broken_decoder(model: DecoderLanguageModel, at: int, result: Callable[[], NDArray[np.float32]]) -> None:
    """Make the step after ``at`` tokens give ``result()``."""
    decoder = model._model.decoder
    sound, steps = decoder.step, iter(range(1, 1000))

    def step(token: int) -> NDArray[np.float32]:
        return result() if next(steps) == at else sound(token)  # type: ignore[return-value]

    decoder.step = step  # type: ignore[method-assign]


def nan() -> NDArray[np.float32]:
    return np.full(49152, np.nan, np.float32)


def broken() -> NDArray[np.float32]:
    raise SessionFailure("the kernel broke")


@pytest.mark.models
@pytest.mark.parametrize("fault", [broken, nan])
def test_smollm_breaks_at_token_five(
    fault: Callable[[], NDArray[np.float32]], model_path: object, tmp_path: Path
) -> None:
    model_path("smollm2-135m")  # type: ignore[operator]

    def exact() -> DecoderLanguageModel:
        """In float32: with 8-bit activations, one row and many are rounded differently, by some 4 % of the logits'
        spread, and then the processor decides between near-equal tokens."""
        made = load_language_model(SMOLLM, threads=2, context=512)
        made._model.decoder.close()
        made._model.decoder = exact_decoder(SMOLLM, Path(tempfile.mkdtemp(dir=tmp_path)))
        return made

    sampling = Sampling(temperature=0.0, repetition_penalty=1.1, max_tokens=48)
    messages = [ChatMessage("user", "Write one short sentence about the sea.")]
    first, second = exact(), exact()
    whole = "".join(first.generate(messages, sampling, never))
    broken_decoder(first, 5, fault)
    model = StandbyLanguageModel(first, second)
    pieces = list(model.generate(messages, sampling, never))
    said, rest = "".join(pieces[:5]), "".join(pieces[5:])
    assert whole.startswith(said) and said.count(" ") >= 3
    again = exact()
    assert rest == "".join(again.generate(messages, sampling, never, said))
    again.close()
    assert whole.startswith((said + rest)[: len(said) + 40])
    assert (said + rest).rstrip().endswith(".") and (said + rest).count(said) == 1
    assert model.last_stats is not None
    assert 5 < model.last_stats.decoded_tokens <= 48 and model.info.model == second.info.model
    assert "".join(model.generate(messages, sampling, never))[:60] == whole[:60]  # and from the start again
    model.close()


@pytest.mark.models
def test_the_beginning_counts_among_the_tokens(model_path: object) -> None:
    model_path("smollm2-135m")  # type: ignore[operator]
    model = load_language_model(SMOLLM, threads=2, context=512)
    messages = [ChatMessage("user", "Count from one to twenty.")]
    assert model.info.model == "SmolLM2-135M-Instruct"  # as the catalogue has it, not as the file
    said = "One, two, three, four,"
    rest = "".join(model.generate(messages, Sampling(temperature=0.0, max_tokens=12), never, said))
    assert model.last_stats is not None and 0 < model.last_stats.decoded_tokens <= 12 - 7
    assert "five" in rest and "one," not in rest.lower()
    assert list(model.generate(messages, Sampling(max_tokens=3), never, said)) == []
    model.close()
