"""The default idol (``default.vrm``) and the program that makes her (``maker``)."""
