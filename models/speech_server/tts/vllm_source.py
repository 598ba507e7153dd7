"""Orpheus's language model in vLLM, inside this process; the only place that imports vLLM.

Token ids go in and come out: nothing is detokenised, and no HTTP lies in between. vLLM runs the
model in a process of its own and is asked through its `AsyncLLM`.
"""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, MutableMapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from speech_server.errors import EngineFailed
from speech_server.metrics import TOKENS_AFTER_CANCEL
from speech_server.tts.orpheus_codes import STOP_IDS
from speech_server.tts.orpheus_prompt import MAX_TOKENS, Prompt
from speech_server.tts.token_source import GenerationFailed, SourceDied

logger = logging.getLogger(__name__)

_NEEDED_FILES: Final = ("config.json", "tokenizer.json")
_REASON_CHARS: Final = 300
"""Of what vLLM says about a model that it cannot load, characters."""
_REMEMBERED_CANCELS: Final = 256
"""Cancelled requests whose late tokens are still recognised."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen.

    Source of the numbers: the defaults of `engine_class.py` of canopyai/Orpheus-TTS at 835ac7c. Its
    README asks for a repetition penalty of 1.1 at least, without which the voice gets stuck.

    On a CPU top-p and the penalty each take as long as a small model: they go over all 157,000 ids.
    Measured with the tiny model of the tests on 2 cores, tokens a second: 66 with both, 74 and 78
    with one of them, 147 with none, 164 at temperature 0.
    """

    temperature: float = 0.6
    """0 takes the likeliest one."""
    top_p: float = 0.8
    repetition_penalty: float = 1.3


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """How to run the model."""

    model: Path
    """Directory of the model."""
    memory_share: float
    """Share of the GPU's memory (on a CPU: of the machine's) for weights and cache, in (0, 1]."""
    max_sequences: int
    """Segments generated at once; further ones wait."""
    sampling: Sampling = Sampling()


