"""Sound in and out: the speech axis on a device, the device's clock, the silent clock."""

from idol.audio.output import SpeechOutput, open_output

__all__ = ["SpeechOutput", "open_output"]
