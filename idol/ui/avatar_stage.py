"""Which avatar is on stage: loaded beside the window, its terms shown before first use, its camera kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from idol.avatar.licence import Terms, describe_terms
from idol.render import AvatarView
from idol.render.camera import FramingName
from idol.render.lighting import DEFAULT_LIGHTING, LIGHTINGS
from idol.render.viewpoint import Viewpoint
from idol.ui.avatar_loader import AvatarLoader, LoadedAvatar
from idol.ui.stage_memory import StageMemory
from idol.ui.strings import tr
from idol.ui.terms_dialog import TermsDialog, terms_key

log = logging.getLogger(__name__)


class AvatarStage(QObject):
    """``default`` is the idol that comes along, its folder holds the others that do. ``keep_path(text)`` writes the
    user's choice, '' for the default, into the settings; ``say(text, bad)`` shows a sentence.
    """

    placed = Signal()
    """Another avatar is on stage."""
    arriving = Signal(str, float)
    """The name of the file that is on its way to the graphics card, and how much of it is there; '' when none is."""

    def __init__(
        self,
        window: QWidget,
        view: AvatarView,
        default: Path,
        memory: StageMemory,
        *,
        keep_path: Callable[[str], None],
        say: Callable[[str, bool], None],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._view = view
        self._default = default.absolute()
        self._memory = memory
        self._keep_path = keep_path
        self._say = say
        self._keep = False
        self._trusted: Path | None = None
        self._shown: LoadedAvatar | None = None
        self._told = False
        self.dialog: TermsDialog | None = None
        self.first_framing: FramingName | None = None
        """For this run: in place of what is remembered of the first avatar."""
        self.first_lighting = ""
        self.loader = AvatarLoader(self)
        self.loader.loaded.connect(self._on_loaded)
        self.loader.failed.connect(self._on_failed)
        self._coming = ""
        view.bringing.connect(lambda share: self.arriving.emit(self._coming, share))
        view.viewpoint_changed.connect(self._remember)
        if memory.trouble:
            say(memory.trouble, True)

    @property
    def path(self) -> Path | None:
        """The file of the avatar on stage."""
        return None if self._shown is None else self._shown.path

    @property
    def bundled(self) -> list[Path]:
        """The avatars that come along, the default first."""
        found = sorted(self._default.parent.glob("*.vrm"), key=lambda path: (path != self._default, path.name))
        return found or [self._default]

    @property
    def memory(self) -> StageMemory:
        return self._memory

    def comes_along(self, path: Path) -> bool:
        return path.parent == self._default.parent

    def open(self, path: Path, *, keep: bool = False, trusted: bool = False) -> None:
        """Load ``path`` and put it on stage; what is there stays until then, and when it cannot be loaded.

        ``keep`` makes it the avatar of the next start too. ``trusted``: the user has named it in this run's command, so
        that its terms are only logged, not asked about.
        """
        path = path.absolute()
        self._close_dialog()
        self._dismiss()
        self._keep = keep
        self._trusted = path if trusted else None
        self.loader.load(path)

    def cancel(self) -> None:
        """Nobody comes; who is on stage stays."""
        self.loader.cancel()
        self._dismiss()

    def _dismiss(self) -> None:
        self._view.dismiss()
        self._set_coming("")

    def _set_coming(self, name: str) -> None:
        self._coming = name
        self.arriving.emit(name, 0.0)

    def show_terms(self) -> None:
        """Of the avatar on stage."""
        if self._shown is not None:
            self._close_dialog()
            shown, terms = self._shown, describe_terms(self._shown.avatar.data.meta)
            self.dialog = TermsDialog(self._window, terms, shown.path, shown.thumbnail, ask=False)
            self.dialog.finished.connect(self._close_dialog)
            self.dialog.open()

    def close(self) -> None:
        self._close_dialog()
        self._view.dismiss()
        self._view.settle()
        self.loader.close()

    def _close_dialog(self) -> None:
        dialog, self.dialog = self.dialog, None
        if dialog is not None:
            dialog.blockSignals(True)
            dialog.close()
            dialog.deleteLater()

    def _on_failed(self, path: Path, message: str) -> None:
        self._say(message if path.name in message else f"{path.name}: {message}", True)
        if path != self._default:
            self._ensure_someone()

    def _ensure_someone(self) -> None:
        """The default idol, when nobody is on stage."""
        if self._shown is None and not self.loader.loading and not self._coming:
            self._keep = False
            self.loader.load(self._default)

    def _on_loaded(self, loaded: LoadedAvatar) -> None:
        terms = describe_terms(loaded.avatar.data.meta)
        if self.comes_along(loaded.path) or self._memory.accepted(loaded.key, loaded.path, terms_key(terms)):
            self._place(loaded)
        elif self._trusted == loaded.path:
            log.info("the terms of %s:\n%s", loaded.path, "\n".join(terms.lines()))
            self._place(loaded)
        else:
            self._ask(loaded, terms)

    def _ask(self, loaded: LoadedAvatar, terms: Terms) -> None:
        keep = self._keep
        self.dialog = dialog = TermsDialog(self._window, terms, loaded.path, loaded.thumbnail, ask=True)

        def use() -> None:
            self._close_dialog()
            self._keep = keep
            self.loader.cancel()
            self._place(loaded, terms_key(terms))

        dialog.accepted.connect(use)
        dialog.rejected.connect(self._close_dialog)
        dialog.open()
        self._ensure_someone()

    def _place(self, loaded: LoadedAvatar, terms: str = "") -> None:
        """Let her come, and put her on stage once the graphics card has her."""
        assert loaded.prepared is not None
        keep, shown = self._keep, replace(loaded, prepared=None)

        def then(trouble: str) -> None:
            self._set_coming("")
            if trouble:
                self._on_failed(shown.path, trouble)
            else:
                self._put(shown, terms, keep)

        self._set_coming(loaded.path.name)
        self._view.bring(loaded.prepared, then)

    def _put(self, loaded: LoadedAvatar, terms: str, keep: bool) -> None:
        self._view.settle()
        viewpoint = self._memory.viewpoint(loaded.key, loaded.path)
        lighting = self._memory.lighting(loaded.key, loaded.path)
        if self._shown is None and self.first_framing is not None:
            viewpoint = Viewpoint(self.first_framing)
        if self._shown is None and self.first_lighting:
            lighting = self.first_lighting
        self._view.set_lighting(lighting if lighting in LIGHTINGS else DEFAULT_LIGHTING)
        self._view.set_avatar(loaded.avatar, viewpoint or Viewpoint())
        self._shown = loaded
        title = describe_terms(loaded.avatar.data.meta).title
        self._write(lambda: self._memory.use(loaded.key, loaded.path, title, terms))
        if keep:
            self._keep_path("" if loaded.path == self._default else str(loaded.path))
        self.placed.emit()

    def _remember(self) -> None:
        shown = self._shown
        if shown is not None:
            self._write(lambda: self._memory.keep_view(shown.key, self._view.viewpoint, self._view.lighting))

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            log.warning("what the stage remembers could not be written: %s", error)
            if not self._told:
                self._told = True
                self._say(f"{tr('What the stage remembers could not be saved')}: {error.strerror or error}.", True)
