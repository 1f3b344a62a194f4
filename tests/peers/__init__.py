"""Other people's programs that judge our avatars: the Khronos glTF validator, and three-vrm in a browser."""
