"""Speak lines with her voice and have Whisper write down what it hears.

    python -m tests.voice.hear [--language en] [--voice af_heart] [--count 20] [--wav FOLDER] [-v]

Reports the word error rate for English and character error rates for Chinese and Japanese over all lines together
(edits / length of the reference). Before comparing: English is lower-cased with figures as words; Chinese is
simplified, figures as characters; Japanese is compared as kana, the reference's reading being given by hand.
"""

from __future__ import annotations

import argparse
import re
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soxr

from engines.store import files_dir
from idol.seams import Clause, Language, Samples
from idol.settings import VoiceSettings
from idol.voice import KokoroVoice, load_voice
from idol.voice.numbers_en import words_en
from idol.voice.numbers_zh import words_zh
from tests.voice.lines import CHINESE, ENGLISH, JAPANESE, PERSON_HEARD, PERSON_LINE

TARGETS: dict[Language, float] = {"en": 0.08, "zh": 0.12, "ja": 0.08}


class Listener:
    """Whisper base (CTranslate2, int8) as a listener. Greedy with five beams, no prompt but a hint at the script."""

    def __init__(self, folder: Path, threads: int = 2) -> None:
        from faster_whisper import WhisperModel

        self._model: Any = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)

    def hear(self, samples: Samples, language: Language) -> str:
        """What is heard in ``samples`` (24 kHz)."""
        sound = soxr.resample(np.pad(samples, 2400), 24_000, 16_000)
        segments, _ = self._model.transcribe(
            sound,
            language=language,
            beam_size=5,
            temperature=0.0,
            condition_on_previous_text=False,
            initial_prompt="以下是普通话的句子。" if language == "zh" else None,
        )
        return "".join(segment.text for segment in segments).strip()


@dataclass
class Score:
    """Edits and reference units, summed over lines."""

    edits: int = 0
    units: int = 0

    @property
    def rate(self) -> float:
        return self.edits / max(1, self.units)

    def add(self, reference: Sequence[str], heard: Sequence[str]) -> int:
        edits = distance(reference, heard)
        self.edits += edits
        self.units += len(reference)
        return edits


def distance(reference: Sequence[str], heard: Sequence[str]) -> int:
    """Levenshtein distance: insertions, deletions and substitutions cost 1."""
    row = list(range(len(heard) + 1))
    for index, unit in enumerate(reference, 1):
        diagonal, row[0] = row[0], index
        for at, other in enumerate(heard, 1):
            diagonal, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, diagonal + (unit != other))
    return row[-1]


def units(text: str, language: Language) -> list[str]:
    """What is counted: words in English, characters in Chinese, kana in Japanese."""
    text = unicodedata.normalize("NFKC", text)
    if language == "en":
        text = re.sub(r"(?<=\w)\.(?=com\b)", " dot ", text)
        text = words_en(text.replace("’", "'")).lower().replace("favourite", "favorite").replace("let's", "let us")
        return re.findall(r"[a-z']+", text.replace("-", " "))
    if language == "zh":
        from opencc import OpenCC

        text = OpenCC("t2s").convert(words_zh(text))
    else:
        import pyopenjtalk

        from idol.voice.numbers_ja import words_ja

        text = pyopenjtalk.g2p(words_ja(text), kana=True)
        text = "".join(chr(ord(c) - 0x60) if "ァ" <= c <= "ヶ" else c for c in text)
        text = _as_sounded(text)
    return [c for c in text if unicodedata.category(c)[0] == "L"]


def _as_sounded(kana: str) -> str:
    """Kana as they sound: particles は/へ/を are given as わ/え/お by the analyser, long vowels as ー."""
    kana = re.sub("(?<=[おこそとのほもよろごぞどぼょ])う", "ー", kana)
    kana = re.sub("(?<=[えけせてねへめれげぜで])い", "ー", re.sub("(?<=[ゅす])う", "ー", kana))
    return kana.replace("ぢ", "じ").replace("づ", "ず")


def reference(line: str | tuple[str, str], language: Language) -> tuple[str, list[str]]:
    """The line and the units a listener should hear."""
    if isinstance(line, tuple):
        return line[0], units(line[1], language)
    return line, units(line, language)


def lines(language: Language) -> Sequence[str | tuple[str, str]]:
    return {"en": ENGLISH, "zh": CHINESE, "ja": JAPANESE}[language]


def hear_language(
    voice: KokoroVoice, listener: Listener, language: Language, name: str, chosen: Sequence[str | tuple[str, str]],
    tell: Any = lambda text: None, wav: Path | None = None,
) -> tuple[Score, float, float]:  # fmt: skip
    """(score, seconds of work, seconds of sound) over ``chosen``."""
    score, work, sound = Score(), 0.0, 0.0
    for index, line in enumerate(chosen):
        text, expected = reference(line, language)
        speech = voice.speak(Clause(0, index, text, "neutral", language), name)
        assert speech is not None
        work, sound = work + speech.seconds_spent, sound + speech.seconds
        heard = listener.hear(speech.samples, language)
        edits = score.add(expected, units(heard, language))
        tell(f"{'  ' if not edits else f'{edits:2d}'} {text}  →  {heard}")
        if wav is not None:
            _write(wav / f"{language}{index:02d}.wav", speech.samples)
    return score, work, sound


def _write(path: Path, samples: Samples) -> None:
    import wave

    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(24_000)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=list(TARGETS), action="append")
    parser.add_argument("--voice")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--wav", type=Path)
    parser.add_argument("-v", action="store_true")
    arguments = parser.parse_args()
    tell = print if arguments.v else lambda text: None
    voice = load_voice(files_dir() / "kokoro", threads=2)
    listener = Listener(files_dir() / "whisper-base")
    failed = False
    for language in arguments.language or list(TARGETS):
        started = time.perf_counter()
        name = arguments.voice or VoiceSettings().name_for(language)
        score, work, sound = hear_language(
            voice, listener, language, name, lines(language)[: arguments.count], tell, arguments.wav
        )
        failed |= score.rate > TARGETS[language]
        print(
            f"{language} {name}: {'WER' if language == 'en' else 'CER'} {score.rate:.3f} (target {TARGETS[language]}), "
            f"{score.edits} of {score.units}; rtf {work / sound:.3f}; {time.perf_counter() - started:.0f} s"
        )
    if not arguments.language or "en" in arguments.language:
        speech = voice.speak(Clause(0, 0, PERSON_LINE, "happy", "en"), VoiceSettings().en)
        assert speech is not None
        heard = listener.hear(speech.samples, "en")
        missing = [pattern for pattern in PERSON_HEARD if not re.search(pattern, heard.lower())]
        failed |= bool(missing)
        print(f"said: {speech.spoken}\nheard: {heard}\nmissing: {missing or 'nothing'}")
    if voice.phonemizer.unknown:
        print("symbols not in the voice's vocabulary:", sorted(voice.phonemizer.unknown))
        failed = True
    voice.close()
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
