"""What she thinks: persona, memory, prompt, understanding, the decode loop, clauses and moderation."""
