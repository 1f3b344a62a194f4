"""The menu of language models: a choice is loaded beside the one in use and takes its place while the show runs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from idol.settings import Settings
from idol.show.interface import ShowInterface
from idol.ui.strings import tr

AUTO = "auto"


class ModelMenu:
    """Fills ``menu`` when it is opened. ``models`` names what is installed, ``say`` shows the user a sentence, ``save``
    writes ``settings``, those of the file: a choice is kept there only after it has taken place. The tick is on what
    really runs.
    """

    def __init__(
        self,
        menu: QMenu,
        show: ShowInterface,
        settings: Settings,
        models: Callable[[], list[str]],
        *,
        say: Callable[[str], None],
        save: Callable[[], None],
    ) -> None:
        self._menu = menu
        self._show = show
        self._settings = settings
        self._models = models
        self._say = say
        self._save = save
        self.wanted = ""
        """What the user chose and is on its way, empty when nothing is."""
        menu.aboutToShow.connect(self.fill)

    def fill(self) -> None:
        running = self._show.overlay().chosen.get("llm", "")
        names = self._models()
        if running and running not in names:
            names = [*names, running]  # a file that the settings name
        self._menu.clear()
        for name in names:
            action = QAction(name, self._menu, checkable=True)
            action.setChecked(name == running)
            action.triggered.connect(lambda _on, chosen=name: self.choose(chosen))
            self._menu.addAction(action)
        self._menu.addSeparator()
        automatic = QAction(f"{tr('Automatic')} ({tr('takes effect at the next start')})", self._menu, checkable=True)
        automatic.setChecked(self._settings.llm.model == AUTO)
        automatic.triggered.connect(lambda _on: self.choose(AUTO))
        self._menu.addAction(automatic)
        if self.wanted:
            self._menu.addAction(f"{tr('Cancel')}: {self.wanted}").triggered.connect(lambda _on: self.cancel())

    def choose(self, name: str) -> None:
        """Load ``name`` and put it in place, or say why that cannot be."""
        if name == AUTO:
            self._keep(AUTO)
            self._say(f"{tr('Automatic')}: {tr('takes effect at the next start')}")
            return
        if name == self._show.overlay().chosen.get("llm") and not self.wanted:
            self._keep(name)
            return
        try:
            self._show.swap("llm", name)
        except ValueError as error:
            self._say(str(error))
            return
        self.wanted = name

    def cancel(self) -> None:
        """The one in use stays."""
        if self.wanted:
            self.wanted = ""
            self._show.cancel_swap("llm")

    def settle(self) -> None:
        """Something came to an end (``Ready``): keep the choice where it took place. What did not is told by the show's
        own notice."""
        snapshot = self._show.overlay()
        if not self.wanted or "llm" in snapshot.pending:
            return
        wanted, self.wanted = self.wanted, ""
        if snapshot.chosen.get("llm") == wanted:
            self._keep(wanted)

    def _keep(self, name: str) -> None:
        if self._settings.llm.model != name:
            self._settings.llm.model = name
            self._save()
