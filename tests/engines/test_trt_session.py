"""The code around TensorRT on a card made of host memory: buffers, graphs, the decoder's cache, the voice's chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from engines.errors import ModelFileError, SessionError, is_shortage
from engines.models import decoder_trt
from engines.models.decoder import Candidates, Decoder, EmbeddingTable, gguf_embedding, open_embedding
from engines.models.decoder_store import WeightStore, store_weights
from engines.models.decoder_trt import TensorRTDecoder, decoder_requests
from engines.models.decoder_weights import GgufWeights
from engines.models.families import ChatModel, load_chat_model
from engines.trt import session as session_module
from engines.trt.flavours import OutOfMemory, TensorRTError
from engines.trt.session import DeviceArray, TensorRTSession
from tests.engines.fake_card import FakeContext, FakeDevice, put_graphs, write_plan
from tests.gpu.reference import exact_decoder

CAPACITY = 96


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    made = FakeDevice()
    put_graphs(monkeypatch, made.cuda)
    return made


@pytest.fixture
def double(tmp_path: Path, device: FakeDevice) -> TensorRTSession:
    """y = 2 · x, x of 1 to 8 numbers."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])], "double",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, str(tmp_path / "double.onnx"))
    plan = write_plan(tmp_path / "double.plan", tmp_path / "double.onnx", [{"x": [[1], [4], [8]]}])
    return TensorRTSession("double", plan, device)  # type: ignore[arg-type]


def test_runs_any_shape_and_captures_the_second_of_a_kind(double: TensorRTSession, device: FakeDevice) -> None:
    with double:
        for round_ in range(5):
            for n in (3, 8, 1):
                x = np.arange(n, dtype=np.float32) + round_
                assert np.array_equal(double.run({"x": x})["y"], 2 * x)
        assert device.cuda.launches == 9  # rounds three to five, three shapes each
        made = double.on_device("y")
        assert isinstance(made, DeviceArray) and made.shape == (1,)
        assert np.array_equal(double.run({"x": made})["y"], [16.0])
    assert device.cuda.blocks == {}


def test_a_refused_capture_falls_back_to_plain_runs(
    double: TensorRTSession, device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module.CudaGraph, "refuse", True)
    with double:
        for _ in range(4):
            assert np.array_equal(double.run({"x": np.ones(2, np.float32)})["y"], [2.0, 2.0])
        assert "900" in double.graph_failure and device.cuda.launches == 0


def test_wrong_inputs_are_named(double: TensorRTSession) -> None:
    with pytest.raises(SessionError, match="not loaded"):
        double.run({"x": np.ones(2, np.float32)})
    with double:
        with pytest.raises(SessionError, match="'x' is missing"):
            double.run({})
        with pytest.raises(SessionError, match="at most"):
            double.run({"x": np.ones(9, np.float32)})
        with pytest.raises(SessionError, match="unknown inputs"):
            double.run({"x": np.ones(2, np.float32), "z": np.ones(2, np.float32)})
        with pytest.raises(SessionError, match="int64"):
            double.run({"x": np.ones(2, np.int64)})
        with pytest.raises(SessionError, match="loaded already"):
            double.load()


def test_damaged_and_missing_plans(double: TensorRTSession, device: FakeDevice, tmp_path: Path) -> None:
    (tmp_path / "double.plan").write_bytes(b"\x00 not a plan")
    with pytest.raises(TensorRTError, match="does not fit"):
        double.load()
    (tmp_path / "double.plan").unlink()
    with pytest.raises(TensorRTError, match="cannot be read"):
        double.load()
    assert device.cuda.blocks == {}


def test_no_room_leaves_nothing_behind(double: TensorRTSession, device: FakeDevice) -> None:
    device.cuda.room = 100
    with pytest.raises(TensorRTError, match="do not fit"):
        double.load()
    assert device.cuda.blocks == {} and not double.loaded


def test_a_failing_card_is_told(double: TensorRTSession, monkeypatch: pytest.MonkeyPatch, device: FakeDevice) -> None:
    with double:
        double.run({"x": np.ones(2, np.float32)})
        monkeypatch.setattr(FakeContext, "fail", "an illegal memory access was encountered")
        with pytest.raises((TensorRTError, device.cuda.Error), match="illegal"):
            double.run({"x": np.ones(2, np.float32)})


