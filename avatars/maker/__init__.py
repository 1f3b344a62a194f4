"""Makes our idols (``default.vrm``, ``wren.vrm``) from curves and numbers: NumPy for the shapes, Pillow for the paint.

``python -m avatars.maker -o avatars/default.vrm``; who can be made is described in ``character``
"""
