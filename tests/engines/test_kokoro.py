"""Kokoro's parts against the whole int8 file, its silence cut, and what it says about bad files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from engines.errors import ModelFileError, SessionError
from engines.models import kokoro_graph as graph
from engines.models import kokoro_plain
from engines.models.kokoro import FRAME_SAMPLES, MAX_TOKENS, KokoroEngine, audible_frames, time_weights
from engines.models.kokoro_source import HarmonicSource

LINE = "həlˈO ðˈɛɹ, ˌI ɹˈiᵊli lˈIk plˈAɪŋ ɡˈAmz wɪð ˈɔl əv jˈu."
VOICE = "af_heart"


@pytest.fixture(scope="module")
def folder(model_path: Callable[[str], Path]) -> Path:
    return model_path("kokoro")


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[KokoroEngine]:
    engine = KokoroEngine(folder, threads=2)
    engine.load()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def plain(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fp32 graphs."""
    place = tmp_path_factory.mktemp("plain") / "fp32"
    graph.build(_model_file(folder), place, "fp32")
    return place


@pytest.fixture(scope="module")
def whole(folder: Path, engine: KokoroEngine) -> dict[str, NDArray[np.float32]]:
    """What the whole file gives for the line, with the tensors at the cuts."""
    model = onnx.load(str(_model_file(folder)))
    kept = [graph.DURATIONS, graph.PROSODY_FRAMES, graph.TEXT_FRAMES, graph.F0, graph.ENERGY, graph.SOURCE, graph.AUDIO]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in kept)
    ids = _ids(engine)
    inputs = {
        "tokens": np.array([[0, *ids, 0]], np.int64),
        "style": engine.style(VOICE, len(ids)),
        "speed": np.ones(1, np.float32),
    }
    return dict(zip(kept, _session(model.SerializeToString()).run(kept, inputs), strict=True))


def _model_file(folder: Path) -> Path:
    return next(folder.glob("*.onnx"))


def _ids(engine: KokoroEngine) -> list[int]:
    return [engine.vocabulary[symbol] for symbol in LINE]


def _session(model: Path | bytes) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    source = str(model) if isinstance(model, Path) else model
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def log_mel(audio: NDArray[np.float32]) -> NDArray[np.float64]:
    """80 mel bands in dB, [frames, 80], window 1024 and hop 256 at 24 kHz, floored at -70 dB."""
    size, hop, bands = 1024, 256, 80
    frequencies = np.linspace(0, 12_000, size // 2 + 1)
    points = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 12_000 / 700), bands + 2) / 2595) - 1)
    low, middle, high = points[:-2, None], points[1:-1, None], points[2:, None]
    bank = np.clip(np.minimum((frequencies - low) / (middle - low), (high - frequencies) / (high - middle)), 0, None)
    frames = np.lib.stride_tricks.sliding_window_view(audio.astype(np.float64), size)[::hop] * np.hanning(size)
    return np.asarray(10 * np.log10(np.maximum(np.abs(np.fft.rfft(frames)) ** 2 @ bank.T, 1e-7)))


