"""What she is made of: VRM and glTF loading, skeleton, expressions, springs. No GL here."""

from idol.avatar.animation import MotionClip
from idol.avatar.animation_vrma import load_animation, parse_animation
from idol.avatar.avatar import Avatar
from idol.avatar.errors import AvatarError
from idol.avatar.framing import Framing
from idol.avatar.loading import load_avatar, parse_avatar

__all__ = [
    "Avatar",
    "AvatarError",
    "Framing",
    "MotionClip",
    "load_animation",
    "load_avatar",
    "parse_animation",
    "parse_avatar",
]
