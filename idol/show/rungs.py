"""The steps of a show on a card, in the order in which they hurt: context, batches, a smaller model, the CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from engines.errors import SteppedAside
from engines.trt.flavours import TensorRTError
from idol.show.cast import Prepare, followed
from idol.show.interface import SwapKind
from idol.show.ladder import Rung
from idol.show.model_files import smaller_models
from idol.show.residence import Residence
from idol.show.understudies import Understudies

_GRAPHS = 32 << 20
"""A guess: bytes that CUDA graphs of the larger runs take."""


def rungs_of(crew: Understudies, residence: Residence) -> list[Rung]:
    """All steps, first the one that is noticed least."""
    context, batches = ContextRung(crew), BatchRung(crew)

    def again() -> None:
        context.again()
        batches.again()

    return [
        context, batches, SmallerRung(crew, residence, again), CpuRung("llm", crew, residence, again),
        CpuRung("voice", crew, residence, again),
    ]  # fmt: skip


class ContextRung:
    """A context of half the length, and no primed prompts kept on the card."""

    kind: SwapKind | None = "llm"
    busy = False

    def __init__(self, crew: Understudies) -> None:
        self._crew = crew
        self.held = False

    @property
    def label(self) -> str:
        decoder = self._crew.decoder
        if decoder is None:
            return ""
        return f"context {decoder.capacity}" if self._short() else "no prepared prompts"

    @property
    def needs(self) -> int:
        decoder = self._crew.decoder
        return 2 * decoder.cache_bytes if decoder is not None and self._short() else 0

    def down(self) -> str:
        decoder = self._crew.decoder
        if decoder is None:
            return ""
        shorter = decoder.capacities[0]
        dropped = decoder.drop_snapshots()
        shortens = shorter < decoder.capacity and self._crew.conversation.fits(shorter)
        if not dropped and not shortens:
            return ""
        decoder.keep_snapshots = False
        if shortens:
            self._resize(shorter)
        self.held = True
        self._crew.conversation.renew()
        if shortens:
            return f"she remembers less of the chat now, a context of {shorter} tokens instead of {2 * shorter}."
        return "prepared prompts are not kept on the card any more."

    def up(self) -> str:
        decoder = self._crew.decoder
        if decoder is not None:
            decoder.resize(decoder.capacities[-1])  # what runs stays when there is no room for it
            decoder.keep_snapshots = True
            self._crew.conversation.renew()
        self.held = False
        return "she remembers as much of the chat as before."

    def again(self) -> None:
        """The same for the model that has just taken its place."""
        if self.held and self._crew.decoder is not None:
            self.down()

    def forget(self) -> None:
        self.held = False

    def _short(self) -> bool:
        decoder = self._crew.decoder
        return decoder is not None and decoder.capacity < decoder.capacities[-1]

    def _resize(self, tokens: int) -> None:
        decoder = self._crew.decoder
        assert decoder is not None  # the caller looked
        try:
            decoder.resize(tokens)
        except TensorRTError as error:  # it is closed now
            self._crew.to_spare("llm", error)
            raise


class BatchRung:
    """Smaller batches: fewer tokens prefilled at once, speech made in shorter pieces, no CUDA graphs for long ones."""

    kind: SwapKind | None = None
    busy = False
    needs = _GRAPHS

    def __init__(self, crew: Understudies) -> None:
        self._crew = crew
        self.held = False

    @property
    def label(self) -> str:
        there = self._crew.decoder is not None or self._crew.card_voice is not None
        return "small batches" if there else ""

    def down(self) -> str:
        self.held = self._apply()
        return "long prompts and long sentences are worked off in smaller pieces." if self.held else ""

    def up(self) -> str:
        from engines.models.decoder_trt import CHUNKS

        decoder, voice = self._crew.decoder, self._crew.card_voice
        if decoder is not None:
            decoder.limit_chunk(CHUNKS[-1])
        if voice is not None:
            voice.shorten(False)
        self.held = False
        return "long prompts and long sentences are worked off at once again."

    def again(self) -> None:
        if self.held:
            self._apply()

    def forget(self) -> None:
        self.again()  # the engine that stayed is still limited, so the new one is as well

    def _apply(self) -> bool:
        from engines.models.decoder_trt import CHUNKS

        decoder, voice = self._crew.decoder, self._crew.card_voice
        if decoder is not None:
            decoder.limit_chunk(max((size for size in CHUNKS if size < decoder.chunk), default=CHUNKS[0]))
        if voice is not None:
            voice.shorten(True)
        return decoder is not None or voice is not None


class _Exchanging:
    """What steps that load something have in common: the loader does it, the worker puts it in place."""

    def __init__(self, kind: SwapKind, crew: Understudies, residence: Residence, again: Callable[[], None]) -> None:
        self.kind: SwapKind | None = kind
        self._of: SwapKind = kind
        self._crew = crew
        self._residence = residence
        self._again = again

    @property
    def busy(self) -> bool:
        return self._residence.pending(self._of)

    def _load(self, name: str, prepare: Prepare, arrived: Callable[[], None]) -> None:
        def after() -> None:
            arrived()
            self._again()

        self._residence.request(self._of, name, followed(prepare, after))


class SmallerRung(_Exchanging):
    """The next smaller model of those here. Where it finds no room beside the one in use, the CPU goes on while it
    loads, so that no line waits for it."""

    def __init__(self, crew: Understudies, residence: Residence, again: Callable[[], None]) -> None:
        super().__init__("llm", crew, residence, again)
        self._before: Path | None = None
        self._name = ""
        self.held = False

    @property
    def label(self) -> str:
        return "smaller model" if self._crew.decoder is not None else "language model on the CPU"

    @property
    def needs(self) -> int:
        return self._crew.llm_bytes(self._before) if self._before is not None else 0

    def down(self) -> str:
        crew = self._crew
        if crew.decoder is None or crew.model is None or crew.device is None:
            return ""
        found = smaller_models(crew.model)
        if not found or crew.llm is None:
            return ""
        name, path = found[0]
        aside = crew.llm_bytes(path) > crew.device.memory()[0]
        if aside:
            if not crew.llm.has_spare:
                return ""
            crew.to_spare("llm", SteppedAside("A smaller model is loaded in its place."))
        self._before, self._name, self.held = crew.model, crew.name or str(crew.model), aside
        self._load(name, partial(crew.another_llm, admit=partial(crew.fits_now, name)), self._arrived)
        if aside:
            return f"the processor thinks for her until {name}, which is smaller, has been loaded."
        return f"{name}, which is smaller, is loaded to think for her."

    def up(self) -> str:
        assert self._before is not None  # it is only undone after it was done
        self._load(self._name, self._crew.another_llm, self.forget)
        return f"{self._name} is loaded again."

    def forget(self) -> None:
        self.held = False
        self._before = None

    def _arrived(self) -> None:
        self.held = True


class CpuRung(_Exchanging):
    """An engine's spare on the CPU goes on in its place."""

    def __init__(self, kind: SwapKind, crew: Understudies, residence: Residence, again: Callable[[], None]) -> None:
        super().__init__(kind, crew, residence, again)
        self.label = "language model on the CPU" if kind == "llm" else "voice on the CPU"

    @property
    def held(self) -> bool:
        return not self._on_card()

    @property
    def needs(self) -> int:
        if self._of == "voice":
            return self._crew.voice_bytes()
        return self._crew.llm_bytes(self._crew.model) if self._crew.model is not None else 0

    def down(self) -> str:
        crew = self._crew
        spare = crew.voices.has_spare if self._of == "voice" else crew.llm is not None and crew.llm.has_spare
        if not self._on_card() or not spare:
            return ""
        crew.to_spare(self._of, SteppedAside("It makes room on the card."))
        return "the processor thinks for her now." if self._of == "llm" else "the processor speaks for her now."

    def up(self) -> str:
        if self._of == "voice":
            self._load(self._crew.voice, self._crew.another_voice, lambda: None)
            return "her voice is loaded there again."
        assert self._crew.model is not None  # the CPU stands in for one
        name = self._crew.name or str(self._crew.model)
        self._load(name, self._crew.another_llm, lambda: None)
        return f"{name} is loaded there again."

    def forget(self) -> None:
        """Whether it is held is seen from the engine."""

    def _on_card(self) -> bool:
        return (self._crew.card_voice if self._of == "voice" else self._crew.decoder) is not None
