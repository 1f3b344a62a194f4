"""Long-form dialogue, in a process of its own."""
