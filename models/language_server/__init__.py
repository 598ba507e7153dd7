"""The language server: the built-in scripted responder (and, later, the vLLM launcher)."""
