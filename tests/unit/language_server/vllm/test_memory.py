from dataclasses import replace

import pytest

from language_server.vllm.errors import ModelError
from language_server.vllm.memory import (
    GIB,
    Conversation,
    Gpu,
    Load,
    batched_tokens_within,
    memory,
    prompt_s,
    sequences_within,
    step_s,
)
from language_server.vllm.model import ModelShape

SHAPE = ModelShape(10, 1000, 10, 2, 100, 4000, 50_000, tied_embeddings=True)
"""Layers of 144 million parameters, tables of 50 million, 8,000 bytes of cache a token."""
GPU = Gpu("toy", 4 * GIB, 1e11, 1e13, 2e13)
LOAD = Load(
    shape=SHAPE,
    gpu=GPU,
    gpus=1,
    memory_share=0.5,
    quantized=False,
    cache_value_bytes=2,
    max_sequences=10,
    max_batched_tokens=100,
)
TALK = Conversation(prefix_tokens=1000, call_tokens=500)


def test_nothing_of_the_memory_is_left_over_or_counted_twice() -> None:
    split = memory(LOAD)
    assert split.usable == 2 * GIB
    assert split.weights == 2 * (144_000_000 + 50_000_000)
    assert split.weights + split.working + split.cache == split.usable
    assert split.cache_tokens == split.cache // 8000


def test_calls_share_one_prefix() -> None:
    split = memory(LOAD)
    assert split.calls(TALK) == (split.cache_tokens - 1000) // 500
    assert replace(split, cache_tokens=900).calls(TALK) == 0


def test_fp8_halves_the_layers_and_leaves_the_tables() -> None:
    split = memory(replace(LOAD, quantized=True))
    assert split.weights == 144_000_000 + 2 * 50_000_000


def test_an_fp8_cache_holds_twice_the_tokens() -> None:
    tokens = memory(LOAD).cache_tokens
    assert memory(replace(LOAD, cache_value_bytes=1)).cache_tokens == pytest.approx(2 * tokens, 1)


def test_two_gpus_share_weights_and_add_up_their_caches() -> None:
    one, two = memory(LOAD), memory(replace(LOAD, gpus=2))
    assert two.weights == one.weights // 2
    assert two.cache_tokens > 2 * one.cache_tokens


def test_more_work_in_a_step_leaves_less_cache() -> None:
    assert memory(replace(LOAD, max_batched_tokens=5000)).cache < memory(LOAD).cache
    assert memory(replace(LOAD, max_sequences=500)).cache < memory(LOAD).cache


def test_weights_that_do_not_fit_are_told_with_the_remedy() -> None:
    with pytest.raises(ModelError, match="PARLEY_LANGUAGE_QUANTIZATION=fp8"):
        memory(replace(LOAD, memory_share=0.1))


def test_a_step_reads_the_weights_once_and_every_sequence_s_cache() -> None:
    weights, cache = 388_000_000, 1500 * 8000
    assert step_s(LOAD, 3, TALK) == pytest.approx((weights + 3 * cache) / 1e11)
    assert step_s(replace(LOAD, gpus=2), 3, TALK) == pytest.approx(step_s(LOAD, 3, TALK) / 2)


def test_a_prompt_is_multiplied_with_the_layers() -> None:
    assert prompt_s(LOAD, 100) == pytest.approx(2 * 144e6 * 100 / (0.5 * 1e13))
    assert prompt_s(replace(LOAD, quantized=True), 100) == pytest.approx(prompt_s(LOAD, 100) / 2)


def test_limits_are_the_most_that_keep_the_bound() -> None:
    most = sequences_within(LOAD, 0.02, TALK)
    assert step_s(LOAD, most, TALK) <= 0.02 < step_s(LOAD, most + 1, TALK)
    assert sequences_within(LOAD, 0.001, TALK) == 0
    tokens = batched_tokens_within(LOAD, 0.02)
    assert prompt_s(LOAD, tokens) <= 0.02 < prompt_s(LOAD, 2 * tokens)