def distance(audio: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """RMS difference of the log-mel spectra in dB where the first is audible (its level above -50 dB of the peak)."""
    mel, mel_other = log_mel(audio), log_mel(other)
    level = mel.max(axis=1)
    audible = level > level.max() - 50
    return float(np.sqrt(np.mean((mel - mel_other)[audible] ** 2)))


@pytest.mark.models
def test_the_cuts_are_exact(folder: Path, engine: KokoroEngine, whole: dict[str, NDArray[np.float32]]) -> None:
    model = onnx.load(str(_model_file(folder)))
    ids = _ids(engine)
    style = engine.style(VOICE, len(ids))
    values: dict[str, NDArray[np.generic]] = {
        "tokens": np.array([[0, *ids, 0]], np.int64), "style": style, "speed": np.ones(1, np.float32),
    }  # fmt: skip
    for part in (*graph.PARTS[:2], graph._SOURCE_PART, graph.PARTS[2]):
        cut = _session(graph._extract(model, part, "model").SerializeToString())
        names = [name for name, _, _ in part.inputs]
        made = cut.run(list(part.outputs), {name: values[name] for name in names})
        values |= dict(zip(part.outputs, made, strict=True))
        if part.name == "A":
            durations = values[graph.DURATIONS].reshape(-1).astype(np.int64)
            values[graph.PROSODY_FRAMES] = np.repeat(
                values[graph.PROSODY_ENCODING].swapaxes(1, 2), durations, axis=2
            ).astype(np.float32)
            values[graph.TEXT_FRAMES] = np.repeat(values[graph.TEXT_ENCODING], durations, axis=2)
    for name, wanted in whole.items():
        np.testing.assert_array_equal(values[name], wanted, err_msg=name)


@pytest.mark.models
def test_plain_graphs_are_plain(plain: Path) -> None:
    for part in graph.PARTS:
        model = onnx.load(str(plain / f"{part.name}.onnx"))
        onnx.checker.check_model(model)
        assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
        kinds = {node.op_type for node in model.graph.node}
        assert not kinds & {"STFT", "NonZero", "ScatterND", "ConvInteger", "MatMulInteger", "DynamicQuantizeLinear"}
        if part.name == "B":
            assert "Resize" not in kinds
    assert (plain / "A.onnx").stat().st_size < 90e6  # twelve layers share one set of weights


@pytest.mark.models
def test_plain_parity(
    plain: Path,
    folder: Path,
    engine: KokoroEngine,
    whole: dict[str, NDArray[np.float32]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """fp32 against the whole int8 file with its durations: F0 within 1 Hz on average, log-mel within 3 dB."""
    other = KokoroEngine(folder, threads=2, kind="fp32")
    monkeypatch.setattr(other, "_built", lambda report: plain)
    durations = whole[graph.DURATIONS].reshape(-1).astype(np.int64)
    with_f0: dict[str, NDArray[np.float32]] = {}
    other.load()
    original = other._timed

    def timed(part: str, *arguments: object) -> dict[str, NDArray[np.float32]]:
        outputs = original(part, *arguments)  # type: ignore[arg-type]
        with_f0.update(outputs)
        return outputs

    monkeypatch.setattr(other, "_timed", timed)
    try:
        made = other.synthesise(_ids(engine), VOICE, forced=durations)
    finally:
        other.close()
    f0 = whole[graph.F0].reshape(-1)
    voiced = f0 > 60
    assert np.abs(with_f0[graph.F0].reshape(-1) - f0)[voiced].mean() < 1.0
    assert len(made.audio) == durations.sum() * FRAME_SAMPLES
    assert distance(whole[graph.AUDIO].reshape(-1), made.audio) < 3.0


@pytest.mark.models
def test_source_as_in_the_graph(plain: Path, whole: dict[str, NDArray[np.float32]]) -> None:
    """Magnitudes equal; phases equal wherever there is something to have a phase; π for negative real bins."""
    source = HarmonicSource.load(plain / graph.SOURCE_FILE)
    made = source.excitation(whole[graph.F0])[0]
    wanted = whole[graph.SOURCE][0]
    assert made.shape == wanted.shape and made.dtype == np.float32
    # The graph's angles are float32 sums of thousands of turns: they are off by 0.01 after seconds, ours are not.
    np.testing.assert_allclose(made[:11], wanted[:11], atol=6e-3)
    present = wanted[:11] > 1e-2
    turn = np.exp(1j * made[11:]) - np.exp(1j * wanted[11:])
    assert np.abs(turn[present]).mean() < 0.02 and np.abs(turn[present]).max() < 0.5
    assert made[11].min() >= 0  # the DC bin is real: phase 0 or +π, never -π
    assert np.isfinite(made).all()


@pytest.mark.models
def test_source_makes_no_difference_to_the_sound(
    plain: Path, engine: KokoroEngine, whole: dict[str, NDArray[np.float32]]
) -> None:
    inputs = {name: whole[name] for name in (graph.TEXT_FRAMES, graph.F0, graph.ENERGY, graph.SOURCE)}
    inputs["style"] = engine.style(VOICE, len(LINE))
    session = _session(plain / "D.onnx")
    wanted = session.run(None, inputs)[0].reshape(-1)
    made = HarmonicSource.load(plain / graph.SOURCE_FILE).excitation(whole[graph.F0])
    # Where there is next to nothing its phase is rounding noise in both; the decoder makes breath of it.
    weak = whole[graph.SOURCE][0, :11] < 1e-2
    made[0, 11:][weak] = whole[graph.SOURCE][0, 11:][weak]
    inputs[graph.SOURCE] = made
    assert distance(wanted, session.run(None, inputs)[0].reshape(-1)) < 0.1


def test_source_of_silence_and_of_one_pitch() -> None:
    mix = np.array([1.0, 0.0, 0.5], np.float32)
    source = HarmonicSource(mix, 0.0, np.hanning(21)[:20].astype(np.float32), 5, 300, 24000.0, 0.1, 10.0)
    silent = source.excitation(np.full((1, 40), 3.0, np.float32))
    assert silent.shape == (1, 22, 40 * 60 + 1) and not silent[0, :11].any()
    # Fifty seconds on, whole turns are still taken off before any sine: two clean lines, of the mix's heights.
    tone = source._harmonics(np.full(4000, 250.0, np.float32))
    spectrum = np.abs(np.fft.rfft(tone[-48000:-24000])) / 12000
    assert spectrum[250] == pytest.approx(0.1, rel=1e-3) and spectrum[750] == pytest.approx(0.05, rel=1e-3)
    spectrum[[250, 750]] = 0
    assert spectrum.max() < 1e-4


@pytest.mark.models
def test_a_damaged_source_is_told(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "source.npz").write_bytes((plain / graph.SOURCE_FILE).read_bytes()[:100])
    with pytest.raises(ModelFileError, match="missing or damaged"):
        HarmonicSource.load(tmp_path / "source.npz")
    with pytest.raises(ModelFileError, match="missing or damaged"):
        HarmonicSource.load(tmp_path / "none.npz")


@pytest.mark.models
def test_half_products_keep_the_sound(plain: Path, engine: KokoroEngine, whole: dict[str, NDArray[np.float32]]) -> None:
    model = onnx.load(str(plain / "D.onnx"))
    half = kokoro_plain.half_products(model)
    short = sum(len(t.raw_data) for t in half.graph.initializer if t.data_type == onnx.TensorProto.FLOAT16)
    assert short > 0.95 * sum(len(tensor.raw_data) for tensor in half.graph.initializer)
    inputs = {name: whole[name] for name in (graph.TEXT_FRAMES, graph.F0, graph.ENERGY, graph.SOURCE)}
    inputs["style"] = engine.style(VOICE, len(LINE))
    full = _session(plain / "D.onnx").run(None, inputs)[0].reshape(-1)
    assert distance(full, _session(half.SerializeToString()).run(None, inputs)[0].reshape(-1)) < 0.4


@pytest.mark.models
def test_silence_is_cut_without_changing_the_sound(engine: KokoroEngine) -> None:
    ids = _ids(engine)
    whole, cut = engine.synthesise(ids, VOICE, whole=True), engine.synthesise(ids, VOICE)
    assert whole.durations.sum() * FRAME_SAMPLES == len(whole.audio)
    assert cut.durations.sum() * FRAME_SAMPLES == len(cut.audio)
    assert len(cut.audio) < 0.9 * len(whole.audio)
    skipped = int(whole.durations[0] - cut.durations[0]) * FRAME_SAMPLES
    placed = np.zeros_like(whole.audio)
    placed[skipped : skipped + len(cut.audio)] = cut.audio
    outside = np.concatenate([whole.audio[:skipped], whole.audio[skipped + len(cut.audio) :]])
    assert np.abs(outside).max() < 0.003 * np.abs(whole.audio).max()
    assert distance(whole.audio, placed) < 3.0  # the int8 activations' own error is 1.5 to 3 dB


@pytest.mark.models
def test_the_same_again(engine: KokoroEngine, folder: Path, tmp_path: Path) -> None:
    ids = _ids(engine)[:12]
    np.testing.assert_array_equal(engine.synthesise(ids, VOICE).audio, engine.synthesise(ids, VOICE).audio)
    for name in ("one", "two"):
        graph.build(_model_file(folder), tmp_path / name)
    for part in graph.PARTS:
        one, two = (tmp_path / name / f"{part.name}.onnx" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.models
def test_durations_add_up_and_speed_shortens(engine: KokoroEngine) -> None:
    ids = _ids(engine)
    slow, fast = engine.synthesise(ids, VOICE, 0.8, whole=True), engine.synthesise(ids, VOICE, 1.6, whole=True)
    assert len(slow.durations) == len(ids) + 2
    assert len(fast.audio) < 0.7 * len(slow.audio)


@pytest.mark.models
def test_limits(engine: KokoroEngine) -> None:
    with pytest.raises(SessionError, match="511 phonemes"):
        engine.synthesise([16] * (MAX_TOKENS + 1), VOICE)
    with pytest.raises(SessionError, match="0 phonemes"):
        engine.synthesise([], VOICE)
    with pytest.raises(ModelFileError, match="af_heart"):
        engine.synthesise([16], "nobody")
    assert len(engine.voice_names) == 54


def test_not_loaded() -> None:
    with pytest.raises(SessionError, match="load"):
        KokoroEngine(Path("nowhere")).synthesise([1], VOICE)


@pytest.mark.models
def test_close_gives_everything_back_and_it_loads_again(folder: Path) -> None:
    engine = KokoroEngine(folder, threads=1)
    for _ in range(2):
        engine.load()
        assert "onnxruntime" in engine.runtime
        engine.close()
        assert engine.runtime == "not loaded"
    engine.close()


@pytest.mark.models
def test_bad_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    place = tmp_path / "kokoro"
    place.mkdir()
    with pytest.raises(ModelFileError, match=r"vocab\.json"):
        KokoroEngine(place).load()
    (place / "vocab.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelFileError, match="damaged"):
        KokoroEngine(place).load()
    shutil.copy(folder / "vocab.json", place)
    with pytest.raises(ModelFileError, match="no voice model"):
        KokoroEngine(place).load()
    with _model_file(folder).open("rb") as file:
        (place / "model.onnx").write_bytes(file.read(5_000_000))
    with pytest.raises(ModelFileError, match="no ONNX file"):
        KokoroEngine(place).load()
    small = onnx.helper.make_model(onnx.helper.make_graph([], "other", [], []))
    onnx.save(small, str(place / "model.onnx"))
    with pytest.raises(ModelFileError, match="lacks the tensor"):
        KokoroEngine(place).load()
    assert not list((tmp_path / "models" / "built").glob("kokoro-*"))


@pytest.mark.models
def test_a_damaged_voice(folder: Path, tmp_path: Path) -> None:
    engine = KokoroEngine(tmp_path)
    (tmp_path / "voices").mkdir()
    (tmp_path / "voices" / "short.bin").write_bytes(b"\0" * 100)
    with pytest.raises(ModelFileError, match=r"short\.bin is damaged"):
        engine.style("short", 10)
    with pytest.raises(ModelFileError, match="short"):
        engine.style("long", 10)


@pytest.mark.models
def test_a_full_disk_leaves_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[str] = []

    def save(model: object, path: str) -> None:
        saved.append(path)
        if len(saved) == 3:
            raise OSError(28, "No space left on device")
        Path(path).write_bytes(b"x")

    monkeypatch.setattr(onnx, "save", save)
    with pytest.raises(ModelFileError, match="No space left"):
        graph.build(_model_file(folder), tmp_path / "built")
    assert not list(tmp_path.iterdir())


@pytest.mark.models
def test_built_once_by_content(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    built: list[Path] = []
    monkeypatch.setattr(graph, "build", lambda source, place, kind, report: built.append(place))
    for name in ("a", "b"):
        place = tmp_path / name
        place.mkdir()
        (place / "model.onnx").write_bytes(b"the same bytes")
        (place / "vocab.json").write_text(json.dumps({"vocab": {"a": 1}}), encoding="utf-8")
        with pytest.raises(ModelFileError):  # the stand-in builds nothing
            KokoroEngine(place).load()
    assert built[0] == built[1]


def test_audible_frames() -> None:
    durations = np.array([15, 4, 4, 20, 1])
    energy = np.full((1, 2 * 44), -9.0, np.float32)
    energy[0, 2 * 14 : 2 * 26] = 5.0
    assert audible_frames(durations, energy) == (10, 30)
    energy[0, 2 * 9] = 0.0
    assert audible_frames(durations, energy) == (5, 30)
    assert audible_frames(durations, np.full((1, 88), -9.0, np.float32)) == (0, 44)
    assert audible_frames(np.array([1, 1, 1]), np.full((1, 6), 5.0, np.float32)) == (0, 3)


@pytest.mark.parametrize("rate", kokoro_plain.RATES)
@pytest.mark.parametrize("frames", [1, 3, 8, 200])
def test_time_weights(frames: int, rate: int) -> None:
    weights = time_weights(frames, rate, 9, 20)
    steps = frames * rate + (rate == 120)
    assert weights.shape == (steps, 1)
    assert abs(float(weights.sum()) - 1) < 1e-4
    assert weights.min() > 0
    if frames == 200:
        inner = float(weights[steps // 2, 0])
        assert float(weights[0, 0]) == pytest.approx(inner * (1 + 9 / 2), rel=1e-3)
        assert float(weights[-1, 0]) == pytest.approx(inner * (1 + 20 / 2), rel=1e-3)
