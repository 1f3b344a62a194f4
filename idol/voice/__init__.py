"""What she says and hears: text normalisation, phonemes, speech synthesis; later the microphone."""

from idol.voice.kokoro_voice import KokoroVoice, load_voice

__all__ = ["KokoroVoice", "load_voice"]
