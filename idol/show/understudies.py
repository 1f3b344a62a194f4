"""What can take an engine's place while the show runs: loaded and rehearsed beside it, on the card or on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engines.errors import Cancelled, EngineError, EngineFailure, ModelFileError, SteppedAside, is_shortage
from engines.health import HealthMonitor, memory_budget
from engines.models.decoder_config import DecoderConfig
from engines.models.families import card_context, model_config
from engines.models.footprint import decoder_footprint, voice_footprint
from engines.standby import close_broken
from engines.store import files_dir
from engines.trt.flavours import OutOfMemory
from idol.dialogue.conversation import Conversation
from idol.dialogue.language_model import DecoderLanguageModel, load_language_model
from idol.dialogue.standby import StandbyLanguageModel
from idol.seams import LANGUAGES, ChatMessage, RuntimeInfo, Sampling
from idol.settings import Settings, VoiceSettings
from idol.show.cast import Candidate, Notify, Prepare, Tell
from idol.show.health import card_budget
from idol.show.interface import Notice, SwapKind
from idol.show.model_files import LARGE, MEDIUM, SMALL, fetch_remedy, model_file
from idol.voice import KokoroVoice, load_voice
from idol.voice.standby import StandbySynthesiser

if TYPE_CHECKING:
    from engines.models.decoder_trt import TensorRTDecoder
    from engines.trt.device import Device
    from idol.show.ladder import Rung
    from idol.show.residence import Residence

VOICE = "kokoro"
Admit = Callable[[int], None]


class Understudies:
    """Knows the engines in use and loads others for them. ``device`` None is a show on the CPU.

    ``another_llm`` and ``another_voice`` are ``Prepare``: they run on the loader's thread, which takes part in the
    card's context meanwhile. Everything else is the worker's. ``chores`` gets the loading of spares, for idle moments.
    """

    def __init__(
        self,
        settings: Settings,
        conversation: Conversation,
        llm: StandbyLanguageModel | None,
        voices: StandbySynthesiser,
        tell: Tell,
        *,
        model: Path | None = None,
        name: str = "",
        device: Device | None = None,
        health: HealthMonitor | None = None,
        chores: list[Callable[[], None]] | None = None,
    ) -> None:
        self.settings = settings
        self.conversation = conversation
        self.llm = llm
        self.voices = voices
        self.model = model
        """The file or folder of the language model in use, or of the one that the CPU stands in for."""
        self.name = name
        """The name under which it was chosen; empty when the CPU goes on with a model that nobody chose."""
        self.voice = VOICE
        """The folder of the voice in use, or of the one that the CPU stands in for."""
        self.device = device
        self._voice_bytes: int | None = None
        self.relief: Callable[[], bool] = lambda: False
        """Makes memory on the card when an engine found none; see ``Ladder.shortage``."""
        self.fallen: Callable[[SwapKind], None] = lambda kind: None
        """Told when an engine ran out of memory and its spare goes on; see ``Ladder.fallen``."""
        self._tell = tell
        self._health = health
        self._chores = chores if chores is not None else []
        voices.on_failure(partial(self._announce, "voice"))
        voices.on_shortage(lambda: self.relief())
        if llm is not None:
            self._listen(llm)

    def chosen(self) -> dict[SwapKind, str]:
        """See ``Engines.chosen``."""
        found: dict[SwapKind, str] = {"voice": self.voice}
        if self.name:
            found["llm"] = self.name
        return found

    # -- candidates: loader thread -------------------------------------------------------------------------------

    def swaps(self) -> dict[SwapKind, Prepare]:
        """What can be exchanged."""
        found: dict[SwapKind, Prepare] = {"voice": self.another_voice}
        if self.llm is not None:
            found["llm"] = self.another_llm
        return found

    def another_llm(
        self, name: str, notify: Notify, cancelled: Callable[[], bool], admit: Admit | None = None
    ) -> Candidate:
        """The model ``name``, rehearsed; on the card ``admit`` (``fits_beside`` by default) is asked before."""
        path = model_file(name)
        if path is None:
            raise ModelFileError(f"The language model {name!r} is not on this machine.", fetch_remedy(name))
        settings, device = self.settings.llm, self.device
        with self.card():
            model = load_language_model(
                path, threads=settings.threads, context=settings.context,
                progress=stage(notify, "language model"), cancelled=cancelled, device=device,
                admit=admit or partial(self.fits_beside, name),
            )  # fmt: skip
            try:
                stop_if(cancelled)
                greeting = [ChatMessage("user", "Hello")]
                for _ in model.generate(greeting, Sampling(temperature=0, max_tokens=2), cancelled):
                    pass  # an engine that is broken shows it here, and not on the stage
                notify(f"her memory of who she is, for {model.info.model}", None)
                language = self.conversation.rehearse(model, cancelled)
            except BaseException:
                model.close()
                raise
        resident = StandbyLanguageModel(model, *spare_llms(self.settings, path, device))

        def adopt() -> None:
            self._listen(resident)
            before = self.conversation.adopt(resident, language)
            self.llm, self.model, self.name = resident, path, name
            if before is not None:
                close_broken(before)
            if device is not None:
                self._chores.append(resident.prepare_spare)

        return Candidate(resident.info, adopt, partial(self._close, resident))

    def another_voice(
        self, name: str, notify: Notify, cancelled: Callable[[], bool], admit: Admit | None = None
    ) -> Candidate:
        """The voice engine of the folder ``name``, warm; on the card ``admit`` is asked before."""
        folder = files_dir() / Path(name).expanduser()  # an absolute path stays what it is
        if not folder.is_dir():
            raise ModelFileError(
                f"The voice engine {name!r} is not on this machine.", "Fetch it: main.py models fetch."
            )
        device = self.device
        with self.card():
            voice = load_voice(
                folder, threads=self.settings.llm.threads, progress=stage(notify, "voice"), device=device,
                cancelled=cancelled, admit=admit or partial(self.fits_beside, name),
            )  # fmt: skip
            try:
                ensure_voices(self.settings, voice, self._tell)
                for language in LANGUAGES:
                    stop_if(cancelled)
                    voice.warm((language,), stage(notify, "voice"))
                stop_if(cancelled)
            except BaseException:
                voice.close()
                raise

        def adopt() -> None:
            self.voices.replace(voice, *spare_voices(self.settings, folder, device))
            self.voice, self._voice_bytes = name, None
            if device is not None:
                self._chores.append(self.voices.prepare_spare)

        return Candidate(voice.info, adopt, partial(self._close, voice))

    # -- the card's memory ---------------------------------------------------------------------------------------

    @contextmanager
    def card(self) -> Iterator[None]:
        """The calling thread can use the card inside, where there is one."""
        if self.device is None:
            yield
            return
        with self.device.shared():
            yield

    def room(self) -> int | None:
        """Bytes that the engines may take more: what is free less what is kept for others. None without a card."""
        if self.device is None:
            return None
        sample = self._health.latest if self._health is not None else None
        budget = card_budget(sample, self.settings.health)
        if sample is not None and budget is not None:
            return budget - (sample.memory_ours or 0)
        try:
            free, total = self.device.memory()
        except self.device.cuda.Error:
            return None
        return memory_budget(total, free, 0, self.settings.health.reserve_mb * 1_000_000 or None)

    def fits_beside(self, name: str, wanted: int) -> None:
        """Raises ``OutOfMemory`` where the budget has no room for ``wanted`` bytes beside what runs."""
        room = self.room()
        if room is not None and wanted > room:
            raise OutOfMemory(
                f"{name} needs {wanted / 1e6:.0f} MB of the card beside the one in use, and only "
                f"{max(0, room) / 1e6:.0f} MB may be taken.",
                "Choose a smaller one, close other programs on the card, or start Idol again with it.",
                wanted=wanted, free=room,
            )  # fmt: skip

    def fits_now(self, name: str, wanted: int) -> None:
        """Raises ``OutOfMemory`` where not even all of the free memory would do."""
        assert self.device is not None  # asked on a card only
        free, _ = self.device.memory()
        if wanted > free:
            raise OutOfMemory(
                f"{name} needs {wanted / 1e6:.0f} MB of the card, {free / 1e6:.0f} MB are free.",
                "Close other programs on the card.", wanted=wanted, free=free,
            )  # fmt: skip

    def llm_bytes(self, path: Path) -> int:
        """Bytes of the card that the language model at ``path`` takes, estimated."""
        config: DecoderConfig = model_config(path)
        return decoder_footprint(config, card_context(self.settings.llm.context, config.context))

    def voice_bytes(self) -> int:
        """Bytes of the card that the voice takes, estimated; without its graphs where they are not there."""
        assert self.device is not None  # asked on a card only
        from engines.models.kokoro_trt import MAX_FRAMES, voice_graphs

        if self._voice_bytes is None:  # to find the graphs, the model's file is read from end to end
            graphs: list[Path] = []
            with suppress(EngineError):
                folder = voice_graphs(files_dir() / self.voice, self.device.flavour.typed, make=False)
                graphs = sorted(folder.glob("*.onnx")) if folder is not None else []
            self._voice_bytes = voice_footprint(graphs, MAX_FRAMES)
        return self._voice_bytes

    # -- worker --------------------------------------------------------------------------------------------------

    @property
    def decoder(self) -> TensorRTDecoder | None:
        """The language model's decoder where it runs on the card."""
        model = self.llm.engine if self.llm is not None else None
        return model.on_card if isinstance(model, DecoderLanguageModel) else None

    @property
    def card_voice(self) -> KokoroVoice | None:
        """The voice where it runs on the card."""
        voice = self.voices.engine
        return voice if isinstance(voice, KokoroVoice) and voice.on_card else None

    def to_spare(self, kind: SwapKind, error: Exception) -> None:
        """Let the spare of ``kind`` go on. Raises ``EngineFailure`` when it cannot be had."""
        if kind == "voice":
            self.voices.step_aside(error)
        elif self.llm is not None:
            self.llm.step_aside(error)

    def rungs(self, residence: Residence) -> Sequence[Rung]:
        """What can be given up on the card, in order."""
        from idol.show.rungs import rungs_of

        return rungs_of(self, residence)

    def leave_card(self) -> None:
        """The card is lost: everything goes on with the CPU, and what is loaded later goes there too."""
        why = SteppedAside("The graphics card does not answer.")
        on_card: tuple[tuple[SwapKind, bool], ...] = (
            ("llm", self.decoder is not None), ("voice", self.card_voice is not None),
        )  # fmt: skip
        self.device = None
        for kind, there in on_card:
            if not there:
                continue
            try:
                self.to_spare(kind, why)
            except EngineFailure as error:
                self._tell(Notice("error", error.message, error.remedy))

    # -- inside --------------------------------------------------------------------------------------------------

    def _close(self, engine: StandbyLanguageModel | KokoroVoice) -> None:
        with self.card():
            engine.close()

    def _listen(self, llm: StandbyLanguageModel) -> None:
        def renew(broken: RuntimeInfo, now: RuntimeInfo, error: Exception) -> None:
            self.conversation.renew()
            if now.model != broken.model:
                self.name = ""
            self._announce("llm", broken, now, error)

        llm.on_failure(renew)
        llm.on_shortage(lambda: self.relief())

    def _announce(self, kind: SwapKind, broken: RuntimeInfo, now: RuntimeInfo, error: Exception) -> None:
        if isinstance(error, SteppedAside):
            return  # whoever asked for it says so
        why = error.message if isinstance(error, EngineError) else str(error)
        short = self.device is not None and is_shortage(error)
        self._tell(
            Notice(
                "warning",
                f"{broken.model} on {broken.runtime} failed: {why.rstrip('.')}. "
                f"{now.model} on {now.runtime} goes on in its place.",
                "It is undone when there is room again." if short else "Start Idol again to try the first one again.",
            )
        )
        if short:
            self.fallen(kind)


