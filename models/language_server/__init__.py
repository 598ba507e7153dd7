"""The language server: the built-in scripted responder, or the door before a model in vLLM."""
