"""What can be checked without vLLM; the rest is in tests/contract/test_orpheus.py."""

import importlib.util
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tokenizers import Tokenizer, models

from speech_server.errors import EngineFailed
from speech_server.settings import SpeechServerSettings
from speech_server.tts.orpheus_prompt import Prompt
from speech_server.tts.token_source import GenerationFailed, SourceDied
from speech_server.tts.vllm_source import Sampling, VllmOptions, VllmSource, prepare_environment

PROMPT = Prompt((1, 2), budget=70, shortest_s=0.0)


def source_of(folder: Path) -> VllmSource:
    return VllmSource(VllmOptions(folder, memory_share=0.5, max_sequences=4))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").touch()
    Tokenizer(models.BPE({"a": 0}, [])).save(str(tmp_path / "tokenizer.json"))
    return tmp_path


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match=r"PARLEY_TTS_MODEL=.*/none: there is no such directory"):
        await source_of(tmp_path / "none").start()


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
async def test_a_missing_file_is_named(model: Path, file: str) -> None:
    (model / file).unlink()
    named = file if file != "model.safetensors" else r"\*.safetensors"
    with pytest.raises(EngineFailed, match=f"{named} missing"):
        await source_of(model).start()


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
async def test_without_vllm_the_error_says_where_it_lives(model: Path) -> None:
    with pytest.raises(EngineFailed, match=r"make .venv-vllm/.installed"):
        await source_of(model).start()


def test_settings_and_source_sample_alike_unless_told() -> None:
    given = SpeechServerSettings(_env_file=None)
    assert Sampling() == Sampling(
        given.tts_temperature, given.tts_top_p, given.tts_repetition_penalty
    )


async def test_before_the_start_nothing_is_generated(model: Path) -> None:
    with pytest.raises(SourceDied):
        await anext(source_of(model).generate(PROMPT))
    await source_of(model).close()


@pytest.mark.parametrize(("cores", "threads"), [(1, "1"), (2, "1"), (3, "1"), (8, "4")])
def test_on_a_cpu_half_of_the_cores_are_left_to_the_call(cores: int, threads: str) -> None:
    environment: dict[str, str] = {}
    prepare_environment(environment, cores=cores, on_cpu=True)
    assert environment == {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": threads,
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    }


@pytest.mark.parametrize(
    "placed", [{"VLLM_CPU_OMP_THREADS_BIND": "auto"}, {"VLLM_CPU_OMP_THREADS_BIND": "0-31"}]
)
def test_where_the_operator_has_placed_vllm_it_stays(placed: dict[str, str]) -> None:
    environment = dict(placed)
    prepare_environment(environment, cores=8, on_cpu=True)
    assert environment == {**placed, "VLLM_NO_USAGE_STATS": "1"}


def test_on_a_gpu_nothing_is_said_about_cores() -> None:
    environment: dict[str, str] = {}
    prepare_environment(environment, cores=8, on_cpu=False)
    assert environment == {"VLLM_NO_USAGE_STATS": "1"}


class FakeCore:
    """The end of vLLM's wire in this process."""

    def __init__(self) -> None:
        self.received: list[Any] = []

    async def get_output_async(self) -> Any:
        return self.received.pop(0)


class FakeVllm:
    """Stands for `AsyncLLM`: one token a step, until it breaks or is told to stop."""

    def __init__(self) -> None:
        self.engine_core = FakeCore()
        self.failure: Exception | None = None
        self.closed: list[str] = []
        self.asked: list[tuple[list[int], int]] = []

    async def generate(
        self, prompt: dict[str, Any], params: int, request_id: str
    ) -> AsyncGenerator[Any, None]:
        self.asked.append((prompt["prompt_token_ids"], params))
        try:
            for index in range(3):
                if self.failure is not None:
                    raise self.failure
                output = SimpleNamespace(token_ids=[100 + index])
                yield SimpleNamespace(outputs=[output], finished=index == 2)
        finally:
            self.closed.append(request_id)


class DeadError(Exception):
    pass


@pytest.fixture
def running(model: Path) -> tuple[VllmSource, FakeVllm]:
    """A source as it is after `start`."""
    source, vllm = source_of(model), FakeVllm()
    source._engine, source._dead_error, source._new_params = vllm, DeadError, lambda tokens: tokens
    source._count_late_tokens()
    return source, vllm


async def test_tokens_come_as_they_are(running: tuple[VllmSource, FakeVllm]) -> None:
    source, vllm = running
    assert [list(ids) async for ids in source.generate(PROMPT)] == [[100], [101], [102]]
    assert vllm.asked == [([1, 2], 70)]


async def test_an_attempt_goes_on_behind_what_was_spoken(
    running: tuple[VllmSource, FakeVllm],
) -> None:
    source, vllm = running
    async for _ in source.generate(PROMPT, [7] * 21):
        pass
    assert vllm.asked == [([1, 2, *[7] * 21], 49)]


@pytest.mark.parametrize(
    ("failure", "told"), [(DeadError(), SourceDied), (ValueError("x"), GenerationFailed)]
)
async def test_failures_are_told_apart(
    running: tuple[VllmSource, FakeVllm], failure: Exception, told: type[Exception]
) -> None:
    source, vllm = running
    vllm.failure = failure
    with pytest.raises(told):
        await anext(source.generate(PROMPT))


async def test_closing_ends_the_request_and_late_tokens_are_counted(
    running: tuple[VllmSource, FakeVllm],
) -> None:
    source, vllm = running
    async with aclosing(source.generate(PROMPT)) as steps:
        await anext(steps)
    (name,) = vllm.closed
    before = REGISTRY.get_sample_value("speech_tokens_after_cancel_total") or 0.0
    outputs = [
        SimpleNamespace(request_id=f"{name}-8c3f1a2b", new_token_ids=[5, 6]),
        SimpleNamespace(request_id="segment-99-8c3f1a2b", new_token_ids=[7]),
    ]
    vllm.engine_core.received.append(SimpleNamespace(outputs=outputs))
    received = await vllm.engine_core.get_output_async()
    assert received.outputs == outputs
    assert REGISTRY.get_sample_value("speech_tokens_after_cancel_total") == before + 2


async def test_tokens_of_a_finished_request_are_not_late(
    running: tuple[VllmSource, FakeVllm],
) -> None:
    source, _ = running
    async for _ in source.generate(PROMPT):
        pass
    assert not source._cancelled
