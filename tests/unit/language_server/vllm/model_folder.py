"""A directory that looks like a model's; the weights are empty."""

import json
from pathlib import Path
from typing import Any

LLAMA: dict[str, Any] = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 128,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}
HERMES = "{{ messages }} between <tool_call> and </tool_call>"


def make_folder(folder: Path, *, template: str = HERMES, **config: Any) -> Path:
    """Write the files that a model has.

    Args:
        folder: where to; made.
        template: chat template; empty: none.
        config: entries of config.json besides the usual ones; None takes one away.
    """
    folder.mkdir(parents=True)
    entries = {name: value for name, value in (LLAMA | config).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(entries))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(bytes(100))
    if template:
        (folder / "chat_template.jinja").write_text(template)
    return folder
