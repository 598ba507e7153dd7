"""Settings → the exact command line and environment of one `vllm serve`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from language_server.settings import LanguageServerSettings
from language_server.vllm.errors import ModelError
from language_server.vllm.memory import Load
from language_server.vllm.model import Model
from language_server.vllm.profiles import PROFILES, Profile

LAUNCHER: Final = Path(__file__).with_name("launcher.py")

_SECRETS: Final = ("PARLEY_", "LIVEKIT_")
_OPENING: Final = (
    # Each opens a way in, or lets vLLM load what is not a model: nothing we start may have it.
    # Source: vLLM, docs/usage/security.md and envs.py.
    "VLLM_SERVER_DEV_MODE",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
    "VLLM_ALLOW_INSECURE_SERIALIZATION",
    "VLLM_PLUGINS",
    "VLLM_API_KEY",
    "VLLM_TORCH_PROFILER_DIR",
)
_SET: Final = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    # One answer to a request.
    "VLLM_MAX_N_SEQUENCES": "1",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one copy of the model takes on, after settings, profile and model have had their say."""

    context_tokens: int
    max_sequences: int
    max_batched_tokens: int
    memory_share: float
    quantization: str | None
    tool_parser: str | None


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)


def profile_of(settings: LanguageServerSettings) -> Profile:
    """The profile that the settings name."""
    return PROFILES[settings.language_profile or "cpu"]


def limits_of(settings: LanguageServerSettings, model: Model) -> Limits:
    """Settings before profile, and nothing that the model does not have.

    Raises:
        ModelError: they contradict each other.
    """
    profile = profile_of(settings)
    context = settings.language_context_tokens
    if context is not None and context > model.context_tokens:
        raise ModelError(
            f"PARLEY_LANGUAGE_CONTEXT_TOKENS={context}: the model has {model.context_tokens}"
        )
    sequences = settings.language_max_sequences or profile.max_sequences
    batched = settings.language_max_batched_tokens
    if batched is not None and batched < sequences:
        raise ModelError(
            f"PARLEY_LANGUAGE_MAX_BATCHED_TOKENS={batched} is less than one token for each of"
            f" {sequences} requests (PARLEY_LANGUAGE_MAX_SEQUENCES)"
        )
    quantization = settings.language_quantization or profile.quantization
    parser = settings.language_tool_parser or model.tool_parser
    return Limits(
        context_tokens=context or min(profile.context_tokens, model.context_tokens),
        max_sequences=sequences,
        max_batched_tokens=batched or max(profile.max_batched_tokens, sequences),
        memory_share=settings.language_memory_share or profile.memory_share,
        quantization=None if model.quantized or quantization == "none" else quantization,
        tool_parser=None if parser == "none" else parser,
    )


def load_of(settings: LanguageServerSettings, model: Model) -> Load | None:
    """What the memory is computed from; None on a CPU."""
    profile, limits = profile_of(settings), limits_of(settings, model)
    if profile.gpu is None:
        return None
    return Load(
        shape=model.shape,
        gpu=profile.gpu,
        gpus=profile.gpus,
        memory_share=limits.memory_share,
        quantized=model.quantized or limits.quantization is not None,
        cache_value_bytes=1 if settings.language_kv_cache_dtype == "fp8" else 2,
        max_sequences=limits.max_sequences,
        max_batched_tokens=limits.max_batched_tokens,
    )


def served_name(settings: LanguageServerSettings, model: Model) -> str:
    """The name under which the model is asked for."""
    return settings.language_model_name or model.folder.resolve().name


