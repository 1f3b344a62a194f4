"""The voice on the real engine: what every Speech must hold, timing of the lips, limits, memory."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelFileError, SessionError
from engines.models.kokoro import KokoroEngine
from idol.seams import LANGUAGES, SAMPLE_RATE, Clause, Language, Speech, Synthesiser
from idol.settings import VoiceSettings
from idol.voice import KokoroVoice, load_voice
from idol.voice.alignment import MARGIN_SECONDS, loud_region
from idol.voice.kokoro_voice import limited
from idol.voice.leads import lead_of
from tests.voice.lines import CHINESE, ENGLISH, JAPANESE
from tests.voice.measure_lead import lip_minima

pytestmark = pytest.mark.models
_PAUSES = " .,;:!?—…“”()\"'"


def _speak(voice: KokoroVoice, text: str, language: Language = "en", name: str = "", speed: float = 1.0) -> Speech:
    speech = voice.speak(Clause(3, 1, text, "happy", language), name or VoiceSettings().name_for(language), speed)
    assert speech is not None
    return speech


def _check(speech: Speech) -> None:
    samples, spans = speech.samples, speech.spans
    assert samples.dtype == np.float32 and samples.ndim == 1 and samples.flags["C_CONTIGUOUS"]
    assert np.isfinite(samples).all() and np.abs(samples).max() <= 1.0
    assert np.abs(samples).max() > 0.02
    assert all(0 <= span.start < span.end <= len(samples) for span in spans)
    assert all(one.end <= two.start for one, two in pairwise(spans))
    first, last = loud_region(samples)
    sounding = [span for span in spans if span.phoneme not in _PAUSES]
    assert sounding[0].start <= first and sounding[-1].end >= last - 120
    assert sounding[-1].end <= last + 240
    assert first / SAMPLE_RATE <= MARGIN_SECONDS + 0.006
    assert 0.05 <= (len(samples) - last) / SAMPLE_RATE <= 0.31
    assert speech.seconds_spent > 0


@pytest.mark.parametrize(
    ("text", "language"),
    [(ENGLISH[1], "en"), ("Hi!", "en"), ("Well, however,", "en"), (CHINESE[1], "zh"), ("我在用AI唱歌", "zh"),
     (JAPANESE[0][0], "ja"), ("AIって何？", "ja"), ("你好 and ありがとう!", "en")],
)  # fmt: skip
def test_every_speech_holds(voice: KokoroVoice, text: str, language: Language) -> None:
    speech = _speak(voice, text, language)
    _check(speech)
    assert (speech.turn_id, speech.clause_index, speech.language) == (3, 1, language)
    assert not voice.phonemizer.unknown


def test_it_is_a_synthesiser(voice: KokoroVoice) -> None:
    assert isinstance(voice, Synthesiser)
    assert voice.info.engine == "voice" and "onnxruntime" in voice.info.runtime
    assert len(voice.voices()) == 54
    assert (len(voice.voices("en")), len(voice.voices("zh")), len(voice.voices("ja"))) == (28, 8, 5)


@pytest.mark.parametrize("text", ["", "🎉✨", "*waves*", "...", "\x00\x1b\u200b", "Привет"])
def test_nothing_to_say(voice: KokoroVoice, text: str) -> None:
    assert voice.speak(Clause(0, 0, text, "neutral", "en"), "af_heart") is None


def test_unknown_voice_lists_the_names(voice: KokoroVoice) -> None:
    with pytest.raises(ModelFileError, match="af_heart.*zm_yunyang"):
        voice.speak(Clause(0, 0, "Hi", "neutral", "en"), "af_hart")
    with pytest.raises(SessionError, match="0.5 to 2"):
        voice.speak(Clause(0, 0, "Hi", "neutral", "en"), "af_heart", 9.0)


@pytest.mark.parametrize("word", ["Hello", "Fine", "Sure", "Who", "She", "Think"])
def test_soft_onsets_are_kept(voice: KokoroVoice, engine: KokoroEngine, word: str) -> None:
    """What trimming drops at the front is 50 dB below the loudest part."""
    speech = _speak(voice, word + ".")
    symbols = voice.phonemizer.phonemes(speech.spoken, "en")
    whole = engine.synthesise([engine.vocabulary[symbol] for symbol in symbols], "af_heart", whole=True).audio
    onset, _ = loud_region(whole)
    assert np.sqrt(np.mean(whole[: max(1, onset - 600)] ** 2)) < 10 ** (-50 / 20) * np.abs(whole).max()
    assert loud_region(speech.samples)[1] - loud_region(speech.samples)[0] > 0.9 * (loud_region(whole)[1] - onset)


@pytest.mark.parametrize(
    ("language", "lines"),
    [("en", ["Mama made a pie, papa baked bread.", "My map, please be happy!", "A copper pepper mill, maybe a ruby."]),
     ("ja", ["パンも飲み物もたべました。", "母は今も踊ります。"]),
     ("zh", ["妈妈买苹果给爸爸。", "我们明天慢慢跑步吧。", "他把面包和米饭摆满了。"])],
)  # fmt: skip
def test_lips_close_where_the_sound_is_least(
    voice: KokoroVoice, engine: KokoroEngine, language: Language, lines: list[str]
) -> None:
    """The energy minimum of p, b and m lies in or beside its shifted span: the median within it."""
    name = VoiceSettings().name_for(language)
    places: list[float] = []
    for line in lines:
        symbols = voice.phonemizer.phonemes(voice.phonemizer.spoken(line, language), language)
        made = engine.synthesise([engine.vocabulary[symbol] for symbol in symbols], name)
        places += lip_minima(symbols, made, lead_of(name, language))
    assert len(places) >= 5
    assert -0.1 <= float(np.median(places)) <= 1.1, places


def test_a_long_clause_is_cut_and_joined(voice: KokoroVoice) -> None:
    text = "This is a sentence that goes on, with a comma in it. " * 6
    speech = _speak(voice, text, speed=2.0)
    _check(speech)
    assert len(speech.spans) > 200
    assert speech.seconds > 8


def test_loud_voices_do_not_clip() -> None:
    loud = np.linspace(-2, 2, 4001, dtype=np.float32)
    bent = limited(loud)
    assert np.abs(bent).max() < 1.0
    assert (np.diff(bent) > 0).all()
    quiet = np.abs(loud) <= 0.7
    np.testing.assert_array_equal(bent[quiet], loud[quiet])


def test_marks_make_pauses(voice: KokoroVoice) -> None:
    def tail(text: str) -> float:
        samples = _speak(voice, text).samples
        return (len(samples) - loud_region(samples)[1]) / SAMPLE_RATE

    assert 0.24 < tail("I see.") < 0.31
    assert 0.09 < tail("I see,") < 0.15


def test_all_symbols_arrive_as_spans(voice: KokoroVoice) -> None:
    speech = _speak(voice, "Hello there, my friend.")
    symbols = voice.phonemizer.phonemes(speech.spoken, "en")
    kept = "".join(span.phoneme for span in speech.spans if span.phoneme not in _PAUSES)
    wanted = "".join(symbol for symbol in symbols if symbol not in _PAUSES).replace("ˌ", "ˈ")
    assert kept == wanted


def test_memory_stays_flat_over_a_hundred_clauses(engine: KokoroEngine) -> None:
    random.seed(11)
    pool = [number for symbol, number in engine.vocabulary.items() if symbol.isalpha()]

    def clause() -> None:
        ids = random.choices(pool, k=random.randint(3, 14))
        engine.synthesise(ids, random.choice(["af_heart", "jf_alpha", "zf_xiaoxiao"]), 2.0)

    engine.synthesise(random.choices(pool, k=30), "af_heart")  # the arena grows to the longest seen
    for _ in range(20):
        clause()
    before = _resident_mb()
    for _ in range(80):
        clause()
    assert _resident_mb() < before * 1.05 + 5


def _resident_mb() -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def test_warm_pays_for_the_first_reply(model_path: object) -> None:
    folder = model_path("kokoro")  # type: ignore[operator]
    voice = load_voice(folder, threads=2)
    seen: list[str] = []
    try:
        voice.warm(("en",), lambda fraction, text: seen.append(text))
        started = time.perf_counter()
        first = _speak(voice, "It is nice to see you here.")
        first_seconds = time.perf_counter() - started
        again = min(_speak(voice, "It is nice to see you here.").seconds_spent for _ in range(2))
    finally:
        voice.close()
    _check(first)
    assert seen
    assert first_seconds < 2 * again + 0.2


@pytest.mark.parametrize("language", LANGUAGES)
def test_ten_thousand_characters_end(voice: KokoroVoice, language: Language) -> None:
    """Text and phonemes of a huge clause; the sound itself would take minutes and is not made here."""
    line = {"en": "Hello 12 friends! ", "zh": "你好12个朋友！", "ja": "こんにちは、12人の友達！"}[language]
    text = (line * 1000)[:10_000]
    started = time.perf_counter()
    voice.phonemizer.phonemes(voice.phonemizer.spoken(text, language), language)
    assert time.perf_counter() - started < 8
