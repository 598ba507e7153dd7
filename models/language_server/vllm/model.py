"""A model's directory: its shape, the size of its weights, and how it writes tool calls."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from language_server.vllm.errors import ModelError

_MAX_FILE_BYTES: Final = 16 * 2**20
"""Largest file of settings that is read; chat templates are tens of kilobytes."""

_MAX_TOKENIZER_BYTES: Final = 128 * 2**20
"""Vocabularies of 150,000 entries are 11 to 17 MB."""

_PARSERS_BY_TEMPLATE: Final = (
    ("<tool_call>", "hermes"),  # Qwen 2.5 and 3, Hermes
    ("[TOOL_CALLS]", "mistral"),
    ("<|python_tag|>", "llama3_json"),
    ('{"name": function name, "parameters":', "llama3_json"),  # Llama 3.1 to 3.3
)
"""What a chat template says of tool calls → vLLM's parser for it, first match wins. Read from the
template, since one architecture is published with several: a Llama may speak Hermes."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What of a dense decoder decides about memory and time."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied_embeddings: bool

    @property
    def embedding_parameters(self) -> int:
        """Input and output tables, which quantisation leaves alone."""
        return self.vocabulary * self.hidden * (1 if self.tied_embeddings else 2)

    @property
    def layer_parameters(self) -> int:
        """All layers: attention's four matrices and a gated MLP's three. Norms are left out."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.intermediate)

    def weight_bytes(self, bytes_per_weight: float) -> int:
        """Memory for the weights, bytes; the tables stay in 16 bits."""
        return round(self.layer_parameters * bytes_per_weight) + 2 * self.embedding_parameters

    def cache_bytes_per_token(self, bytes_per_value: int) -> int:
        """Keys and values of one token in all layers, bytes."""
        return 2 * self.layers * self.kv_heads * self.head_dim * bytes_per_value


@dataclass(frozen=True, slots=True)
class Model:
    """A model in a directory."""

    folder: Path
    shape: ModelShape
    stored_bytes: int
    """Size of its weights as they lie there."""
    quantized: bool
    """Whether they are quantised already."""
    context_tokens: int
    """Longest sequence that it was made for."""
    tool_parser: str | None
    """vLLM's name for its way of writing tool calls; None: none that we know."""
    can_think: bool
    """Whether its template has a switch for thinking aloud before the answer."""
    control_tokens: tuple[str, ...]
    """What its tokenizer reads as marks and not as text."""


def read_model(folder: Path) -> Model:
    """Look at a model's directory.

    Raises:
        ModelError: it is none, or not one that vLLM could serve as a conversation.
    """
    if not folder.is_dir():
        raise ModelError(f"PARLEY_LANGUAGE_MODEL={folder}: there is no such directory")
    missing = [file for file in ("config.json", "tokenizer.json") if not (folder / file).is_file()]
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        missing.append("*.safetensors")
    if missing:
        raise ModelError(
            f"PARLEY_LANGUAGE_MODEL={folder}: {', '.join(missing)} missing; it has to be the"
            " directory of a model in Hugging Face's format"
        )
    config = _read_json(folder / "config.json")
    template = _chat_template(folder)
    return Model(
        folder=folder,
        shape=_shape(folder, config),
        stored_bytes=sum(file.stat().st_size for file in weights),
        quantized="quantization_config" in config,
        context_tokens=_whole(folder, config, "max_position_embeddings"),
        tool_parser=tool_parser_of(template),
        can_think="enable_thinking" in template,
        control_tokens=_control_tokens(folder / "tokenizer.json"),
    )


def tool_parser_of(template: str) -> str | None:
    """The parser of vLLM for the tool calls that a chat template describes; None: it has none."""
    for sign, parser in _PARSERS_BY_TEMPLATE:
        if sign in template:
            return parser
    return None


def _shape(folder: Path, config: dict[str, Any]) -> ModelShape:
    hidden, heads = (_whole(folder, config, n) for n in ("hidden_size", "num_attention_heads"))
    defaults = {"num_key_value_heads": heads, "head_dim": hidden // heads}
    return ModelShape(
        layers=_whole(folder, config, "num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=_whole(folder, defaults | config, "num_key_value_heads"),
        head_dim=_whole(folder, defaults | config, "head_dim"),
        intermediate=_whole(folder, config, "intermediate_size"),
        vocabulary=_whole(folder, config, "vocab_size"),
        tied_embeddings=bool(config.get("tie_word_embeddings", False)),
    )


def _whole(folder: Path, config: dict[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelError(f"{folder / 'config.json'}: {name} has to be a whole number above 0")
    return value


def _chat_template(folder: Path) -> str:
    """The template as text; vLLM refuses conversations with a model that has none."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return _read_text(file)
    settings = folder / "tokenizer_config.json"
    template = _read_json(settings).get("chat_template") if settings.is_file() else None
    if isinstance(template, list):  # several with names, of which vLLM takes the default one
        named = [entry for entry in template if isinstance(entry, dict)]
        template = next((e.get("template") for e in named if e.get("name") == "default"), None)
    if not isinstance(template, str) or not template:
        raise ModelError(
            f"PARLEY_LANGUAGE_MODEL={folder}: the model has no chat template; take one that was"
            " made for conversation (its name often ends in Instruct)"
        )
    return template


def _control_tokens(file: Path) -> tuple[str, ...]:
    added = _read_json(file, _MAX_TOKENIZER_BYTES).get("added_tokens") or []
    if not isinstance(added, list):
        raise ModelError(f"{file}: added_tokens has to be a list")
    special = [entry for entry in added if isinstance(entry, dict) and entry.get("special")]
    return tuple(str(entry["content"]) for entry in special if entry.get("content"))


def _read_json(file: Path, most_bytes: int = _MAX_FILE_BYTES) -> dict[str, Any]:
    try:
        value = json.loads(_read_text(file, most_bytes))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file} is not JSON") from error
    if not isinstance(value, dict):
        raise ModelError(f"{file} does not hold a JSON object")
    return value


def _read_text(file: Path, most_bytes: int = _MAX_FILE_BYTES) -> str:
    try:
        if file.stat().st_size > most_bytes:
            raise ModelError(f"{file} is larger than {most_bytes} bytes")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from error
