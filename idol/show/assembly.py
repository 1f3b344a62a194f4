"""Puts a show together from the settings: which models, which voice, which device."""

from __future__ import annotations

import json
import logging
import os
import platform
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.errors import Cancelled, EngineError, ModelFileError
from engines.health import HealthMonitor
from engines.models.decoder_config import KNOWN_ARCHITECTURES
from engines.standby import close_broken
from engines.store import files_dir
from engines.trt.flavours import TensorRTError, choose
from idol.audio import open_output
from idol.dialogue.conversation import Conversation
from idol.dialogue.history import History
from idol.dialogue.language_model import DecoderLanguageModel, load_language_model, measure_speed
from idol.dialogue.moderation import Blocklist
from idol.dialogue.persona import Persona, default_persona, load_persona
from idol.dialogue.standby import StandbyLanguageModel
from idol.face.behaviour import BehaviourMixer
from idol.face.planner import RulePlanner
from idol.face.track import FaceTrack
from idol.seams import LANGUAGES, ChatMessage, Language, RuntimeInfo, Sampling
from idol.settings import Settings, data_dir
from idol.show.cast import Candidate, Engines, Notify, Prepare, Tell
from idol.show.health import make_monitor, watch_card_of
from idol.show.interface import Notice, SwapKind
from idol.show.show import Show
from idol.show.speech_line import SpeechLine
from idol.voice import KokoroVoice, load_voice
from idol.voice.standby import StandbySynthesiser

if TYPE_CHECKING:
    from engines.trt.device import Device

log = logging.getLogger(__name__)
LARGE, MEDIUM, SMALL = "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m"
_SPEED_DAYS = 3
ENOUGH_TOKENS_PER_SECOND = 12.0
"""Below this rate the larger model keeps a listener waiting; the next smaller one is taken."""


def make_show(
    settings: Settings,
    *,
    with_llm: bool = True,
    seed: int | None = None,
    remember: bool = False,
    pictured: bool = False,
) -> Show:
    """A show that loads what ``settings`` say when it is started.

    ``remember`` keeps the chat in the data folder; ``pictured`` means that a window draws her meanwhile.
    """

    def load(notify: Notify, cancelled: Callable[[], bool]) -> Engines:
        return _load(settings, health, notify, show.announce, cancelled, with_llm, seed, remember)

    health = make_monitor(settings.health)
    show = Show(load, BehaviourMixer(), yielding=pictured, health=health)
    return show


def _load(
    settings: Settings,
    health: HealthMonitor,
    notify: Notify,
    tell: Tell,
    cancelled: Callable[[], bool],
    with_llm: bool,
    seed: int | None,
    remember: bool,
) -> Engines:
    persona = load_persona(Path(settings.persona)) if settings.persona else default_persona()
    device = open_device(settings.engines.runtime, notify)
    if device is not None:
        watch_card_of(device, health)
        try:
            return _load_on(device, settings, persona, notify, tell, cancelled, with_llm, seed, remember)
        except TensorRTError as error:
            log.warning("the CPU takes over: %s", error)
            notify(f"the CPU takes over: {error.message}", None)
    return _load_on(None, settings, persona, notify, tell, cancelled, with_llm, seed, remember)


def open_device(wanted: str, notify: Notify) -> Device | None:
    """The card with TensorRT that ``wanted`` (see ``EngineSettings``) asks for, None for the CPU."""
    choice = choose(wanted)
    if choice.flavour is None:
        log.info("engines on the CPU: %s", choice.reason)
        return None
    from engines.trt.device import Device

    try:
        return Device(choice)
    except TensorRTError as error:
        log.warning("engines on the CPU: %s", error)
        notify(f"the CPU takes over: {error.message}", None)
        return None


def _load_on(
    device: Device | None,
    settings: Settings,
    persona: Persona,
    notify: Notify,
    tell: Tell,
    cancelled: Callable[[], bool],
    with_llm: bool,
    seed: int | None,
    remember: bool,
) -> Engines:
    with ExitStack() as owned:
        if device is not None:
            owned.callback(device.close)
        notify("voice", None)
        voice = load_voice(
            files_dir() / "kokoro", threads=settings.llm.threads, progress=_stage(notify, "voice"), device=device,
            cancelled=cancelled,
        )  # fmt: skip
        owned.callback(voice.close)
        _check_voices(settings, voice)
        llm = _load_llm(settings, notify, cancelled, device) if with_llm else None
        if llm is not None:
            owned.callback(llm.close)
        voices = StandbySynthesiser(voice, *_spare_voices(settings, device))
        conversation = _conversation(settings, persona, llm, seed, remember)
        _announce_switches(conversation, llm, voices, tell)
        language = _first_language()
        notify(f"her memory of who she is ({language})", None)
        conversation.prime(language, cancelled)
        _stop_if(cancelled)
        voice.warm((language,), _stage(notify, "voice"))
        _stop_if(cancelled)
        owned.pop_all()  # the show closes them from here on
    line = SpeechLine(open_output(settings.audio), RulePlanner(), FaceTrack())
    chores: list[Callable[[], None]] = [partial(voice.preload, (other,)) for other in LANGUAGES if other != language]
    if device is not None:  # the card's spares wait in the computer's memory, ready
        chores += [*([llm.prepare_spare] if llm is not None else []), voices.prepare_spare]
    return Engines(
        conversation, voices, line, settings.voice.name_for, settings.voice.speed, [*chores],
        device.close if device is not None else lambda: None,
        *_swaps(settings, conversation, llm, voices, tell, device),
    )  # fmt: skip


