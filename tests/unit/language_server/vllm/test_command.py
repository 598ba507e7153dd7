from pathlib import Path
from typing import Any

import pytest

from language_server.settings import LanguageServerSettings
from language_server.vllm.command import Command, limits_of, load_of, vllm_command
from language_server.vllm.errors import ModelError
from language_server.vllm.explain import explanation
from language_server.vllm.model import read_model
from tests.unit.language_server.vllm.model_folder import make_folder

PYTHON, SOCKET = Path("/opt/vllm/bin/python"), Path("/run/x/0.sock")


def command(
    folder: Path, environment: dict[str, str] | None = None, replica: int = 0, **fields: Any
) -> Command:
    settings = LanguageServerSettings(language_engine="vllm", **fields)
    return vllm_command(
        settings,
        read_model(folder),
        socket=SOCKET,
        python=PYTHON,
        environment=environment or {},
        cores=2,
        replica=replica,
    )


def option(made: Command, name: str) -> str:
    return made.arguments[made.arguments.index(name) + 1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "tiny")


def test_the_whole_command_on_a_cpu(folder: Path) -> None:
    made = command(folder)
    assert made.arguments[0] == str(PYTHON)
    assert made.arguments[1].endswith("language_server/vllm/launcher.py")
    assert made.arguments[2:] == (
        "serve", str(folder), "--served-model-name", "tiny", "--uds", str(SOCKET),
        "--max-model-len", "4096", "--max-num-seqs", "8", "--max-num-batched-tokens", "512",
        "--enable-chunked-prefill", "--enable-prefix-caching",
        "--prefix-caching-hash-algo", "sha256", "--enable-prompt-tokens-details",
        "--scheduling-policy", "priority", "--structured-outputs-config",
        '{"backend": "xgrammar", "disable_any_whitespace": true}',
        "--disable-fastapi-docs", "--disable-uvicorn-access-log",
        "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
        "--block-size", "32", "--enforce-eager",
    )  # fmt: skip
    assert made.environment == {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_MAX_N_SEQUENCES": "1",
        "PYTHONUNBUFFERED": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
    }


def test_what_a_gpu_has_besides(folder: Path) -> None:
    made = command(folder, language_profile="2xh100")
    assert option(made, "--tensor-parallel-size") == "2"
    assert option(made, "--gpu-memory-utilization") == "0.92"
    assert option(made, "--performance-mode") == "interactivity"
    assert option(made, "--quantization") == "fp8"
    assert "--enforce-eager" not in made.arguments
    assert not any(name.startswith("VLLM_CPU") for name in made.environment)


def test_settings_win_over_the_profile(folder: Path) -> None:
    made = command(
        folder,
        language_profile="a10",
        language_max_sequences=3,
        language_max_batched_tokens=64,
        language_context_tokens=1024,
        language_memory_share=0.5,
        language_cache_blocks=99,
        language_quantization="awq",
        language_kv_cache_dtype="fp8",
        language_tool_parser="mistral",
        language_model_name="ours",
    )
    assert [
        option(made, f"--{name}")
        for name in ("max-num-seqs", "max-num-batched-tokens", "max-model-len",
                     "gpu-memory-utilization", "num-gpu-blocks-override", "quantization",
                     "kv-cache-dtype", "tool-call-parser", "served-model-name")
    ] == ["3", "64", "1024", "0.5", "99", "awq", "fp8", "mistral", "ours"]  # fmt: skip


def test_a_quantised_model_is_not_quantised_again(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", quantization_config={"quant_method": "fp8"})
    made = command(folder, language_profile="h100")
    assert "--quantization" not in made.arguments
    settings = LanguageServerSettings(language_profile="h100")
    load = load_of(settings, read_model(folder))
    assert load is not None
    assert load.quantized


def test_none_switches_off(folder: Path) -> None:
    made = command(
        folder,
        language_profile="h100",
        language_quantization="none",
        language_tool_parser="none",
    )
    assert "--quantization" not in made.arguments
    assert "--enable-auto-tool-choice" not in made.arguments


def test_models_that_can_think_are_told_not_to(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", template="{{ enable_thinking }} <tool_call>")
    made = command(folder)
    assert option(made, "--default-chat-template-kwargs") == '{"enable_thinking": false}'


def test_neither_secrets_nor_back_doors_reach_vllm(folder: Path) -> None:
    given = {
        "PATH": "/bin",
        "PARLEY_LANGUAGE_API_KEY": "hush",
        "LIVEKIT_API_SECRET": "hush",
        "VLLM_SERVER_DEV_MODE": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
        "HF_HUB_OFFLINE": "0",
        "VLLM_LOGGING_LEVEL": "DEBUG",
    }
    made = command(folder, given)
    assert made.environment["PATH"] == "/bin"
    assert made.environment["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert made.environment["HF_HUB_OFFLINE"] == "1"
    assert not {"hush"} & set(made.environment.values())
    assert "VLLM_SERVER_DEV_MODE" not in made.environment
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING" not in made.environment
    assert "hush" not in repr(made)


def test_threads_that_the_operator_has_bound_stay(folder: Path) -> None:
    made = command(folder, {"VLLM_CPU_OMP_THREADS_BIND": "auto"})
    assert made.environment["VLLM_CPU_OMP_THREADS_BIND"] == "auto"
    assert "OMP_NUM_THREADS" not in made.environment


@pytest.mark.parametrize(
    ("visible", "found"),
    [(None, "2,3"), ("4,5,6,7", "6,7"), ("GPU-a,GPU-b,GPU-c,GPU-d", "GPU-c,GPU-d")],
)
def test_every_copy_has_gpus_of_its_own(folder: Path, visible: str | None, found: str) -> None:
    given = {"CUDA_VISIBLE_DEVICES": visible} if visible else {}
    made = command(folder, given, 1, language_profile="2xh100", language_replicas=2)
    assert made.environment["CUDA_VISIBLE_DEVICES"] == found


def test_too_few_gpus_are_told(folder: Path) -> None:
    given = {"CUDA_VISIBLE_DEVICES": "0,1,2"}
    with pytest.raises(ModelError, match="PARLEY_LANGUAGE_REPLICAS"):
        command(folder, given, 1, language_profile="2xh100", language_replicas=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"language_context_tokens": 5000}, "the model has 4096"),
        (
            {"language_max_sequences": 100, "language_max_batched_tokens": 64},
            "less than one token for each",
        ),
    ],
)
def test_contradictions_are_told(folder: Path, fields: dict[str, Any], message: str) -> None:
    settings = LanguageServerSettings(**fields)
    with pytest.raises(ModelError, match=message):
        limits_of(settings, read_model(folder))


def test_a_step_has_room_for_every_request(folder: Path) -> None:
    settings = LanguageServerSettings(language_profile="a10", language_max_sequences=200)
    assert limits_of(settings, read_model(folder)).max_batched_tokens == 200


def test_the_explanation_shows_the_command_and_no_secret(folder: Path) -> None:
    told = explanation(
        LanguageServerSettings(
            language_model=folder, language_profile="h100", language_api_key="hush-hush"
        )
    )
    assert "80 committed, 60 speculative, 40 background" in told
    assert "--scheduling-policy priority" in told
    assert "tokens: " in told
    assert "hush-hush" not in told
