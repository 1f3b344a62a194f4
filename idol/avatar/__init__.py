"""What she is made of: VRM and glTF loading, skeleton, expressions, springs. No GL here."""

from idol.avatar.avatar import Avatar
from idol.avatar.errors import AvatarError
from idol.avatar.framing import Framing
from idol.avatar.loading import load_avatar, parse_avatar

__all__ = ["Avatar", "AvatarError", "Framing", "load_avatar", "parse_avatar"]