def spare_llms(settings: Settings, path: Path, device: Device | None) -> list[Callable[[], DecoderLanguageModel]]:
    """What answers when the model of ``path`` breaks: for a card the same on the CPU; then the smallest other one."""
    others = [model_file(name) for name in (SMALL, MEDIUM, LARGE)]
    chosen = [path] if device is not None else []
    chosen += [other for other in others if other is not None and other != path][:1]
    return [
        partial(load_language_model, spare, threads=settings.llm.threads, context=settings.llm.context)
        for spare in chosen
    ]


def spare_voices(settings: Settings, folder: Path, device: Device | None) -> list[Callable[[], KokoroVoice]]:
    """The voice of ``folder`` on the CPU, for a card. The CPU's own has no other."""
    return [partial(load_voice, folder, threads=settings.llm.threads)] if device is not None else []


def ensure_voices(settings: Settings, voice: KokoroVoice, tell: Tell) -> None:
    """Where a voice of the settings is not among those of ``voice``, another takes its place for this run, which is
    told. Raises ``ModelFileError`` where there is none of its language."""
    for language in LANGUAGES:
        name, installed = settings.voice.name_for(language), voice.voices(language)
        if name in voice.voices():
            continue
        if not installed:
            raise ModelFileError(f"There is no voice for {language}.", f"Fetch them: main.py models fetch {VOICE}.")
        usual = VoiceSettings().name_for(language)
        other = usual if usual in installed else installed[0]
        setattr(settings.voice, language, other)
        tell(
            Notice(
                "warning",
                f"The voice {name!r} of the settings ({language} in [voice]) is not installed; {other} speaks in its "
                "place.",
                f"Choose one in the menu Voice, or name one of {', '.join(installed)}.",
            )
        )


def stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("Loading was cancelled.")


def stage(notify: Notify, what: str) -> Callable[[float, str], None]:
    """``notify`` as an engine's progress; ``what`` is said where it has no words."""
    return lambda fraction, text: notify(text or what, fraction)
