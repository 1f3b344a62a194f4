"""Idol: a desktop virtual idol whose language model, voice and face run inside one program."""

__version__ = "0.1.0"
