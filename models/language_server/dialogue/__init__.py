"""The script's conversation: what was said, what it means, and what to answer."""
