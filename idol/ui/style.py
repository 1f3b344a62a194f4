"""The window's look: one dark style sheet on Qt's Fusion style."""

from __future__ import annotations

from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

ACCENT = "#ff7aa8"
_SHEET = """
* { font-size: 14px; }
QMainWindow, QWidget#desk { background: #171a23; color: #e8eaf2; }
QWidget#side { background: #171a23; border-left: 1px solid #2a3044; }
QLabel { color: #e8eaf2; background: transparent; }
QLabel#title { font-size: 16px; font-weight: 600; padding: 12px 16px 2px 16px; }
QLabel#hint { color: #8b93ad; font-size: 12px; padding: 0 16px 8px 16px; }
QLabel#dialog_title { font-size: 17px; font-weight: 600; }
QLabel#detail { color: #aab1c7; }
QDialog { background: #171a23; }
QLabel#meta { color: #8b93ad; font-size: 11px; }
QLabel#state { color: #c9cfe2; padding: 0 6px; }
QLabel#dot { font-size: 16px; padding-left: 12px; }
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; border: none; }
QFrame#hers { background: #2b3147; border-radius: 14px; border-top-left-radius: 4px; }
QFrame#mine { background: #7a3d5c; border-radius: 14px; border-top-right-radius: 4px; }
QFrame#notice { background: #3a3322; border-radius: 10px; }
QFrame#notice QLabel { color: #ffdf9e; }
QFrame#bad { background: #40232b; border-radius: 10px; }
QFrame#bad QLabel { color: #ffb3bf; }
QPlainTextEdit { background: #262b3d; color: #f2f4fb; border: 1px solid #363d57; border-radius: 10px; padding: 7px 10px;
  selection-background-color: #ff7aa8; }
QPlainTextEdit:focus { border: 1px solid #ff7aa8; }
QPushButton { background: #2f3650; color: #e8eaf2; border: none; border-radius: 10px; padding: 9px 16px; }
QPushButton:hover { background: #3a4263; }
QPushButton:disabled { color: #6b7390; background: #242a3d; }
QPushButton#send { background: #ff7aa8; color: #2a0f1b; font-weight: 600; }
QPushButton#send:hover { background: #ff93b9; }
QPushButton#send:disabled { background: #5b3a49; color: #a5818f; }
QProgressBar { background: #262b3d; border: none; border-radius: 3px; max-height: 6px; }
QProgressBar::chunk { background: #ff7aa8; border-radius: 3px; }
QStatusBar { background: #12151d; color: #aab1c7; }
QStatusBar::item { border: none; }
QMenuBar { background: #12151d; color: #d6dbeb; padding: 2px; }
QMenuBar::item:selected, QMenu::item:selected { background: #363d57; }
QMenu { background: #1d2130; color: #e8eaf2; border: 1px solid #363d57; padding: 4px; }
QMenu::item { padding: 6px 26px; }
QSlider::groove:horizontal { height: 4px; background: #363d57; border-radius: 2px; }
QSlider::handle:horizontal { width: 14px; margin: -5px 0; border-radius: 7px; background: #e8eaf2; }
QSlider::sub-page:horizontal { background: #ff7aa8; border-radius: 2px; }
QScrollBar:vertical { width: 10px; background: transparent; }
QScrollBar::handle:vertical { background: #3a4263; border-radius: 5px; min-height: 30px; }
QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; }
QToolTip { background: #262b3d; color: #e8eaf2; border: 1px solid #363d57; }
"""


def apply_style(application: QApplication) -> None:
    """Set style, palette, fonts and the sheet."""
    application.setStyle("Fusion")
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Window, QColor("#171a23"))
    palette.setColor(QPalette.ColorRole.WindowText, QColor("#e8eaf2"))
    palette.setColor(QPalette.ColorRole.Base, QColor("#1d2130"))
    palette.setColor(QPalette.ColorRole.Text, QColor("#e8eaf2"))
    palette.setColor(QPalette.ColorRole.PlaceholderText, QColor("#7d86a3"))
    palette.setColor(QPalette.ColorRole.Highlight, QColor(ACCENT))
    application.setPalette(palette)
    font = QFont()
    font.setFamilies(["Inter", "Noto Sans", "Segoe UI", "Noto Sans CJK SC", "Noto Sans CJK JP", "sans-serif"])
    application.setFont(font)
    application.setStyleSheet(_SHEET)
