"""The chat: who said what and when, replies as they stream, and the line being typed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from idol.dialogue.history import PastLine
from idol.ui.strings import tr

_KEEP = 300
_SHOWN = 4000
"""Characters of one message that are shown; more would make the layout slow."""

_AT_END = 24
"""Pixels from the end that still count as being there."""


class Message(QFrame):
    """One bubble. Text only: nothing a viewer types is ever read as markup. ``at`` is ``time.time()`` in seconds."""

    def __init__(self, who: str, text: str, kind: str, source: str = "", at: float | None = None) -> None:
        super().__init__()
        self.setObjectName(kind)
        self._text = ""
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(13, 8, 13, 9)
        column.setSpacing(3)
        self._meta = QLabel("  ·  ".join(part for part in (who, _moment(at), source) if part))
        self._meta.setObjectName("meta")
        self._meta.setVisible(bool(who))
        self._body = QLabel()
        self._body.setTextFormat(Qt.TextFormat.PlainText)
        self._body.setWordWrap(True)
        self._body.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column.addWidget(self._meta)
        column.addWidget(self._body)
        self.append(text)

    @property
    def text(self) -> str:
        return self._text

    def append(self, text: str) -> None:
        self._text += text
        shown = self._text if len(self._text) <= _SHOWN else self._text[:_SHOWN] + " …"
        # A word without spaces cannot wrap and would widen the window: let it break anywhere.
        self._body.setText("\u200b".join(_chunks(shown)))
        self.setVisible(bool(self._text))

    def add(self, widget: QWidget) -> None:
        """Put ``widget`` below the text."""
        self._column.addWidget(widget)

    def mark(self, note: str) -> None:
        self._meta.setText(f"{self._meta.text()}  ·  {note}")
        self._meta.show()


def _moment(at: float | None) -> str:
    """The time of day, with the date when that was another day; empty for 0, which is unknown."""
    if at == 0:
        return ""
    then, today = time.localtime(at), time.localtime()
    return time.strftime("%H:%M" if then[:3] == today[:3] else "%Y-%m-%d %H:%M", then)


def _chunks(text: str) -> list[str]:
    pieces, run = [], ""
    for character in text:
        run += character
        if character.isspace() or len(run) >= 24:
            pieces.append(run)
            run = ""
    return [*pieces, run] if run or not pieces else pieces


class LineEdit(QPlainTextEdit):
    """Enter sends, Shift+Enter breaks the line, Esc stops her."""

    sent = Signal()
    stopped = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = not event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
            self.sent.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.stopped.emit()
        else:
            super().keyPressEvent(event)


class ChatPanel(QWidget):
    """``submitted(text)`` when a line is sent; ``stopped()`` for Esc and the Stop button.

    ``draft`` is a file in which the line being typed survives a crash.
    """

    submitted = Signal(str)
    stopped = Signal()

    def __init__(self, name: str, draft: Path | None = None) -> None:
        super().__init__()
        self.setObjectName("side")
        self._name = name
        self._draft = draft
        self._messages: list[Message] = []
        self._replies: dict[int, Message] = {}
        title = QLabel(name)
        title.setObjectName("title")
        hint = QLabel(tr("Enter sends, Shift+Enter starts a new line, Esc stops her"))
        hint.setObjectName("hint")
        hint.setWordWrap(True)
        inner = QWidget()
        self._column = QVBoxLayout(inner)
        self._column.setContentsMargins(14, 6, 14, 6)
        self._column.setSpacing(9)
        self._column.addStretch(1)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(inner)
        self._following = True
        bar = self._area.verticalScrollBar()
        bar.rangeChanged.connect(self._to_end)
        bar.valueChanged.connect(self._moved)
        self.line = LineEdit()
        self.line.setPlaceholderText(tr("Say something to her…"))
        self.line.setFixedHeight(68)
        self.line.setTabChangesFocus(True)
        self.send = QPushButton(tr("Send"))
        self.send.setObjectName("send")
        self.stop = QPushButton(tr("Stop"))
        self.stop.setEnabled(False)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.stop)
        buttons.addStretch(1)
        buttons.addWidget(self.send)
        foot = QVBoxLayout()
        foot.setContentsMargins(14, 6, 14, 14)
        foot.setSpacing(8)
        foot.addWidget(self.line)
        foot.addLayout(buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(title)
        column.addWidget(hint)
        column.addWidget(self._area, 1)
        column.addLayout(foot)
        self.line.sent.connect(self._send)
        self.send.clicked.connect(self._send)
        self.line.stopped.connect(self.stopped)
        self.stop.clicked.connect(self.stopped)
        self._saving = QTimer(self)
        self._saving.setSingleShot(True)
        self._saving.setInterval(700)
        self._saving.timeout.connect(self._save_draft)
        if draft is not None:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                self.line.setPlainText(draft.read_text(encoding="utf-8")[:20_000])
        self.line.textChanged.connect(self._saving.start)

    @property
    def messages(self) -> list[Message]:
        return self._messages

    def add_earlier(self, lines: Sequence[PastLine]) -> None:
        """Lines of a kept chat, oldest first; those without an answer are marked."""
        for line in lines:
            mine = Message(tr("You"), line.text, "mine", at=line.at)
            self._add(mine, right=True)
            if line.reply:
                self._add(Message(self._name, line.reply, "hers", at=line.at))
            else:
                mine.mark(tr("not answered"))

    def add_line(self, text: str, source: str = "") -> None:
        """A line of the streamer's or a viewer's, scrolled into view wherever the chat was."""
        self._follow()
        self._add(Message(tr("You"), text, "mine", "" if source == "chat" else source), right=True)

    def _follow(self) -> None:
        self._following = True
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.maximum())

    def begin_reply(self, turn_id: int) -> None:
        message = Message(self._name, "", "hers")
        self._replies[turn_id] = message
        self._add(message)

    def append_reply(self, turn_id: int, text: str) -> None:
        if turn_id in self._replies:
            self._replies[turn_id].append(text)

    def end_reply(self, turn_id: int, note: str = "") -> None:
        message = self._replies.pop(turn_id, None)
        if message is None:
            return
        if note:
            message.append("" if message.text else "…")
            message.mark(note)
        elif not message.text:
            message.append("…")

    def add_notice(self, text: str, *, bad: bool = False) -> None:
        self._add(Message("", text, "bad" if bad else "notice"))

    def add_offer(self, text: str, label: str, do: Callable[[], None]) -> QPushButton:
        """A notice with a button, which is returned."""
        message = Message("", text, "notice")
        button = QPushButton(label)
        button.clicked.connect(lambda _checked=False: do())
        message.add(button)
        self._add(message)
        return button

    def clear(self) -> None:
        """Show nothing of what was said before. An answer that is still being given stays, with the line before it."""
        given = [index for index, message in enumerate(self._messages) if message in self._replies.values()]
        for _ in range(max(0, given[0] - 1) if given else len(self._messages)):
            self._drop_first()

    def give_back(self, text: str) -> None:
        """Put a line that was refused back into the field, if nothing else was typed."""
        if not self.line.toPlainText():
            self.line.setPlainText(text)

    def _add(self, message: Message, *, right: bool = False) -> None:
        row = QHBoxLayout()
        row.setContentsMargins(36 if right else 0, 0, 0 if right else 36, 0)
        row.addWidget(message)
        self._column.addLayout(row)
        self._messages.append(message)
        while len(self._messages) > _KEEP:
            self._drop_first()

    def _drop_first(self) -> None:
        old = self._messages.pop(0)
        old.setParent(None)
        old.deleteLater()
        item = self._column.takeAt(1)
        row_layout = item.layout() if item is not None else None
        if row_layout is not None:
            row_layout.deleteLater()

    def _to_end(self, _low: int, high: int) -> None:
        """What is there grew or shrank: whoever was at the end stays there, whoever read further up does too."""
        if self._following:
            self._area.verticalScrollBar().setValue(high)

    def _moved(self, value: int) -> None:
        self._following = value >= self._area.verticalScrollBar().maximum() - _AT_END

    def _send(self) -> None:
        text = self.line.toPlainText()
        if not text.strip():
            return
        self.line.clear()
        self.submitted.emit(text)
        self._save_draft()  # after it: the line is kept elsewhere by now, or has been given back

    def _save_draft(self) -> None:
        if self._draft is None:
            return
        with contextlib.suppress(OSError):
            self._draft.parent.mkdir(parents=True, exist_ok=True)
            self._draft.write_text(self.line.toPlainText(), encoding="utf-8")
