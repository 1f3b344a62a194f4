"""Who made an avatar and what may be done with it, shown before it is used for the first time. Blocks nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from idol.avatar import Avatar
from idol.ui.strings import tr


def terms_text(avatar: Avatar) -> str:
    """All of it as plain lines, for the log."""
    meta = avatar.data.meta
    rows = [f"{avatar.title}", *meta.authors, meta.licence, *(f"{k}: {v}" for k, v in meta.permissions.items())]
    return "\n".join(row for row in rows if row)


def terms_key(avatar: Avatar) -> str:
    """A hash that is another when the terms are."""
    return hashlib.sha256(terms_text(avatar).encode("utf-8", "replace")).hexdigest()


class TermsDialog(QDialog):
    """With ``ask`` it has Use and Cancel, else only Close."""

    def __init__(self, parent: QWidget, avatar: Avatar, path: Path, *, ask: bool) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("About this avatar"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        column = QVBoxLayout(self)
        self.text = QLabel(terms_text(avatar))
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        column.addWidget(self.text)
        self.buttons = QDialogButtonBox()
        if ask:
            self.use = self.buttons.addButton(tr("Use"), QDialogButtonBox.ButtonRole.AcceptRole)
            self.buttons.addButton(tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        else:
            self.buttons.addButton(tr("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column.addWidget(self.buttons)