def _spare_voices(settings: Settings, device: Device | None) -> list[Callable[[], KokoroVoice]]:
    """The voice on the CPU, for a card. The CPU's own has no other."""
    return [partial(load_voice, files_dir() / "kokoro", threads=settings.llm.threads)] if device is not None else []


def _spare_llms(settings: Settings, path: Path, device: Device | None) -> list[Callable[[], DecoderLanguageModel]]:
    """What answers when the model of ``path`` breaks: for a card the same on the CPU; then the smallest other one."""
    others = [model_file(name) for name in (SMALL, MEDIUM, LARGE)]
    chosen = [path] if device is not None else []
    chosen += [other for other in others if other is not None and other != path][:1]
    return [
        partial(load_language_model, spare, threads=settings.llm.threads, context=settings.llm.context)
        for spare in chosen
    ]


def _check_voices(settings: Settings, voice: KokoroVoice) -> None:
    for language in LANGUAGES:
        if settings.voice.name_for(language) not in voice.voices():
            raise ModelFileError(
                f"The voice {settings.voice.name_for(language)!r} of the settings is not installed.",
                f"Installed voices: {', '.join(voice.voices(language))}.",
            )


def _swaps(
    settings: Settings,
    conversation: Conversation,
    llm: StandbyLanguageModel | None,
    voices: StandbySynthesiser,
    tell: Tell,
    device: Device | None,
) -> tuple[dict[SwapKind, Prepare], str]:
    """What can be exchanged while the show runs, and why the rest cannot."""
    if device is not None:
        return {}, (
            f"Engines on {device.card.name} are not exchanged while the show runs yet. "
            "Choose the model in the settings and start Idol again."
        )

    def another_llm(name: str, notify: Notify, cancelled: Callable[[], bool]) -> Candidate:
        path = model_file(name)
        if path is None:
            raise ModelFileError(f"The language model {name!r} is not on this machine.", _fetch_remedy(name))
        model = load_language_model(
            path, threads=settings.llm.threads, context=settings.llm.context,
            progress=_stage(notify, "language model"), cancelled=cancelled,
        )  # fmt: skip
        try:
            _stop_if(cancelled)
            for _ in model.generate([ChatMessage("user", "Hello")], Sampling(temperature=0, max_tokens=2), cancelled):
                pass  # an engine that is broken shows it here, and not on the stage
            notify(f"her memory of who she is, for {model.info.model}", None)
            language = conversation.rehearse(model, cancelled)
        except BaseException:
            model.close()
            raise
        resident = StandbyLanguageModel(model, *_spare_llms(settings, path, None))

        def adopt() -> None:
            _announce_switches(conversation, resident, None, tell)
            before = conversation.adopt(resident, language)
            if before is not None:
                close_broken(before)

        return Candidate(resident.info, adopt, resident.close)

    def another_voice(name: str, notify: Notify, cancelled: Callable[[], bool]) -> Candidate:
        folder = files_dir() / Path(name).expanduser()  # an absolute path stays what it is
        if not folder.is_dir():
            raise ModelFileError(
                f"The voice engine {name!r} is not on this machine.", "Fetch it: main.py models fetch."
            )
        voice = load_voice(
            folder, threads=settings.llm.threads,
            progress=_stage(notify, "voice"), cancelled=cancelled,
        )  # fmt: skip
        try:
            _check_voices(settings, voice)
            for language in LANGUAGES:
                _stop_if(cancelled)
                voice.warm((language,), _stage(notify, "voice"))
            _stop_if(cancelled)
        except BaseException:
            voice.close()
            raise
        return Candidate(voice.info, lambda: voices.replace(voice), voice.close)

    found: dict[SwapKind, Prepare] = {"voice": another_voice}
    if llm is not None:
        found["llm"] = another_llm
    return found, "This show only reads aloud: there is no language model to exchange."


def _announce_switches(
    conversation: Conversation, llm: StandbyLanguageModel | None, voice: StandbySynthesiser | None, tell: Tell
) -> None:
    def announce(broken: RuntimeInfo, now: RuntimeInfo, error: Exception) -> None:
        why = error.message if isinstance(error, EngineError) else str(error)
        tell(
            Notice(
                "warning",
                f"{broken.model} on {broken.runtime} failed: {why.rstrip('.')}. "
                f"{now.model} on {now.runtime} goes on in its place.",
                "Start Idol again to try the first one again.",
            )
        )

    def renew(broken: RuntimeInfo, now: RuntimeInfo, error: Exception) -> None:
        conversation.renew()
        announce(broken, now, error)

    if voice is not None:
        voice.on_failure(announce)
    if llm is not None:
        llm.on_failure(renew)


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("Loading was cancelled.")


