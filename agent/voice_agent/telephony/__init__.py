"""The agent on the telephone: keys, transfers, answering machines, card numbers."""
