"""A language model in vLLM: its command line, its processes, and the only door that leads to it.

    callers → proxy (key, bounds, places, priority) → replica (one vLLM, on a socket of its own)

`command` and `memory` decide how vLLM is run, `supervisor` keeps it running, `proxy` lets callers
in, `warmth` keeps the prompts' prefixes in its cache. Nothing here imports vLLM but `launcher`,
which runs in vLLM's interpreter.
"""