def _stage(notify: Notify, what: str) -> Callable[[float, str], None]:
    return lambda fraction, text: notify(text or what, fraction)


def _conversation(
    settings: Settings, persona: Persona, llm: StandbyLanguageModel | None, seed: int | None, remember: bool
) -> Conversation:
    return Conversation(
        llm,
        persona,
        blocklist=Blocklist.with_file(data_dir() / "blocklist.txt"),
        history=History(data_dir() / "history" / f"{persona.name}.jsonl" if remember else None),
        sampling=Sampling(
            temperature=settings.llm.temperature,
            top_p=settings.llm.top_p,
            top_k=settings.llm.top_k,
            min_p=settings.llm.min_p,
            repetition_penalty=settings.llm.repetition_penalty,
            max_tokens=settings.llm.max_tokens,
            seed=seed,
        ),
    )


def _first_language() -> Language:
    """The language of the user's system, else English."""
    name = (os.environ.get("LC_ALL") or os.environ.get("LANG") or "").lower()
    return "zh" if name.startswith("zh") else "ja" if name.startswith("ja") else "en"


def _load_llm(
    settings: Settings, notify: Notify, cancelled: Callable[[], bool], device: Device | None
) -> StandbyLanguageModel:
    wanted = settings.llm.model
    names = (LARGE, MEDIUM, SMALL) if wanted == "auto" else (wanted,)
    present = [name for name in names if model_file(name) is not None]
    if not present:
        raise ModelFileError(
            f"The language model {names[0]!r} is not on this machine.",
            _fetch_remedy(names[0]) if wanted != "auto" else "Fetch it: main.py models fetch default.",
        )
    speeds = _Speeds()
    for place, name in enumerate(present):
        path = model_file(name)
        assert path is not None  # ``present`` holds only models that are there
        last = place == len(present) - 1
        known = speeds.get(path)
        slow = device is None and known is not None and known < ENOUGH_TOKENS_PER_SECOND
        if wanted == "auto" and not last and slow:
            continue
        model = load_language_model(
            path,
            threads=settings.llm.threads,
            context=settings.llm.context,
            progress=_stage(notify, "language model"),
            cancelled=cancelled,
            device=device,
        )
        spares = _spare_llms(settings, path, device)
        if device is not None or wanted != "auto" or last or known is not None:
            return StandbyLanguageModel(model, *spares)
        notify("measuring this machine (once)", None)
        try:
            measure_speed(model, 4)
            _stop_if(cancelled)
            speed = max(measure_speed(model), measure_speed(model))
            _stop_if(cancelled)
        except BaseException:
            model.close()
            raise
        speeds.put(path, speed)
        if speed >= ENOUGH_TOKENS_PER_SECOND:
            return StandbyLanguageModel(model, *spares)
        model.close()
    raise EngineError("No language model could be loaded.")


def _fetch_remedy(name: str) -> str:
    from engines.added import added_models
    from engines.catalogue import load_catalogue

    known = [model.id for model in load_catalogue().models.values() if model.family in KNOWN_ARCHITECTURES]
    if name in known:
        return f"Fetch it: main.py models fetch {name}."
    return f"Choose one of {', '.join([*known, *added_models()])}, or a .gguf file."


def model_file(name: str) -> Path | None:
    """Where the language model ``name`` lies: a catalogue id, an added model's name or a path; None when nowhere."""
    from engines.added import added_models

    direct = Path(name).expanduser()
    if direct.suffix == ".gguf" or direct.is_absolute():
        return direct if direct.exists() else None
    added = added_models().get(name)
    if added is not None:
        return added if added.exists() else None
    folder = files_dir() / name
    if not folder.is_dir():
        return None
    return next(iter(sorted(folder.glob("*.gguf"))), None)


class _Speeds:
    """Measured decode speeds per model and machine, kept in the data folder for ``_SPEED_DAYS``: the machine may have
    been busy with something else when it was asked."""

    def __init__(self) -> None:
        self._path = data_dir() / "speeds.json"
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
            self._known: dict[str, Any] = known if isinstance(known, dict) else {}
        except (OSError, ValueError):
            self._known = {}

    def _key(self, path: Path) -> str:
        return f"{platform.node()}|{os.cpu_count()}|{path.name}|{path.stat().st_size}"

    def get(self, path: Path) -> float | None:
        entry = self._known.get(self._key(path))
        if not isinstance(entry, dict):
            return None
        speed, at = entry.get("speed"), entry.get("at")
        if not isinstance(speed, int | float) or not isinstance(at, int | float):
            return None
        return float(speed) if abs(time.time() - at) < _SPEED_DAYS * 86400 else None

    def put(self, path: Path, speed: float) -> None:
        self._known[self._key(path)] = {"speed": round(speed, 1), "at": round(time.time())}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._known), encoding="utf-8")
        except OSError:
            pass  # measured again next time
