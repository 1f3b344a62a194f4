"""The overlay on the stage: frame times, the last turn's latency by stage, rates, queues, runtimes."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from idol.show.health import health_lines
from idol.show.interface import ShowSnapshot
from idol.show.latency import STAGES
from idol.ui.frame_clock import FrameStats

_COLOURS = ("#7fb4ff", "#63d08b", "#e0b34f", "#ff7aa8", "#b78cff", "#5fd3d8")
_WIDTH = 330
_LINE = 17.0


class Overlay(QWidget):
    """Painted into a picture four times a second; a frame only copies the picture."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.move(12, 12)
        self.resize(_WIDTH, 40)
        self._picture = QPixmap()
        self._font = QFont("monospace", 9)
        self._font.setStyleHint(QFont.StyleHint.Monospace)
        self.lines: list[str] = []

    def show_state(self, snapshot: ShowSnapshot, stats: FrameStats) -> None:
        """Draw anew."""
        mean, deviation, p99 = stats.summary()
        lines = [f"frame  {mean:5.1f} ms  sd {deviation:4.1f}  p99 {p99:5.1f}"]
        stages = [(name, snapshot.stages[name]) for name in STAGES if name in snapshot.stages]
        lines += [f"{name:<13}{value:7.0f} ms" for name, value in stages]
        lines += [
            f"voice {snapshot.rtf:.2f} of real time   {snapshot.tokens_per_second:.0f} tokens/s",
            f"queued {snapshot.queued_turns} lines, {snapshot.queued_audio_seconds:.1f} s   gaps {snapshot.underruns}",
        ]
        lines += [f"{info.engine}: {info.runtime}" for info in snapshot.runtimes]
        lines += health_lines(snapshot.health)
        lines += [f"memory: {snapshot.memory}"] if snapshot.memory else []
        self.lines = lines
        self._paint(lines, stages)
        self.update()

    def _paint(self, lines: list[str], stages: list[tuple[str, float]]) -> None:
        ratio = self.devicePixelRatioF()
        height = _LINE * len(lines) + 18
        picture = QPixmap(round(_WIDTH * ratio), round(height * ratio))
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(10, 12, 18, 205))
        painter.drawRoundedRect(QRectF(0, 0, _WIDTH, height), 8, 8)
        painter.setFont(self._font)
        metrics = QFontMetricsF(self._font)
        longest = max((value for _, value in stages), default=1.0) or 1.0
        y = 9.0
        for index, line in enumerate(lines):
            stage = index - 1
            if 0 <= stage < len(stages):
                before = stages[stage - 1][1] if stage else 0.0
                left = 185 + 130 * before / longest
                width = max(2.0, 130 * (stages[stage][1] - before) / longest)
                painter.setBrush(QColor(_COLOURS[stage % len(_COLOURS)]))
                painter.drawRoundedRect(QRectF(left, y + 4, width, 8), 2, 2)
            painter.setPen(QColor("#e8eaf2"))
            shown = metrics.elidedText(line, Qt.TextElideMode.ElideRight, _WIDTH - 22)
            painter.drawText(QRectF(11, y, _WIDTH - 20, _LINE), int(Qt.AlignmentFlag.AlignVCenter), shown)
            painter.setPen(Qt.PenStyle.NoPen)
            y += _LINE
        painter.end()
        self._picture = picture
        self.resize(_WIDTH, round(height))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        painter.end()
