"""What fits on a GPU and how fast it can be at best: arithmetic that the profiles rest on.

All bytes and seconds are per GPU; with several, weights and cache are split evenly among them. The
times are the hardware's bounds: a step cannot be shorter than it takes to read the weights and the
sequences' cache from memory once, or to multiply a prompt's tokens with the weights.
"""

import math
from dataclasses import dataclass
from typing import Final

from language_server.vllm.errors import ModelError
from language_server.vllm.model import ModelShape

GIB: Final = 2**30

FIXED_BYTES: Final = 3 * GIB // 2
"""CUDA's context, NCCL and captured graphs: an estimate. vLLM measures its own when it starts."""
COMPUTE_SHARE: Final = 0.5
"""Of the data sheet's arithmetic that a prompt of a few hundred tokens gets: an estimate."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A kind of GPU. Source: NVIDIA's data sheets; memory as `nvidia-smi` reports it."""

    name: str
    memory_bytes: int
    bandwidth_bytes_s: float
    flops_16_bit: float
    """Dense, tensor cores."""
    flops_8_bit: float
    """The same for FP8; that of 16 bits where the GPU has none."""


@dataclass(frozen=True, slots=True)
class Load:
    """How a model is run, as far as it costs memory and time."""

    shape: ModelShape
    gpu: Gpu
    gpus: int
    memory_share: float
    quantized: bool
    """Whether weights have 8 bits instead of 16."""
    cache_value_bytes: int
    """2, or 1 for an FP8 cache."""
    max_sequences: int
    max_batched_tokens: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """How long the conversations are, tokens."""

    prefix_tokens: int = 3000
    """System prompt and tools, the same for all calls: cached once."""
    call_tokens: int = 3000
    """What a call adds: ten minutes of talk, tool results included."""

    @property
    def tokens(self) -> int:
        """Of one whole prompt."""
        return self.prefix_tokens + self.call_tokens


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a GPU's memory goes, bytes."""

    usable: int
    """The share that vLLM may take."""
    weights: int
    working: int
    """Activations, logits and what CUDA itself takes."""
    cache: int
    cache_tokens: int
    """Tokens that the cache holds, on all GPUs together."""

    def calls(self, conversation: Conversation) -> int:
        """Calls whose whole history stays cached beside one shared prefix."""
        rest = self.cache_tokens - conversation.prefix_tokens
        return max(0, rest // conversation.call_tokens)


def memory(load: Load) -> Memory:
    """Share a GPU's memory out.

    Raises:
        ModelError: the weights do not fit.
    """
    shape, gpus = load.shape, load.gpus
    usable = int(load.gpu.memory_bytes * load.memory_share)
    weights = weight_bytes(load) // gpus
    # Of one step: the MLP's two inner vectors and the residual's for each token, 16 bits each; the
    # logits of each sequence, 32 bits.
    per_token = 2 * (2 * shape.intermediate // gpus + 2 * shape.hidden)
    logits = 4 * shape.vocabulary * load.max_sequences
    working = FIXED_BYTES + load.max_batched_tokens * per_token + logits
    cache = usable - weights - working
    if cache <= 0:
        raise ModelError(
            f"{weights / GIB:.1f} GiB of weights on each GPU leave no room for the cache in"
            f" {usable / GIB:.1f} GiB; take a smaller model, quantise it"
            " (PARLEY_LANGUAGE_QUANTIZATION=fp8) or use more GPUs"
        )
    return Memory(
        usable=usable,
        weights=weights,
        working=working,
        cache=cache,
        cache_tokens=cache * gpus // shape.cache_bytes_per_token(load.cache_value_bytes),
    )


def weight_bytes(load: Load) -> int:
    """All weights, bytes."""
    return load.shape.weight_bytes(1.0 if load.quantized else 2.0)


def step_s(load: Load, sequences: int, conversation: Conversation) -> float:
    """Shortest time between two tokens of a sequence while so many are written, seconds.

    Every sequence's attention reads its whole prompt, the shared prefix too.
    """
    cache = load.shape.cache_bytes_per_token(load.cache_value_bytes) * conversation.tokens
    read = weight_bytes(load) + sequences * cache
    return read / (load.gpus * load.gpu.bandwidth_bytes_s)


def prompt_s(load: Load, tokens: int) -> float:
    """Time that so many tokens of a prompt add to a step, seconds; estimated."""
    flops = load.gpu.flops_8_bit if load.quantized else load.gpu.flops_16_bit
    work = 2.0 * load.shape.layer_parameters * tokens
    return work / (COMPUTE_SHARE * load.gpus * flops)


def sequences_within(load: Load, bound_s: float, conversation: Conversation) -> int:
    """Most sequences of which each still gets a token within a time; 0 where none does."""
    alone = step_s(load, 0, conversation)
    each = step_s(load, 1, conversation) - alone
    return max(0, math.floor((bound_s - alone) / each))


def batched_tokens_within(load: Load, bound_s: float) -> int:
    """Most tokens of prompts that add no more than a time to a step, a power of two."""
    return int(2 ** math.floor(math.log2(bound_s / prompt_s(load, 1))))
