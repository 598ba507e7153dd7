import json
from pathlib import Path

import pytest

from language_server.vllm.errors import ModelError
from language_server.vllm.model import ModelShape, read_model, tool_parser_of
from language_server.vllm.profiles import LLAMA_70B, QWEN3_4B, QWEN3_8B
from tests.unit.language_server.vllm.model_folder import make_folder


def test_a_directory_is_read(tmp_path: Path) -> None:
    model = read_model(make_folder(tmp_path / "m"))
    assert model.shape == ModelShape(2, 64, 2, 1, 32, 128, 1000, tied_embeddings=True)
    assert (model.stored_bytes, model.context_tokens) == (100, 4096)
    assert (model.tool_parser, model.can_think, model.quantized) == ("hermes", False, False)


def test_quantised_and_thinking_models_are_known(tmp_path: Path) -> None:
    template = "{% if enable_thinking %}<think>{% endif %}"
    folder = make_folder(tmp_path / "m", template=template, quantization_config={"bits": 8})
    model = read_model(folder)
    assert (model.quantized, model.can_think, model.tool_parser) == (True, True, None)


def test_control_tokens_are_those_that_are_special(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m")
    added = [
        {"content": "<|im_end|>", "special": True},
        {"content": "<tool_call>", "special": False},
        {"content": "", "special": True},
        "nonsense",
    ]
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    assert read_model(folder).control_tokens == ("<|im_end|>",)
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": {"a": 1}}))
    with pytest.raises(ModelError, match="added_tokens"):
        read_model(folder)


@pytest.mark.parametrize(
    ("template", "parser"),
    [
        ("… <tool_call> …", "hermes"),
        ("[AVAILABLE_TOOLS] … [TOOL_CALLS]", "mistral"),
        ('respond as {"name": function name, "parameters": …}', "llama3_json"),
        ("only talk", None),
    ],
)
def test_tool_calls_are_read_from_the_template(template: str, parser: str | None) -> None:
    assert tool_parser_of(template) == parser


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a <tool_call> b", "hermes"),
        ([{"name": "rag", "template": "x"}, {"name": "default", "template": "[TOOL_CALLS]"}],
         "mistral"),
    ],
)  # fmt: skip
def test_a_template_in_the_tokenizer_s_file_counts(
    tmp_path: Path, value: object, found: str
) -> None:
    folder = make_folder(tmp_path / "m", template="")
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": value}))
    assert read_model(folder).tool_parser == found


# Published sizes: 4.0, 8.2 and 70.6 billion parameters; 144, 144 and 320 KiB of cache a token.
@pytest.mark.parametrize(
    ("shape", "billions", "kib"),
    [(QWEN3_4B, 4.02, 144), (QWEN3_8B, 8.19, 144), (LLAMA_70B, 70.55, 320)],
)
def test_sizes_of_published_models(shape: ModelShape, billions: float, kib: int) -> None:
    parameters = shape.layer_parameters + shape.embedding_parameters
    assert parameters / 1e9 == pytest.approx(billions, rel=0.002)
    assert shape.cache_bytes_per_token(2) == kib * 1024
    assert shape.weight_bytes(2.0) == 2 * parameters
    assert shape.weight_bytes(1.0) == parameters + shape.embedding_parameters


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such directory"):
        read_model(tmp_path / "nowhere")
    folder = make_folder(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json, \*\.safetensors missing"):
        read_model(folder)


def test_a_model_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Instruct"):
        read_model(make_folder(tmp_path / "m", template=""))


@pytest.mark.parametrize("value", [None, 0, -1, "2", True, 1.5, [2]])
def test_nonsense_in_the_config_is_named(tmp_path: Path, value: object) -> None:
    folder = make_folder(tmp_path / "m", num_hidden_layers=value)
    with pytest.raises(ModelError, match="num_hidden_layers has to be a whole number"):
        read_model(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1]", "does not hold a JSON object"),
        (b"\xff\xfe", "cannot be read"),
        (b" " * (16 * 2**20 + 1), "is larger than"),
    ],
    ids=["half", "deep", "list", "binary", "huge"],
)
def test_a_broken_config_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    folder = make_folder(tmp_path / "m")
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ModelError, match=message):
        read_model(folder)
