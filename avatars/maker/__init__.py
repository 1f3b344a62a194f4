"""Makes ``avatars/default.vrm`` from curves and numbers alone: NumPy for the shapes, Pillow for the paint.

``python -m avatars.maker -o avatars/default.vrm``
"""
