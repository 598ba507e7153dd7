"""Looks for OpenAI-compatible model servers on this machine, and picks the model to use."""

import asyncio
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import aiohttp
from pydantic import SecretStr

from voice_agent.stack.errors import StackError

PROBE_TIMEOUT_S = 1.0
"""Longest wait for one model server found by its usual port, seconds."""
CONFIGURED_TIMEOUT_S = 5.0
"""Longest wait for the model server that the settings name, seconds."""
ANSWER_MAX_BYTES = 1_048_576
MODEL_ID_MAX_CHARS = 256

SCRIPT_MODEL = "parley-responder"
"""The built-in script; it is never taken for a model that was found."""

USUAL_PORTS: tuple[tuple[str, int], ...] = (
    # Servers that somebody started with one model come before those that run all day.
    ("vLLM", 8000),
    ("llama.cpp", 8080),
    ("llama.cpp", 8081),
    ("LM Studio", 1234),
    ("Ollama", 11434),
)

_CANNOT_CHAT = re.compile(
    r"embed|bge-|\be5-|minilm|rerank|whisper|moonshine|\btts\b|tts-|kokoro|orpheus|flite|espeak"
    r"|stable-diffusion|\bclip\b|moderation",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class LanguageModel:
    """The language model of the stack.

    Attributes:
        url: OpenAI base URL, with `/v1`.
        model: model to ask for.
        origin: `configured`, `found` on this machine, our `own` in vLLM, or the built-in `script`.
        product: the server as the user knows it.
    """

    url: str
    model: str
    origin: Literal["configured", "found", "own", "script"]
    product: str

    def describe(self) -> str:
        """One line for the user."""
        match self.origin:
            case "script":
                return (
                    "Language model: none. The built-in script answers; it is not a language "
                    "model. Start a model server or set PARLEY_LLM_URL to talk with one."
                )
            case "own":
                return f"Language model: {self.model}, in vLLM on this machine"
            case "found":
                return f"Language model: {self.model} ({self.product} found at {self.url})"
            case _:
                return f"Language model: {self.model} at {self.url} (PARLEY_LLM_URL)"


class UnusableAnswer(Exception):
    """A server answered, but not as a model server does."""


async def configured_model(url: str, model: str | None, api_key: SecretStr) -> LanguageModel:
    """The model server that the settings name.

    Raises:
        StackError: no model is named and the server does not tell which ones it has.
    """
    url = url.rstrip("/")
    if model is None:
        try:
            models = await list_models(url, timeout_s=CONFIGURED_TIMEOUT_S, api_key=api_key)
        except (aiohttp.ClientError, TimeoutError, UnusableAnswer, ValueError) as error:
            why = str(error) or "no answer in time"
            raise StackError(
                f"the model server at {url} (PARLEY_LLM_URL) does not list its models: {why}",
                "Start it, correct the address (it ends in /v1), or set PARLEY_LLM_MODEL.",
            ) from error
        model = first_chat_model(models)
        if model is None:
            raise StackError(
                f"the model server at {url} (PARLEY_LLM_URL) has no model that can chat",
                "Load one, or name it: PARLEY_LLM_MODEL.",
            )
    return LanguageModel(url, model, "configured", "PARLEY_LLM_URL")


async def probe(
    wanted: str | None = None,
    *,
    own_ports: Collection[int] = (),
    candidates: Iterable[tuple[str, int]] = USUAL_PORTS,
) -> LanguageModel | None:
    """The best model server found at the usual ports of this machine; None when there is none.

    Args:
        wanted: take only a server that has this model; None for the first that can chat.
        own_ports: ports of this stack, never asked.
        candidates: product and port, best first; asked all at once.
    """
    places = [(product, port) for product, port in candidates if port not in own_ports]
    found = await asyncio.gather(*(_probe_one(*place, wanted) for place in places))
    return next((model for model in found if model is not None), None)


def first_chat_model(models: Iterable[str]) -> str | None:
    """The first model whose name does not say that it is for something else."""
    return next(
        (model for model in models if model != SCRIPT_MODEL and not _CANNOT_CHAT.search(model)),
        None,
    )


async def list_models(
    url: str, *, timeout_s: float, api_key: SecretStr | None = None
) -> tuple[str, ...]:
    """Ids of the models that an OpenAI-compatible server lists, in its order.

    Raises:
        aiohttp.ClientError: it cannot be reached, or is not one.
        TimeoutError: it takes too long.
        UnusableAnswer: the answer is too large or not a list of models.
    """
    headers = {"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {}
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    async with (
        aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
        # A redirect would lead the key, or the probe, somewhere nobody named.
        session.get(f"{url}/models", allow_redirects=False) as response,
    ):
        if response.status != 200:
            raise UnusableAnswer(f"status {response.status}")
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > ANSWER_MAX_BYTES:
                raise UnusableAnswer("the answer is too large")
    return _model_ids(bytes(body))


def _model_ids(body: bytes) -> tuple[str, ...]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnusableAnswer("the answer is not JSON") from error
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise UnusableAnswer("the answer is not a list of models")
    ids = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return tuple(
        model
        for model in ids
        if isinstance(model, str) and 0 < len(model) <= MODEL_ID_MAX_CHARS and model.isprintable()
    )


async def _probe_one(product: str, port: int, wanted: str | None) -> LanguageModel | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        models = await list_models(url, timeout_s=PROBE_TIMEOUT_S)
    except (aiohttp.ClientError, TimeoutError, UnusableAnswer, ValueError):
        # Not a model server: the usual case, and nothing that the user needs to hear of.
        return None
    if wanted is not None:
        model = wanted if wanted in models else None
    else:
        model = first_chat_model(models)
    return LanguageModel(url, model, "found", product) if model else None