def vllm_command(
    settings: LanguageServerSettings,
    model: Model,
    *,
    socket: Path,
    python: Path,
    environment: Mapping[str, str],
    cores: int,
    replica: int = 0,
) -> Command:
    """What to start.

    Args:
        settings: of the server.
        model: to serve.
        socket: Unix socket to listen on: nobody else on the machine or the network can reach it.
        python: interpreter with vLLM.
        environment: of this process.
        cores: processor cores that this process may use.
        replica: number of the copy, from 0; each has GPUs of its own.

    Raises:
        ModelError: the settings contradict each other, or name GPUs that are not there.
    """
    profile, limits = profile_of(settings), limits_of(settings, model)
    arguments = [
        str(python), str(LAUNCHER), "serve", str(model.folder),
        "--served-model-name", served_name(settings, model),
        "--uds", str(socket),
        "--max-model-len", str(limits.context_tokens),
        "--max-num-seqs", str(limits.max_sequences),
        "--max-num-batched-tokens", str(limits.max_batched_tokens),
        "--enable-chunked-prefill",
        "--enable-prefix-caching",
        # Prompts hold what callers said: no two of them may be made to look alike.
        "--prefix-caching-hash-algo", "sha256",
        "--enable-prompt-tokens-details",
        "--scheduling-policy", "priority",
        # Models pad JSON with blanks until the limit where they may; vLLM wants a backend named.
        "--structured-outputs-config",
        json.dumps({"backend": "xgrammar", "disable_any_whitespace": True}),
        "--disable-fastapi-docs",
        "--disable-uvicorn-access-log",
    ]  # fmt: skip
    if limits.tool_parser is not None:
        arguments += ["--enable-auto-tool-choice", "--tool-call-parser", limits.tool_parser]
    if model.can_think:
        # Thoughts are not spoken, and the caller waits for them.
        thinking_off = json.dumps({"enable_thinking": False})
        arguments += ["--default-chat-template-kwargs", thinking_off]
    if profile.block_tokens is not None:
        arguments += ["--block-size", str(profile.block_tokens)]
    if settings.language_cache_blocks is not None:
        arguments += ["--num-gpu-blocks-override", str(settings.language_cache_blocks)]
    if settings.language_kv_cache_dtype != "auto":
        arguments += ["--kv-cache-dtype", settings.language_kv_cache_dtype]
    if limits.quantization is not None:
        arguments += ["--quantization", limits.quantization]
    if profile.gpu is None:
        # Compiling only makes the start slower there.
        arguments.append("--enforce-eager")
    else:
        arguments += [
            "--gpu-memory-utilization", f"{limits.memory_share:g}",
            "--tensor-parallel-size", str(profile.gpus),
            # CUDA graphs for every small batch.
            "--performance-mode", "interactivity",
        ]  # fmt: skip
    own = _environment(environment) | _SET
    if profile.gpu is None:
        own |= _cpu_environment(settings, own, cores)
    elif settings.language_replicas > 1:
        own["CUDA_VISIBLE_DEVICES"] = _gpus(own, profile.gpus, replica)
    return Command(tuple(arguments), own)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Without our secrets, and without what would open vLLM."""
    return {
        name: value
        for name, value in given.items()
        if not name.startswith(_SECRETS) and name not in _OPENING
    }


def _cpu_environment(
    settings: LanguageServerSettings, given: Mapping[str, str], cores: int
) -> dict[str, str]:
    """Memory and threads of vLLM's CPU build; what the operator has set stays.

    Half of the cores stay with the rest of the call, and the system places the threads: vLLM by
    itself would bind one to each core but one, where it waits for whatever else runs there.
    """
    found = {"VLLM_CPU_KVCACHE_SPACE": str(settings.language_cpu_cache_gib)}
    if "VLLM_CPU_OMP_THREADS_BIND" not in given:
        found["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
        found["OMP_NUM_THREADS"] = given.get("OMP_NUM_THREADS") or str(max(1, cores // 2))
    return found


def _gpus(environment: Mapping[str, str], count: int, replica: int) -> str:
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return ",".join(str(replica * count + i) for i in range(count))
    names = [name for name in visible.split(",") if name]
    mine = names[replica * count : (replica + 1) * count]
    if len(mine) < count:
        raise ModelError(
            f"CUDA_VISIBLE_DEVICES={visible} has too few GPUs for"
            f" {replica + 1} copies of the model on {count} each (PARLEY_LANGUAGE_REPLICAS)"
        )
    return ",".join(mine)
