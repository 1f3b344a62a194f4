"""A whole show on a card made of host memory: tiny language models on it, and a voice of beeps that takes blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.errors import ModelFileError
from engines.health import HealthSample, Pressure, PressureKind
from idol.seams import SAMPLE_RATE, Clause, Language, PhonemeSpan, RuntimeInfo, Speech
from idol.settings import AudioSettings, Settings
from idol.show import assembly, understudies
from idol.show.interface import Notice, Ready, ShowEvent, TurnEnded
from idol.show.model_files import MEDIUM, SMALL
from idol.show.show import Show
from idol.voice import KokoroVoice
from tests.engines.fake_card import FakeDevice, put_graphs, put_plans

TINY = Path(__file__).parent.parent / "data/llm/tiny_llama_f16.gguf"
PERSONA = """
name = "Io"
description = "You are Io."
style = "short"
[names]
en = "Io"
zh = "Io"
ja = "Io"
[greeting]
en = "Hi."
zh = "Hi."
ja = "Hi."
[fallback]
en = ["Let us talk about rain."]
zh = ["雨。"]
ja = ["雨だよ。"]
"""
LOADER = "idol-loader"


def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


class Beeps(KokoroVoice):
    """Says each clause as 80 ms of a tone. On a card it holds two blocks, and takes a third for its first clause."""

    def __init__(self, name: str, device: FakeDevice | None) -> None:
        self.name = name
        self._device = device
        self._blocks: list[Any] = []
        self.said: list[str] = []
        self.short = False
        if device is not None:
            try:
                self._blocks = [device.allocate(200_000)]
                self._blocks.append(device.allocate(100_000))
            except BaseException:
                self.close()
                raise

    @property
    def info(self) -> RuntimeInfo:
        return RuntimeInfo("voice", "card" if self._device is not None else "cpu", self.name)

    @property
    def on_card(self) -> bool:
        return self._device is not None

    def shorten(self, on: bool) -> None:
        self.short = on

    def voices(self, language: Language | None = None) -> tuple[str, ...]:
        return ("af_heart", "zf_xiaoxiao", "jf_alpha")

    def warm(self, languages: tuple[Language, ...] = (), progress: Any = None) -> None:
        if self._device is not None and len(self._blocks) == 2:
            self._blocks.append(self._device.allocate(5000))

    def preload(self, languages: tuple[Language, ...] = ()) -> None: ...

    def speak(self, clause: Clause, voice: str, speed: float = 1.0) -> Speech | None:
        assert self._device is None or self._blocks, "it is closed"
        if self._device is not None:
            block = self._device.allocate(1000)  # so that speech can run out of memory too
            block.free()
        self.said.append(clause.text)
        samples = np.full(SAMPLE_RATE * 8 // 100, 0.1, np.float32)
        span = (PhonemeSpan("a", 0, len(samples)),)
        return Speech(clause.turn_id, clause.index, samples, span, clause.language, clause.text, 0.001)

    def close(self) -> None:
        for block in self._blocks:
            block.free()
        self._blocks.clear()


class CardRig:
    """Starts a show whose language model is ``MEDIUM`` (a tiny one), with ``SMALL`` beside it on the disk."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, room: int = 2 << 30) -> None:
        self.devices: list[FakeDevice] = []
        self.samples_at: Callable[[], float] = time.monotonic
        monkeypatch.setenv("IDOL_MODELS", str(folder / "models"))
        raw = TINY.read_bytes()
        context = b"llama.context_length\x04\x00\x00\x00"
        raw = raw.replace(context + b"\x00\x01\x00\x00", context + b"\x00\x10\x00\x00")  # 4096 tokens
        for name, more in ((MEDIUM, bytes(4096)), (SMALL, b"")):
            place = folder / "models" / "files" / name / f"{name}.gguf"
            place.parent.mkdir(parents=True)
            place.write_bytes(raw + more)
        (folder / "models" / "files" / "kokoro").mkdir()
        (folder / "models" / "files" / "other").mkdir()
        (folder / "persona.toml").write_text(PERSONA, encoding="utf-8")

        def open_device(wanted: str, notify: object) -> FakeDevice:
            device = FakeDevice(room)
            put_graphs(monkeypatch, device.cuda)
            self.devices.append(device)
            return device

        def load_voice(place: Path, *, device: FakeDevice | None = None, admit: Any = None, **_: object) -> Beeps:
            if place.name == "damaged":
                raise ModelFileError("The voice is damaged.", "Fetch it again.")
            if device is not None and admit is not None:
                admit(400_000)
            return Beeps(place.name, device)

        self.plan: Callable[[Path], Path] = lambda path: path
        put_plans(monkeypatch, folder, lambda plan: self.plan(plan))
        monkeypatch.setattr(assembly, "open_device", open_device)
        monkeypatch.setattr(assembly, "load_voice", load_voice)
        monkeypatch.setattr(understudies, "load_voice", load_voice)
        settings = Settings()
        settings.persona = str(folder / "persona.toml")
        settings.llm.model = MEDIUM
        settings.llm.context = 1024
        settings.llm.max_tokens = 12
        settings.llm.threads = 1
        settings.audio = AudioSettings(output="none")
        settings.health.log = "off"
        self.show: Show = assembly.make_show(settings, seed=1)
        self.events: list[ShowEvent] = []
        self.show.subscribe(self.events.append)

    def __enter__(self) -> CardRig:
        self.show.start()
        until(lambda: self.of(Ready) or self.show.overlay().state == "failed", 60)
        assert self.show.overlay().state != "failed", self.of(Notice)
        self.rest()
        return self

    def __exit__(self, *_: object) -> None:
        self.device.cuda.refuse = lambda kind, size: False
        self.show.close()
        cuda = self.device.cuda
        assert cuda.blocks == {} and cuda.strays == [] and len(cuda.contexts) == 0

    @property
    def device(self) -> FakeDevice:
        return self.devices[0]

    @property
    def crew(self) -> understudies.Understudies:
        engines = self.show.engines
        assert engines is not None and isinstance(engines.card, understudies.Understudies)
        return engines.card

    def rest(self) -> None:
        """Wait until idle work is done: spares are loaded, languages primed."""
        engines = self.show.engines
        assert engines is not None
        until(lambda: not engines.chores and not self.crew.conversation._unprimed)
        time.sleep(0.15)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def said(self, words: str) -> bool:
        return any(words in notice.text for notice in self.of(Notice))

    def ended(self, turn: int) -> TurnEnded:
        until(lambda: any(end.turn_id == turn for end in self.of(TurnEnded)))
        return next(end for end in self.of(TurnEnded) if end.turn_id == turn)  # type: ignore[no-any-return]

    def ask(self, line: str = "Do you like rain?") -> TurnEnded:
        return self.ended(self.show.submit(line))

    def press(self, kind: PressureKind, level: int, **more: Any) -> None:
        """As the health monitor would announce it."""
        sample = HealthSample(time.monotonic(), time.time(), "Fake card", **more)
        self.show._pressures.put(Pressure(kind, level, sample.at, sample))


def only_on_the_loader(refuse: Callable[[str, int], bool]) -> Callable[[str, int], bool]:
    """``refuse`` what the loader's thread asks for; what the running engines ask for is given."""
    return lambda kind, size: threading.current_thread().name == LOADER and refuse(kind, size)
