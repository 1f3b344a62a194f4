"""The default idol (``default.vrm``), another (``wren.vrm``) and the program that makes them (``maker``)."""
