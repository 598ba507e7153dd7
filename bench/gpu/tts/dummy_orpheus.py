"""A language model of Orpheus's dimensions without its weights, for vLLM's `load_format=dummy`.

It takes the time that the real one takes; what it writes is chance, so that its tokens are moved
into the slots where codes are expected, and a segment ends when its text would.
"""

import json
import math
import struct
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from bench.tts.snac_work import FRAME_S
from speech_server.tts.orpheus_codes import (
    CODEBOOK_SIZE,
    END_OF_SPEECH_ID,
    FIRST_AUDIO_ID,
    SLOTS,
)
from speech_server.tts.orpheus_prompt import Prompt
from speech_server.tts.token_source import TokenSource

TRUE: Final[dict[str, Any]] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 28,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 500_000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 32.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
    },
    "max_position_embeddings": 131_072,
    "tie_word_embeddings": True,
    "vocab_size": 156_940,
    "bos_token_id": 128_000,
    "eos_token_id": 128_009,
}
"""Source: Llama-3.2-3B, which Orpheus was made of, with Orpheus's larger vocabulary."""
SMALL: Final[dict[str, Any]] = TRUE | {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
}
"""Those of the tests' tiny Orpheus: to try a measurement on any machine."""

_UNHURRIED: Final = 2.0
"""A usual reading takes about this times the shortest one; see `orpheus_prompt.shortest_s`."""
_LEAST_FRAMES: Final = 6


def write(folder: Path, config: dict[str, Any] = TRUE) -> None:
    """Write what vLLM and the engine want to find of a model.

    The tokenizer gives one token for each byte of a text: about four times as many as the real one,
    which makes prompts of a hundred tokens where the real ones have thirty.

    Args:
        folder: to write into; made if it is not there.
        config: as in the model's config.json.

    Raises:
        ImportError: tokenizers is not installed.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({piece: id_ for id_, piece in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    # A file of no tensors: the format's header, its length first.
    header = b"{}"
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)


class FramedSource:
    """Makes frames of whatever a model writes. Implements `TokenSource`.

    Args:
        source: the model.
    """

    def __init__(self, source: TokenSource) -> None:
        self._source = source

    def encode(self, text: str) -> list[int]:
        """See `TokenSource`."""
        return self._source.encode(text)

    async def start(self) -> None:
        """See `TokenSource`."""
        await self._source.start()

    async def close(self) -> None:
        """See `TokenSource`."""
        await self._source.close()

    async def generate(
        self, prompt: Prompt, spoken: Sequence[int] = ()
    ) -> AsyncGenerator[Sequence[int], None]:
        """See `TokenSource`; ends after the time that the text usually takes."""
        wanted = tokens_wanted(prompt)
        made = len(spoken)
        async with aclosing(self._source.generate(prompt, spoken)) as steps:
            async for ids in steps:
                moved = [into_slot(made + index, id_) for index, id_ in enumerate(ids)]
                made += len(ids)
                if made >= wanted:
                    yield [*moved[: len(ids) - (made - wanted)], END_OF_SPEECH_ID]
                    return
                yield moved


def tokens_wanted(prompt: Prompt) -> int:
    """Length of a segment, in whole frames; never more than the prompt's budget."""
    frames = max(_LEAST_FRAMES, math.ceil(_UNHURRIED * prompt.shortest_s / FRAME_S))
    return min(frames, prompt.budget // SLOTS) * SLOTS


def into_slot(index: int, id_: int) -> int:
    """The audio token of the slot that is due with the code that an id happens to give."""
    return FIRST_AUDIO_ID + (index % SLOTS) * CODEBOOK_SIZE + id_ % CODEBOOK_SIZE
