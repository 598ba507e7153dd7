import pytest

from language_server.settings import LanguageServerSettings, ProfileName
from language_server.vllm.explain import explanation, profile_table
from language_server.vllm.memory import (
    Conversation,
    Load,
    batched_tokens_within,
    memory,
    sequences_within,
)
from language_server.vllm.profiles import PROFILES, STEP_S

ON_GPUS = [name for name, profile in PROFILES.items() if profile.gpu is not None]


def load(name: ProfileName) -> Load:
    profile = PROFILES[name]
    assert profile.gpu is not None
    assert profile.shape is not None
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


@pytest.mark.parametrize("name", ON_GPUS)
def test_limits_follow_from_the_longest_step(name: ProfileName) -> None:
    profile, most = PROFILES[name], sequences_within(load(name), STEP_S, Conversation())
    assert 0.9 * most <= profile.max_sequences <= most
    assert profile.max_batched_tokens == batched_tokens_within(load(name), STEP_S)


@pytest.mark.parametrize("name", ON_GPUS)
def test_the_model_fits_with_all_its_requests(name: ProfileName) -> None:
    profile, talk = PROFILES[name], Conversation()
    assert profile.context_tokens >= talk.tokens
    assert memory(load(name)).calls(talk) >= profile.max_sequences


def test_the_table_has_every_gpu() -> None:
    table = profile_table()
    assert table.count("\n| `") == len(ON_GPUS)
    assert "| `2xh100` | 2 x NVIDIA H100 SXM 80 GB | Llama-3.3-70B, fp8 | 33.8 GiB |" in table
    assert explanation(LanguageServerSettings()) == table
