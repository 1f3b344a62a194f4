"""What her face does: phonemes and sound to BlendShape weights, emotion and idle life."""
