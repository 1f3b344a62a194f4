"""How much earlier Kokoro's sound is than its symbols' frames, per voice: the table in ``idol/voice/leads.py``.

    python -m tests.voice.measure_lead [--language en] [--voice af_heart] [--lines 12]

Per utterance, the log-energy envelope (5 ms steps) is compared with a template of the symbols (vowels 1, voiced
consonants 0.3, voiceless ones and pauses -1) at shifts of -150 to +50 ms; the shift of the best normalised correlation
is the lead. The median over the lines is printed, with the median place of the energy minimum of p, b, m and pʰ within
their shifted spans (0 is the span's start, 1 its end) as a check by another road.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from engines.models.kokoro import KokoroEngine, Synthesis
from engines.store import files_dir
from idol.seams import LANGUAGES, Language
from idol.voice import KokoroVoice
from idol.voice.alignment import FRAME, loud_region
from tests.voice.lines import CHINESE, ENGLISH, JAPANESE

STEP = 120
VOWELS = "AIOQWYaeiouyæɑɐɒɔəɚɛɜɨɪʊʌɤøœᵊᵻ"
MARKS = "ˈˌː→↗↘↓ʰʲᵝ"
VOICELESS = "ptkfsʃʧθhxɕʨʂꭧʦçʔ ,.!?;:—…"
LIPS = "pbm"


def envelope(audio: NDArray[np.float32]) -> NDArray[np.float64]:
    """Log-energy in dB per 5 ms, smoothed over 15 ms, floored at -50 dB of the peak."""
    count = len(audio) // STEP
    power = np.mean(audio[: count * STEP].reshape(count, STEP).astype(np.float64) ** 2, axis=1)
    power = np.convolve(power, np.ones(3) / 3, mode="same")
    return 10 * np.log10(np.maximum(power, power.max() * 1e-5))


def template(symbols: str, made: Synthesis) -> NDArray[np.float64]:
    """What the envelope should look like, per 5 ms."""
    values, last = [0.0 - 1.0], -1.0
    for symbol in symbols:
        if symbol not in MARKS:
            last = 1.0 if symbol in VOWELS else -1.0 if symbol in VOICELESS else 0.3
        values.append(last if symbol not in "ˈˌ" else -0.2)
    values.append(-1.0)
    return np.repeat(values, made.durations * FRAME // STEP)


def lead(symbols: str, made: Synthesis) -> float:
    """Seconds the sound is early in one utterance."""
    heard, expected = envelope(made.audio), template(symbols, made)
    first, last = loud_region(made.audio)
    best, found = -2.0, 0.0
    for shift in range(-30, 11):
        begin, end = max(first // STEP, -shift, 0), min(last // STEP, len(heard), len(expected) - max(0, -shift))
        low, high = max(begin, shift, 0), min(end, len(heard), len(expected) + shift)
        value = float(np.corrcoef(heard[low:high], expected[low - shift : high - shift])[0, 1])
        if value > best:
            best, found = value, -shift * STEP / 24_000
    return found


def lip_minima(symbols: str, made: Synthesis, shift: float) -> list[float]:
    """Where in its shifted span each p, b or m has its energy minimum, searched 60 ms around the span."""
    ends = np.cumsum(made.durations) * FRAME - round(shift * 24_000)
    heard, places = envelope(made.audio), []
    for index, symbol in enumerate(symbols):
        if symbol not in LIPS or index == 0 or symbols[index - 1] in " ,.!?":
            continue
        start, end = int(ends[index]), int(ends[index + 1])
        low, high = max(0, (start - 1440) // STEP), min(len(heard), (end + 1440) // STEP)
        if high - low > 4 and end > start:
            places.append(((low + int(np.argmin(heard[low:high]))) * STEP - start) / (end - start))
    return places


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=LANGUAGES, action="append")
    parser.add_argument("--voice", action="append")
    parser.add_argument("--lines", type=int, default=12)
    arguments = parser.parse_args()
    engine = KokoroEngine(files_dir() / "kokoro", threads=2)
    engine.load()
    voice = KokoroVoice(engine)
    lines: dict[Language, list[str]] = {
        "en": list(ENGLISH), "zh": list(CHINESE), "ja": [text for text, _ in JAPANESE]
    }  # fmt: skip
    for language in arguments.language or LANGUAGES:
        texts = lines[language][: arguments.lines]
        symbols = [voice.phonemizer.phonemes(voice.phonemizer.spoken(text, language), language) for text in texts]
        for name in arguments.voice or voice.voices(language):
            made = [engine.synthesise([engine.vocabulary[s] for s in line], name) for line in symbols]
            leads = [lead(line, sound) for line, sound in zip(symbols, made, strict=True)]
            middle = float(np.median(leads))
            minima: list[float] = []
            for line, sound in zip(symbols, made, strict=True):
                minima += lip_minima(line, sound, middle)
            cut = min(len(sound.audio) - loud_region(sound.audio)[1] for sound in made) / 24
            onset = min(loud_region(sound.audio)[0] for sound in made) / 24
            print(
                f'    "{name}": {middle:.3f},  # {language} p10 {np.quantile(leads, 0.1):.3f} '
                f"p90 {np.quantile(leads, 0.9):.3f}; lips {np.median(minima):.2f} of the span ({len(minima)}); "
                f"silence before {onset:.0f} ms, after {cut:.0f} ms",
                flush=True,
            )
    engine.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
