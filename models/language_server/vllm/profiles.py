"""Defaults by hardware: which limits keep the time between two tokens short and steady there.

A caller hears a clause once its ten or so tokens are there, and stutters where one comes late, so
throughput is worth less here than a step that is never long. Two numbers bound it: how many
sequences are in a step, since each one's cache is read, and how many tokens of prompts, since those
are computed while everybody else waits. Both are the most for which a step stays within `STEP_S` by
the arithmetic of `memory`; a test computes them anew. Requests past the first are refused and not
queued; a prompt past the second is computed in slices, which costs little where all of it but its
last turn is cached.
"""

from dataclasses import dataclass
from typing import Final

from language_server.settings import ProfileName
from language_server.vllm.memory import Gpu
from language_server.vllm.model import ModelShape

STEP_S: Final = 0.025
"""Longest time between two tokens at the limits: a first clause of ten takes a quarter second."""

A10: Final = Gpu("NVIDIA A10", 23_028 * 2**20, 600e9, 125e12, 125e12)
L40S: Final = Gpu("NVIDIA L40S", 46_068 * 2**20, 864e9, 362e12, 733e12)
H100: Final = Gpu("NVIDIA H100 SXM 80 GB", 81_559 * 2**20, 3.35e12, 989e12, 1979e12)

QWEN3_4B: Final = ModelShape(36, 2560, 32, 8, 128, 9728, 151_936, tied_embeddings=True)
QWEN3_8B: Final = ModelShape(36, 4096, 32, 8, 128, 12_288, 151_936, tied_embeddings=False)
LLAMA_70B: Final = ModelShape(80, 8192, 64, 8, 128, 28_672, 128_256, tied_embeddings=False)
"""Shapes as in the published models' config.json (Qwen3-4B, Qwen3-8B, Llama-3.3-70B)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Defaults for one kind of machine."""

    gpu: Gpu | None
    """None: vLLM's CPU build."""
    gpus: int
    """That one copy of the model is spread over."""
    model: str
    """A model that fits, for the table."""
    shape: ModelShape | None
    """Its shape; None: there is no table for it."""
    quantization: str | None
    memory_share: float
    context_tokens: int
    max_sequences: int
    max_batched_tokens: int
    block_tokens: int | None
    """Tokens of one block of the cache; None: vLLM's own. Only whole blocks are shared."""


PROFILES: Final[dict[ProfileName, Profile]] = {
    # For tests and for trying things out. Blocks have to be multiples of 32 there.
    "cpu": Profile(None, 1, "a tiny one", None, None, 0.0, 8192, 8, 512, 32),
    "a10": Profile(A10, 1, "Qwen3-4B", QWEN3_4B, None, 0.90, 8192, 7, 128, None),
    "l40s": Profile(L40S, 1, "Qwen3-8B", QWEN3_8B, "fp8", 0.90, 8192, 12, 512, None),
    "h100": Profile(H100, 1, "Qwen3-8B", QWEN3_8B, "fp8", 0.90, 16_384, 80, 1024, None),
    "2xh100": Profile(H100, 2, "Llama-3.3-70B", LLAMA_70B, "fp8", 0.92, 16_384, 48, 256, None),
}
