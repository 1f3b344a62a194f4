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

from engines.errors import EngineError, ModelFileError
from engines.health import HealthMonitor
from engines.store import files_dir
from engines.trt.flavours import OutOfMemory, TensorRTError, choose
from idol.audio import open_output
from idol.dialogue.conversation import Conversation
from idol.dialogue.history import History
from idol.dialogue.language_model import load_language_model, measure_speed
from idol.dialogue.moderation import Blocklist
from idol.dialogue.persona import Persona, PersonaError, default_persona, load_persona
from idol.dialogue.standby import StandbyLanguageModel
from idol.face.behaviour import BehaviourMixer
from idol.face.planner import RulePlanner
from idol.face.track import FaceTrack
from idol.seams import LANGUAGES, Language, Sampling
from idol.settings import Settings, data_dir
from idol.show.cast import Engines, Notify, Tell
from idol.show.health import make_monitor, watch_card_of
from idol.show.interface import Notice
from idol.show.model_files import LARGE, MEDIUM, SMALL, fetch_remedy, model_file
from idol.show.show import Show
from idol.show.speech_line import SpeechLine
from idol.show.understudies import VOICE, Understudies, ensure_voices, spare_llms, spare_voices, stage, stop_if
from idol.voice import load_voice
from idol.voice.standby import StandbySynthesiser

if TYPE_CHECKING:
    from engines.trt.device import Device

log = logging.getLogger(__name__)
_KEPT_SECONDS, _SLOW_KEPT_SECONDS = 3 * 86400, 3600
"""How long a measured speed counts; a slow one only for an hour, since the machine may have been busy."""
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
        kept = history if history is not None else _open_history(settings)
        return _load(settings, health, notify, show.announce, cancelled, with_llm, seed, kept)

    history: History | None
    try:
        history = _open_history(settings) if remember else History(None)
    except (PersonaError, OSError) as error:  # loading meets it again, and says so
        log.warning("the chat history: %s", error)
        history = None
    health = make_monitor(settings.health)
    show = Show(load, BehaviourMixer(), yielding=pictured, health=health, history=history)
    return show


def _persona(settings: Settings) -> Persona:
    return load_persona(Path(settings.persona)) if settings.persona else default_persona()


def _open_history(settings: Settings) -> History:
    return History(data_dir() / "history" / f"{_persona(settings).name}.jsonl")


def _load(
    settings: Settings,
    health: HealthMonitor,
    notify: Notify,
    tell: Tell,
    cancelled: Callable[[], bool],
    with_llm: bool,
    seed: int | None,
    history: History,
) -> Engines:
    persona = _persona(settings)
    device = open_device(settings.engines.runtime, notify)
    if device is not None:
        watch_card_of(device, health)
        try:
            return _load_on(device, settings, persona, notify, tell, cancelled, with_llm, seed, history, health)
        except TensorRTError as error:
            log.warning("the CPU takes over: %s", error)
            notify(f"the CPU takes over: {error.message}", None)
    return _load_on(None, settings, persona, notify, tell, cancelled, with_llm, seed, history, health)


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
    history: History,
    health: HealthMonitor | None = None,
) -> Engines:
    with ExitStack() as owned:
        if device is not None:
            owned.callback(device.close)
        notify("voice", None)
        voice = load_voice(
            files_dir() / VOICE, threads=settings.llm.threads, progress=stage(notify, "voice"), device=device,
            cancelled=cancelled,
        )  # fmt: skip
        owned.callback(voice.close)
        ensure_voices(settings, voice, tell)
        llm, name = _load_llm(settings, notify, tell, cancelled, device) if with_llm else (None, "")
        if llm is not None:
            owned.callback(llm.close)
        voices = StandbySynthesiser(voice, *spare_voices(settings, files_dir() / VOICE, device))
        conversation = _conversation(settings, persona, llm, seed, history)
        chores: list[Callable[[], None]] = []
        crew = Understudies(
            settings, conversation, llm, voices, tell, model=model_file(name) if name else None, name=name,
            device=device, health=health, chores=chores,
        )  # fmt: skip
        language = _first_language()
        if llm is not None:
            _check_room(llm.context_length, conversation.needed(language), name, settings.llm.context)
        notify(f"her memory of who she is ({language})", None)
        conversation.prime(language, cancelled)
        stop_if(cancelled)
        voice.warm((language,), stage(notify, "voice"))
        stop_if(cancelled)
        owned.pop_all()  # the show closes them from here on
    line = SpeechLine(open_output(settings.audio), RulePlanner(), FaceTrack())
    chores += [partial(voice.preload, (other,)) for other in LANGUAGES if other != language]
    if device is not None:  # the card's spares wait in the computer's memory, ready
        chores += [*([llm.prepare_spare] if llm is not None else []), voices.prepare_spare]
    return Engines(
        conversation, voices, line, settings.voice.name_for, settings.voice.speed, chores,
        partial(_release, device) if device is not None else lambda: None, crew.swaps(),
        "This show only reads aloud: there is no language model to exchange.", crew.chosen,
        crew if device is not None else None,
    )  # fmt: skip