class VllmSource:
    """Runs the model. Implements `TokenSource`.

    Args:
        options: model and limits.
    """

    def __init__(self, options: VllmOptions) -> None:
        self._options = options
        self._engine: Any = None
        self._closed = False
        self._new_params: Callable[[int], Any] = _not_loaded
        self._tokenizer: Any = None
        self._dead_error: type[Exception] = SourceDied
        self._names = count(1)
        self._cancelled: OrderedDict[str, None] = OrderedDict()

    async def start(self) -> None:
        """Load the model: seconds on a GPU, most of a minute on a CPU.

        Raises:
            EngineFailed: vLLM or the model is missing or cannot be loaded.
        """
        folder = self._options.model
        check_model(folder)
        self._closed = False
        try:
            self._engine = await asyncio.to_thread(self._load, folder)
        except ImportError as error:
            raise EngineFailed(
                f"PARLEY_TTS_ENGINE=orpheus: {error}; vLLM has an environment of its own:"
                " `make .venv-vllm/.installed` (CPU), or vLLM's container image (GPU)"
            ) from error
        except Exception as error:  # whatever vLLM met: it has logged it, the operator is told
            raise EngineFailed(
                f"the Orpheus model in {folder} cannot be loaded by vLLM: {_reason(error)}"
            ) from error
        self._count_late_tokens()

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special tokens of the tokenizer's own."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    async def generate(
        self, prompt: Prompt, spoken: Sequence[int] = ()
    ) -> AsyncGenerator[Sequence[int], None]:
        """Continue a prompt; see `TokenSource`."""
        if self._engine is None:
            raise SourceDied("the voice model is not loaded")
        name = f"segment-{next(self._names)}"
        params = self._new_params(max(1, prompt.budget - len(spoken)))
        # In the form that vLLM itself makes of a prompt: nothing of it is left to prepare.
        tokens = {"type": "token", "prompt_token_ids": [*prompt.ids, *spoken]}
        outputs = self._engine.generate(tokens, params, request_id=name)
        ended = False
        async with aclosing(outputs):
            try:
                async for output in outputs:
                    ended = output.finished
                    if ids := output.outputs[0].token_ids:
                        yield ids
            except self._dead_error as error:
                raise SourceDied("the voice model's process has ended") from error
            except Exception as error:  # GeneratorExit and CancelledError are none
                raise GenerationFailed("the voice model failed on this text") from error
            finally:
                # Before vLLM is told, so that nothing it makes meanwhile is missed.
                if not ended:
                    self._remember_cancelled(name)

    async def close(self) -> None:
        """Stop vLLM's processes."""
        self._closed = True
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.shutdown)

    def _load(self, folder: Path) -> Any:
        from tokenizers import Tokenizer
        from vllm import SamplingParams
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.platforms import current_platform
        from vllm.sampling_params import RequestOutputKind
        from vllm.v1.engine.async_llm import AsyncLLM
        from vllm.v1.engine.exceptions import EngineDeadError

        sampling = self._options.sampling

        def new_params(max_tokens: int) -> Any:
            return SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                repetition_penalty=sampling.repetition_penalty,
                stop_token_ids=list(STOP_IDS),
                max_tokens=max_tokens,
                detokenize=False,
                output_kind=RequestOutputKind.DELTA,
            )

        prepare_environment(
            os.environ,  # noqa: TID251  (written, not read: vLLM takes these from nowhere else)
            cores=_allowed_cores(),
            on_cpu=current_platform.is_cpu(),
        )
        self._new_params = new_params
        self._dead_error = EngineDeadError
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # Control tokens in a text are read as the characters that they are written with.
        self._tokenizer.encode_special_tokens = True
        arguments = AsyncEngineArgs(
            model=str(folder),
            served_model_name="orpheus",
            skip_tokenizer_init=True,
            dtype="bfloat16",
            max_model_len=MAX_TOKENS,
            max_num_seqs=self._options.max_sequences,
            gpu_memory_utilization=self._options.memory_share,
            enable_prefix_caching=True,
            # Compiling pays for itself on a GPU; on a CPU it only makes the start slower.
            enforce_eager=current_platform.is_cpu(),
            disable_log_stats=True,
            enable_log_requests=False,
        )
        engine = AsyncLLM.from_engine_args(arguments)
        if self._closed:  # meanwhile, while nobody waits for this thread any more
            engine.shutdown()
        return engine

    def _remember_cancelled(self, name: str) -> None:
        self._cancelled[name] = None
        while len(self._cancelled) > _REMEMBERED_CANCELS:
            self._cancelled.popitem(last=False)

    def _count_late_tokens(self) -> None:
        """Count the tokens that the model still makes for requests after they were cancelled.

        vLLM drops them before anything that it lets one see; they are counted where they arrive
        from its process.
        """
        core = self._engine.engine_core
        receive = core.get_output_async

        async def receive_and_count() -> Any:
            received = await receive()
            if self._cancelled:
                for output in received.outputs:
                    # vLLM adds a random ending to the names that it is given.
                    if output.request_id.rpartition("-")[0] in self._cancelled:
                        TOKENS_AFTER_CANCEL.inc(len(output.new_token_ids))
            return received

        core.get_output_async = receive_and_count


def prepare_environment(environment: MutableMapping[str, str], *, cores: int, on_cpu: bool) -> None:
    """Tell vLLM what it has no arguments for; what the operator has set stays.

    It reports nothing to its maker. On a CPU it leaves half of the cores to the rest of the call
    and lets the system place its threads; by itself it would bind one to each core but one, where
    it waits for whatever else runs there. Unbound, the model needs no process apart from its
    scheduler's: two of them wait for each other with busy loops. Measured on 2 cores, 7.1 s of
    speech: 6.7 s of processor time with one process, 15.9 s with two.

    Args:
        environment: the variables that vLLM's processes will have.
        cores: cores that this process may use.
        on_cpu: whether the model runs on the CPU.
    """
    environment.setdefault("VLLM_NO_USAGE_STATS", "1")
    if on_cpu and "VLLM_CPU_OMP_THREADS_BIND" not in environment:
        environment["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
        environment.setdefault("OMP_NUM_THREADS", str(max(1, cores // 2)))
        environment.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")


def check_model(folder: Path) -> None:
    """Look for a model's files.

    Raises:
        EngineFailed: there are none, or not all; the message says what to do.
    """
    if not folder.is_dir():
        raise EngineFailed(f"PARLEY_TTS_MODEL={folder}: there is no such directory")
    missing = [file for file in _NEEDED_FILES if not (folder / file).is_file()]
    if not any(folder.glob("*.safetensors")):
        missing.append("*.safetensors")
    if missing:
        raise EngineFailed(
            f"PARLEY_TTS_MODEL={folder}: {', '.join(missing)} missing; it has to be the directory"
            " of an Orpheus model (canopylabs/orpheus-3b-0.1-ft of Hugging Face)"
        )


def _allowed_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_REASON_CHARS]}"


def _not_loaded(max_tokens: int) -> Any:
    raise SourceDied("the voice model is not loaded")