def test_a_run_refused_for_lack_of_room_is_a_shortage(double: TensorRTSession, monkeypatch: pytest.MonkeyPatch) -> None:
    x = {"x": np.ones(2, np.float32)}
    with double:
        monkeypatch.setattr(FakeContext, "refuse", "Error Code 2: OutOfMemory (no further information)")
        with pytest.raises(OutOfMemory, match="double finds no room") as caught:
            double.run(x)
        assert is_shortage(caught.value)
        monkeypatch.setattr(FakeContext, "refuse", "Error Code 1: Cuda Runtime (unspecified launch failure)")
        with pytest.raises(TensorRTError, match="unspecified launch failure") as other:
            double.run(x)
        assert not is_shortage(other.value)
        monkeypatch.setattr(FakeContext, "refuse", "")
        assert np.array_equal(double.run(x)["y"], [2.0, 2.0])


def test_work_that_ended_for_lack_of_room_is_a_shortage(
    double: TensorRTSession, device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def synchronize(stream: Any) -> None:
        raise device.cuda.MemoryError("cuStreamSynchronize failed: out of memory")

    with double:
        with monkeypatch.context() as patch, pytest.raises(OutOfMemory, match="double finds no room"):
            patch.setattr(type(double.stream), "synchronize", synchronize)
            double.wait()
        double.wait()


def test_a_graph_without_room_is_captured_when_there_is_some(
    double: TensorRTSession, device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = {"x": np.ones(2, np.float32)}
    with double:
        with monkeypatch.context() as patch:
            patch.setattr(session_module.CudaGraph, "no_room", True)
            for _ in range(4):
                assert np.array_equal(double.run(x)["y"], [2.0, 2.0])
        assert not double.graph_failure and device.cuda.launches == 0
        for _ in range(3):
            assert np.array_equal(double.run(x)["y"], [2.0, 2.0])
        assert device.cuda.launches == 2


# -- the decoder -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(model_path: Callable[[str], Path]) -> Iterator[ChatModel]:
    """The reference: SmolLM2 on the CPU."""
    path = next(iter(model_path("smollm2-135m").glob("*.gguf")))
    made = load_chat_model(path, context=512)
    yield made
    made.close()


@pytest.fixture(scope="module")
def exact(model_path: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decoder]:
    """The same in float32."""
    path = next(iter(model_path("smollm2-135m").glob("*.gguf")))
    made = exact_decoder(path, tmp_path_factory.mktemp("exact"))
    yield made
    made.close()


Plain = tuple[tuple[Path, ...], GgufWeights, WeightStore]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, model_path: Callable[[str], Path]) -> Plain:
    folder = tmp_path_factory.mktemp("plain")
    weights = GgufWeights(next(iter(model_path("smollm2-135m").glob("*.gguf"))))
    plans = tuple(
        write_plan(folder / f"{request.name}.plan", request.graph, request.profiles)
        for request in decoder_requests(folder, weights.config, CAPACITY)
    )
    return plans, weights, store_weights(weights, folder, lambda fraction: None)


@pytest.fixture
def decoder(plain: Plain, device: FakeDevice) -> Iterator[TensorRTDecoder]:
    plans, weights, store = plain
    table = store.table()
    assert table is not None  # its head's matrix is the table
    made = TensorRTDecoder(weights.config, plans, device, table, store, capacity=CAPACITY)  # type: ignore[arg-type]
    made.load()
    yield made
    made.close()
    assert device.cuda.blocks == {}


@pytest.mark.models
def test_embeddings_are_read_from_the_heads_matrix(plain: Plain) -> None:
    _, weights, store = plain
    exact: EmbeddingTable = open_embedding(Path(), gguf_embedding(weights.file), weights.config)
    table = store.table()
    assert table is not None
    ids = [0, 17, weights.config.vocabulary - 1, 17]
    assert np.array_equal(table.rows(ids), exact.rows(ids).astype(np.float16).astype(np.float32))
    assert np.array_equal(table.rows([17]), table.rows(ids)[1:2])


@pytest.mark.models
def test_a_damaged_store_is_told(plain: Plain, tmp_path: Path) -> None:
    _, weights, _store = plain
    assert WeightStore(weights.config, tmp_path / "none", tied=False).table() is None
    (tmp_path / "short").write_bytes(b"x" * 4096)
    for name in ("none", "short"):
        with pytest.raises(ModelFileError, match="Remove it"):
            WeightStore(weights.config, tmp_path / name, tied=True).table()


@pytest.mark.models
def test_decoder_follows_the_reference(
    decoder: TensorRTDecoder, exact: Decoder, model: ChatModel, device: FakeDevice
) -> None:
    decoder.full_logits = True
    ids = model.template.encode([("user", "Tell me about the sea, please, in a few words.")], reply=True)
    ours, theirs = np.asarray(decoder.prefill(ids)), np.asarray(exact.prefill(ids))
    before = device.cuda.launches
    for _ in range(9):
        assert np.corrcoef(ours, theirs)[0, 1] > 0.99999
        token = int(np.argmax(theirs))
        assert int(np.argmax(ours)) == token
        ours, theirs = np.asarray(decoder.step(token)), np.asarray(exact.step(token))
    assert device.cuda.launches - before >= 5, "steps are not replayed from a graph"


@pytest.mark.models
def test_candidates_are_the_largest_logits(decoder: TensorRTDecoder, model: ChatModel) -> None:
    ids = model.template.encode([("user", "Hi")], reply=True)
    best = decoder.prefill(ids)
    assert isinstance(best, Candidates) and len(best.tokens) == 256
    decoder.full_logits = True
    decoder.cache.reset()
    logits = np.asarray(decoder.prefill(ids))
    assert np.array_equal(np.sort(logits)[::-1][:256], best.logits)
    assert np.array_equal(logits[best.tokens], best.logits)


@pytest.mark.models
def test_cache_is_reused_trimmed_and_restored(decoder: TensorRTDecoder, model: ChatModel) -> None:
    decoder.full_logits = True
    start = model.template.encode([("system", "You are a cat.")], reply=False)
    whole = [*start, *model.template.encode([("user", "What are you?")], reply=True)]
    fresh = np.asarray(decoder.prefill(whole)).copy()
    decoder.cache.reset()
    decoder.prime(start)
    assert decoder.reusable(whole) == len(start)
    decoder.prefill(model.template.encode([("user", "Something else altogether, much longer.")], reply=True))
    assert decoder.reusable(whole) == len(start)
    assert np.abs(np.asarray(decoder.prefill(whole)) - fresh).max() < 0.1
    # The last token again after a longer history: what lies behind it in the cache must not be seen.
    for token in (5, 6, 7):
        decoder.step(token)
    assert np.abs(np.asarray(decoder.prefill(whole)) - fresh).max() < 0.1


@pytest.mark.models
def test_context_is_bounded(decoder: TensorRTDecoder) -> None:
    with pytest.raises(SessionError, match="holds 96"):
        decoder.prefill([1] * (CAPACITY + 1))
    decoder.prefill([1] * CAPACITY)
    with pytest.raises(SessionError, match="is full"):
        decoder.step(1)


@pytest.mark.models
def test_a_step_without_room_goes_on_when_there_is_some(
    decoder: TensorRTDecoder, model: ChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was refused changes nothing: the same step gives the same afterwards, and becomes a graph in the end."""
    decoder.full_logits = True
    ids = model.template.encode([("user", "Hi")], reply=True)
    decoder.cache.reset()
    decoder.prefill(ids)
    wanted = np.asarray(decoder.step(7)).copy()
    decoder.cache.trim(len(ids))
    decoder._graphs.clear()
    decoder._runs.clear()
    monkeypatch.setattr(FakeContext, "refuse", "Error Code 2: OutOfMemory (no further information)")
    with pytest.raises(OutOfMemory) as caught:
        decoder.step(7)
    assert is_shortage(caught.value) and decoder.cache.length == len(ids)
    monkeypatch.setattr(FakeContext, "refuse", "")
    assert np.array_equal(np.asarray(decoder.step(7)), wanted)
    with monkeypatch.context() as patch:
        patch.setattr(decoder_trt.CudaGraph, "no_room", True)
        decoder.step(5)
    assert not decoder.graph_failure and 1 not in decoder._graphs
    decoder.step(5)
    assert 1 in decoder._graphs


@pytest.mark.models
def test_a_graph_that_never_has_room_is_tried_less_and_less(
    decoder: TensorRTDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder.cache.reset()
    decoder.prefill([1, 2])
    decoder._graphs.clear()
    decoder._runs.clear()
    tried: list[int] = []
    monkeypatch.setattr(decoder_trt.CudaGraph, "no_room", True)
    began = decoder_trt.CudaGraph.begin
    monkeypatch.setattr(decoder_trt.CudaGraph, "begin", lambda graph: (tried.append(decoder._runs[1]), began(graph)))
    for _ in range(36):
        decoder.step(5)
    assert tried == [2, 3, 5, 9, 17, 33]