def _check_room(context: int, needed: int, name: str, asked: int) -> None:
    """Raises ``EngineError`` where a context of ``context`` tokens, of the ``asked`` ones, is too short to answer."""
    if needed <= context:
        return
    if context < asked // 16 * 16:
        raise EngineError(
            f"The model {name!r} has a context of {context} tokens; her persona, a line and an answer take {needed}.",
            "Choose another model, or a shorter persona.",
        )
    raise EngineError(
        f"The settings give {name!r} a context of {context} tokens; her persona, a line and an answer take {needed}.",
        f"Set context in [llm] to {needed} or more, lower max_tokens, or choose a shorter persona.",
    )


def _release(device: Device) -> None:
    try:
        device.close()
    except TensorRTError as error:  # a loader that hangs in a driver is still inside; the process ends with it
        log.warning("the card is not given back: %s", error)


def _conversation(
    settings: Settings, persona: Persona, llm: StandbyLanguageModel | None, seed: int | None, history: History
) -> Conversation:
    return Conversation(
        llm,
        persona,
        blocklist=Blocklist.with_file(data_dir() / "blocklist.txt"),
        history=history,
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
    settings: Settings, notify: Notify, tell: Tell, cancelled: Callable[[], bool], device: Device | None
) -> tuple[StandbyLanguageModel, str]:
    """The model and its name. Where the choice is free, one that is damaged or too large gives way to the next."""
    wanted = settings.llm.model
    names = (LARGE, MEDIUM, SMALL) if wanted == "auto" else (wanted,)
    present = [name for name in names if model_file(name) is not None]
    if not present:
        raise ModelFileError(
            f"The language model {names[0]!r} is not on this machine.",
            fetch_remedy(names[0]) if wanted != "auto" else "Fetch it: main.py models fetch default.",
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
        try:
            model = load_language_model(
                path,
                threads=settings.llm.threads,
                context=settings.llm.context,
                progress=stage(notify, "language model"),
                cancelled=cancelled,
                device=device,
            )
        except OutOfMemory as error:
            if wanted != "auto" or last:
                raise
            log.warning("%s is too large for the card: %s", name, error)
            continue
        except ModelFileError as error:
            if wanted != "auto" or last:
                raise
            tell(Notice("warning", f"{error.message} {present[place + 1]} answers in its place.", error.remedy))
            continue
        spares = spare_llms(settings, path, device)
        if device is not None or wanted != "auto" or last or known is not None:
            return StandbyLanguageModel(model, *spares), name
        notify("measuring this machine (once)", None)
        try:
            measure_speed(model, 4)
            stop_if(cancelled)
            speed = max(measure_speed(model), measure_speed(model))
            stop_if(cancelled)
        except BaseException:
            model.close()
            raise
        speeds.put(path, speed)
        if speed >= ENOUGH_TOKENS_PER_SECOND:
            return StandbyLanguageModel(model, *spares), name
        model.close()
    raise EngineError("No language model could be loaded.")


class _Speeds:
    """Measured decode speeds per model and machine, kept in the data folder for a while."""

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
        kept = _KEPT_SECONDS if speed >= ENOUGH_TOKENS_PER_SECOND else _SLOW_KEPT_SECONDS
        return float(speed) if abs(time.time() - at) < kept else None

    def put(self, path: Path, speed: float) -> None:
        self._known[self._key(path)] = {"speed": round(speed, 1), "at": round(time.time())}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._known), encoding="utf-8")
        except OSError:
            pass  # measured again next time
