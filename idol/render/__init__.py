"""How she is drawn: OpenGL 3.3 core, the viewport, the overlay."""
