"""Qt windows: the desk, the chat panel, the overlay's settings."""
