"""One card for several threads, and what happens where its memory ends: on a card made of host memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engines.errors import Cancelled, SessionError
from engines.models.decoder_trt import TensorRTDecoder
from engines.models.families import ChatModel, load_trt_chat_model
from engines.trt.flavours import OutOfMemory, TensorRTError
from tests.engines.fake_card import FakeDevice, put_graphs, put_plans

TINY = Path(__file__).parent.parent / "data/llm/tiny_llama_f16.gguf"
IDS = [3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46]


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDevice]:
    made = FakeDevice()
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    put_graphs(monkeypatch, made.cuda)
    put_plans(monkeypatch, tmp_path)
    yield made
    made.close()
    assert made.cuda.strays == [] and made.cuda.blocks == {} and made.cuda.depth == 0


def load(device: FakeDevice, **more: object) -> ChatModel:
    return load_trt_chat_model(TINY, device, context=128, **more)  # type: ignore[arg-type]


def card_decoder(model: ChatModel) -> TensorRTDecoder:
    assert isinstance(model.decoder, TensorRTDecoder)
    model.decoder.full_logits = True
    return model.decoder


def on_thread(work: Callable[[], object]) -> list[BaseException]:
    troubles: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            troubles.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return troubles


def test_another_thread_loads_and_the_owner_runs_and_gives_back(device: FakeDevice) -> None:
    made: list[ChatModel] = []

    def work() -> None:
        with device.shared(), device.shared():
            made.append(load(device))

    assert on_thread(work) == []
    decoder = card_decoder(made[0])
    first = np.asarray(decoder.prefill(IDS))
    decoder.step(7)
    assert np.abs(np.asarray(decoder.prefill(IDS)) - first).max() < 1e-2
    made[0].close()


def test_a_thread_without_the_context_gets_nothing(device: FakeDevice) -> None:
    (error,) = on_thread(lambda: device.allocate(1000))
    assert "no currently active context" in str(error)


def test_each_thread_has_a_runtime_of_its_own(device: FakeDevice) -> None:
    found: list[object] = []

    def work() -> None:
        with device.shared():
            found.extend([device.runtime, device.runtime])

    on_thread(work)
    on_thread(work)
    assert found[0] is found[1] and found[2] is found[3]
    assert device.runtime is device.runtime and device.runtime not in found


def test_it_is_not_closed_under_a_thread_that_is_inside() -> None:
    device = FakeDevice()
    inside, go = threading.Event(), threading.Event()

    def work() -> None:
        with device.shared():
            inside.set()
            go.wait(5)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(5)
    with pytest.raises(TensorRTError, match="still in use by 1 thread"):
        device.close()
    assert "opened it" in str(on_thread(device.close)[0])
    go.set()
    thread.join()
    device.close()
    device.close()
    with pytest.raises(TensorRTError, match="not in use any more"), device.shared():
        pass


def test_a_lack_of_memory_says_how_much_was_wanted(device: FakeDevice) -> None:
    device.cuda.room = 5000
    with pytest.raises(OutOfMemory, match="do not fit on Fake card") as caught:
        device.allocate(9000)
    assert (caught.value.wanted, caught.value.free) == (9000, 5000) and caught.value.remedy
    device.cuda.refuse = lambda kind, size: kind == "page-locked"
    with pytest.raises(OutOfMemory, match="cannot be locked") as caught:
        device.pinned(700)
    assert (caught.value.wanted, caught.value.free) == (700, None)
    with pytest.raises(OutOfMemory, match="The voice finds no room"), device.within_memory("The voice"):
        raise device.cuda.MemoryError("from anywhere")


def test_a_load_that_finds_no_room_leaves_nothing_at_each_of_its_allocations(device: FakeDevice) -> None:
    for failing in range(100):
        count = iter(range(1000))
        device.cuda.refuse = lambda kind, size, at=failing, count=count: next(count) == at  # type: ignore[misc]
        try:
            with device.shared():  # an error's frames would keep contexts
                model = load(device)
        except OutOfMemory as error:
            assert error.remedy and device.cuda.blocks == {} and len(device.cuda.contexts) == 0, failing
        else:
            break
    assert failing > 15  # blocks, page-locked memory and contexts were all refused once
    device.cuda.refuse = lambda kind, size: False
    assert np.isfinite(np.asarray(card_decoder(model).prefill(IDS))).all()
    model.close()


def test_a_cancelled_load_leaves_nothing(device: FakeDevice) -> None:
    asked = iter(range(1000))
    with pytest.raises(Cancelled):
        load(device, cancelled=lambda: bool(device.cuda.blocks) and next(asked) > 2)


def test_what_is_not_admitted_is_not_begun(device: FakeDevice) -> None:
    told: list[int] = []

    def refuse(wanted: int) -> None:
        told.append(wanted)
        if len(told) == 2:
            raise OutOfMemory("too large", wanted=wanted)

    device.cuda.refuse = lambda kind, size: pytest.fail("something was allocated")
    with pytest.raises(OutOfMemory, match="too large"):
        load(device, admit=refuse)
    assert told[1] > told[0] > 64 << 20  # the second time with the plans


@pytest.fixture
def decoder(device: FakeDevice) -> Iterator[TensorRTDecoder]:
    model = load(device)
    yield card_decoder(model)
    device.cuda.refuse = lambda kind, size: False
    model.close()


def test_a_shorter_context_answers_the_same_and_takes_less(decoder: TensorRTDecoder, device: FakeDevice) -> None:
    expected, whole = np.asarray(decoder.prefill(IDS)).copy(), device.cuda.used
    assert decoder.capacities == (64, 128)
    decoder.resize(64)
    assert decoder.capacity == 64 and device.cuda.used < whole
    assert np.abs(np.asarray(decoder.prefill(IDS)) - expected).max() < 1e-2
    with pytest.raises(SessionError, match="holds 64"):
        decoder.prefill([1] * 65)
    decoder.resize(128)
    assert device.cuda.used == whole
    assert np.abs(np.asarray(decoder.prefill(IDS)) - expected).max() < 1e-2
    with pytest.raises(SessionError, match="context of 100 tokens"):
        decoder.resize(100)


def test_no_room_for_a_longer_context_leaves_the_shorter(decoder: TensorRTDecoder, device: FakeDevice) -> None:
    decoder.resize(64)
    expected = np.asarray(decoder.prefill(IDS)).copy()
    decoder.step(9)
    before = device.cuda.used
    for failing in range(20):
        count = iter(range(1000))
        device.cuda.refuse = lambda kind, size, at=failing, count=count: next(count) == at  # type: ignore[misc]
        try:
            decoder.resize(128)
        except OutOfMemory:
            assert decoder.capacity == 64 and device.cuda.used == before, failing
            assert np.abs(np.asarray(decoder.prefill(IDS)) - expected).max() < 1e-2
            decoder.step(9)
        else:
            break
    assert failing > 3 and decoder.capacity == 128


def test_a_shorter_context_that_finds_no_room_closes_the_decoder(decoder: TensorRTDecoder, device: FakeDevice) -> None:
    device.cuda.refuse = lambda kind, size: kind == "context"
    with pytest.raises(OutOfMemory):
        decoder.resize(64)
    assert device.cuda.blocks == {}
    with pytest.raises(SessionError, match="not loaded"):
        decoder.prefill(IDS)


def test_shorter_chunks_answer_the_same(decoder: TensorRTDecoder, device: FakeDevice) -> None:
    ids = IDS * 5
    for _ in range(2):
        decoder.cache.reset()
        expected = np.asarray(decoder.prefill(ids)).copy()
    decoder.cache.reset()
    decoder.prefill(IDS)
    decoder.cache.reset()
    decoder.prefill(IDS)
    decoder.limit_chunk(24)
    assert decoder.chunk == 24 and max(decoder._graphs) == 16
    decoder.cache.reset()
    assert np.abs(np.asarray(decoder.prefill(ids)) - expected).max() < 1e-2
    decoder.limit_chunk(0)
    assert decoder.chunk == 8
    decoder.limit_chunk(64)
    decoder.cache.reset()
    assert np.abs(np.asarray(decoder.prefill(ids)) - expected).max() < 1e-2


def test_a_primed_prompt_that_finds_no_room_is_held_all_the_same(decoder: TensorRTDecoder, device: FakeDevice) -> None:
    decoder.prime(IDS)
    used = device.cuda.used
    device.cuda.refuse = lambda kind, size: True
    with pytest.raises(OutOfMemory):
        decoder.prime([*IDS, 5])
    assert decoder.cache.length == len(IDS) + 1 and device.cuda.used == used
    assert decoder.drop_snapshots() and not decoder.drop_snapshots()
    assert device.cuda.used < used


def test_the_program_for_a_real_card_runs_here_too(device: FakeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.gpu import swap

    monkeypatch.setattr(swap, "_LEFT", 100_000)
    device.cuda.room = 20 << 20
    found = swap.measure(device, TINY, TINY, 128)
    assert found["beside"]["lost_bytes"] == 0 and found["without_room"]["lost_bytes"] == 0
    assert found["shorter"]["64"]["given_back"] > 0 and "do not fit" in found["without_room"]["said"]
