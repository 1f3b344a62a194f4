"""What she says and hears: text normalisation, phonemes, speech synthesis; later the microphone."""
