"""Smooth curves through given points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

F64 = NDArray[np.float64]


class Monotone:
    """Monotone cubic through (x, y) (Fritsch and Carlson 1980): no overshoot between the points, flat outside them."""

    def __init__(self, *points: tuple[float, float]) -> None:
        self.x, self.y = np.asarray(points, np.float64).T
        h = np.diff(self.x)
        d = np.diff(self.y) / h
        m = np.zeros_like(self.y)
        for i in range(1, len(self.y) - 1):
            if d[i - 1] * d[i] > 0:
                a, b = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
                m[i] = (a + b) / (a / d[i - 1] + b / d[i])
        m[0], m[-1] = d[0], d[-1]
        self.m = m

    def __call__(self, at: ArrayLike) -> F64:
        t = np.clip(np.asarray(at, np.float64), self.x[0], self.x[-1])
        i = np.clip(np.searchsorted(self.x, t, "right") - 1, 0, len(self.x) - 2)
        h = self.x[i + 1] - self.x[i]
        s = (t - self.x[i]) / h
        out: F64 = (
            (1 + 2 * s) * (1 - s) ** 2 * self.y[i]
            + s * (1 - s) ** 2 * h * self.m[i]
            + s * s * (3 - 2 * s) * self.y[i + 1]
            + s * s * (s - 1) * h * self.m[i + 1]
        )
        return out


def spline(points: ArrayLike, count: int, even: bool = True) -> F64:
    """``count`` points of the centripetal Catmull-Rom curve through ``points`` (N, D); ``even``: equal arc lengths."""
    p = np.asarray(points, np.float64)
    p = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    k = np.concatenate([[0.0], np.cumsum(np.maximum(np.linalg.norm(np.diff(p, axis=0), axis=1), 1e-9) ** 0.5)])
    fine = []
    for i in range(1, len(p) - 2):
        t = np.linspace(k[i], k[i + 1], 33)[: None if i == len(p) - 3 else -1, None]
        a = [(k[j + 1] - t) / (k[j + 1] - k[j]) * p[j] + (t - k[j]) / (k[j + 1] - k[j]) * p[j + 1]
             for j in (i - 1, i, i + 1)]  # fmt: skip
        b = [(k[j + 2] - t) / (k[j + 2] - k[j]) * a[n] + (t - k[j]) / (k[j + 2] - k[j]) * a[n + 1]
             for n, j in enumerate((i - 1, i))]  # fmt: skip
        fine.append((k[i + 1] - t) / (k[i + 1] - k[i]) * b[0] + (t - k[i]) / (k[i + 1] - k[i]) * b[1])
    line = np.concatenate(fine)
    return resample(line, count) if even else line[np.linspace(0, len(line) - 1, count).round().astype(int)]


def resample(line: F64, count: int) -> F64:
    """``count`` points at equal arc lengths along a polyline."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    at = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(at, along, line[:, c]) for c in range(line.shape[1])], 1)


def smooth(value: ArrayLike, low: float | F64, high: float | F64) -> F64:
    """Smoothstep from 0 at ``low`` to 1 at ``high`` (``low`` may be the greater one)."""
    t = np.clip((np.asarray(value, np.float64) - low) / (high - low), 0.0, 1.0)
    out: F64 = t * t * (3.0 - 2.0 * t)
    return out


def bump(x: ArrayLike, y: ArrayLike, cx: float, cy: float, sx: float, sy: float) -> F64:
    """A Gaussian hill of height 1, cut off smoothly to exactly 0 at three deviations."""
    r = ((np.asarray(x) - cx) / sx) ** 2 + ((np.asarray(y) - cy) / sy) ** 2
    out: F64 = np.exp(-0.5 * r) * smooth(r, 9.0, 6.0)
    return out
