"""Who made an avatar and what may be done with it, shown before it is used for the first time. Blocks nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from idol.avatar.licence import Terms, Verdict
from idol.ui.strings import tr

_PICTURE = 150
_MARKS: dict[Verdict, tuple[str, str, str]] = {
    "allowed": ("✓", "allowed", "#63d08b"), "limited": ("!", "with conditions", "#e0b34f"),
    "forbidden": ("✗", "forbidden", "#ff7d8a"), "unknown": ("?", "not said", "#8b93ad"),
}  # fmt: skip

_BARE = ("allowed.", "forbidden.", "the file does not say.")
"""Sentences that say no more than the mark before them."""


def terms_key(terms: Terms) -> str:
    """A hash that is another when the terms are."""
    return hashlib.sha256("\n".join(terms.lines()).encode("utf-8", "replace")).hexdigest()


class TermsDialog(QDialog):
    """With ``ask`` it has Use and Cancel, else only Close. ``thumbnail`` is RGBA (height, width, 4)."""

    def __init__(
        self, parent: QWidget, terms: Terms, path: Path, thumbnail: NDArray[np.uint8] | None, *, ask: bool
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("About this avatar"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.resize(700, 640)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 16)
        column.setSpacing(14)
        if ask:
            column.addWidget(_text(tr("Before you use this avatar: what its author says"), name="dialog_title"))
        column.addLayout(self._head(terms, path, thumbnail))
        inner = QWidget()
        inner.setLayout(self._uses(terms))
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inner)
        column.addWidget(area, 1)
        self.buttons = QDialogButtonBox()
        if ask:
            self.use = self.buttons.addButton(tr("Use this avatar"), QDialogButtonBox.ButtonRole.AcceptRole)
            self.buttons.addButton(tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
            self.use.setDefault(True)
            self.use.setObjectName("send")
        else:
            self.buttons.addButton(tr("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column.addWidget(self.buttons)

    def _head(self, terms: Terms, path: Path, thumbnail: NDArray[np.uint8] | None) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(16)
        if thumbnail is not None:
            picture = QLabel()
            picture.setPixmap(_pixmap(thumbnail))
            picture.setAlignment(Qt.AlignmentFlag.AlignTop)
            row.addWidget(picture)
        facts = QGridLayout()
        facts.setColumnStretch(1, 1)
        facts.setHorizontalSpacing(12)
        title = " ".join(part for part in (terms.title or path.stem, terms.version) if part)
        facts.addWidget(_text(title, name="dialog_title"), 0, 0, 1, 2)
        said = (
            ("Author", ", ".join(terms.authors) or tr("not said")), ("Copyright", terms.copyright),
            ("Contact", terms.contact), ("Licence", "\n".join(filter(None, (terms.licence, terms.licence_url)))),
            ("See also", "\n".join(terms.links)), ("File", str(path)),
        )  # fmt: skip
        for name, text in said:
            if text or name == "Licence":
                line = facts.rowCount()
                facts.addWidget(_text(tr(name), name="meta"), line, 0, Qt.AlignmentFlag.AlignTop)
                facts.addWidget(_text(text or tr("not said")), line, 1)
        facts.setRowStretch(facts.rowCount(), 1)
        row.addLayout(facts, 1)
        return row

    def _uses(self, terms: Terms) -> QGridLayout:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 12, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(2, 1)
        for line, use in enumerate(terms.uses):
            mark, word, colour = _MARKS[use.verdict]
            gist = _text(f"{mark} {tr(word)}")
            gist.setStyleSheet(f"color: {colour}")
            gist.setWordWrap(False)
            grid.addWidget(gist, line, 0, Qt.AlignmentFlag.AlignTop)
            topic = _text(tr(use.topic))
            topic.setWordWrap(False)
            grid.addWidget(topic, line, 1, Qt.AlignmentFlag.AlignTop)
            if use.text not in _BARE:
                sentence = tr(use.text)
                grid.addWidget(_text(sentence[:1].upper() + sentence[1:], name="detail"), line, 2)
        grid.setRowStretch(len(terms.uses), 1)
        return grid


def _text(text: str, name: str = "") -> QLabel:
    """A stranger's words: never markup, never a link that opens something; to be copied with the mouse."""
    label = QLabel("\u200b".join(text[i : i + 40] for i in range(0, len(text), 40)) if " " not in text else text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setObjectName(name)
    return label


def _pixmap(pixels: NDArray[np.uint8]) -> QPixmap:
    height, width = pixels.shape[:2]
    image = QImage(np.ascontiguousarray(pixels).data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
    return QPixmap.fromImage(image).scaled(
        _PICTURE, _PICTURE, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
