"""OpenAI's chat completions API: the request as far as a script needs it, and the answers.

Source of field names: OpenAI's API reference as implemented by `openai` 3.52, and what
livekit-plugins-openai 1.8.9 sends.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

MODEL_ID = "parley-responder"
SYSTEM_FINGERPRINT = "parley-script-not-a-language-model"
DESCRIPTION = (
    "A script, not a language model: it matches what a caller said with example phrases and calls "
    "the tools of the demo's dental front desk. Set PARLEY_LLM_URL to put a model in its place."
)

IGNORED_PARAMETERS = frozenset(
    {
        # sampling and bookkeeping of OpenAI
        "temperature", "top_p", "frequency_penalty", "presence_penalty", "seed", "logit_bias",
        "user", "metadata", "store", "service_tier", "reasoning_effort", "verbosity",
        "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options",
        "top_logprobs", "moderation",
        # sampling and bookkeeping of vLLM, llama.cpp and Ollama, sent through extra_body
        "top_k", "min_p", "repetition_penalty", "min_tokens", "ignore_eos", "stop_token_ids",
        "skip_special_tokens", "spaces_between_special_tokens", "add_generation_prompt",
        "chat_template_kwargs", "cache_salt", "cache_prompt", "priority", "request_id",
        "include_reasoning", "length_penalty", "best_of", "use_beam_search", "think",
        "keep_alive", "options", "typical_p", "enable_thinking",
    }
)  # fmt: skip
"""Accepted and without effect; the answer names those that were sent in `X-Ignored-Parameters`."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: Literal["text", "refusal"]
    text: str = ""


class FunctionCall(BaseModel):
    """The function part of a tool call."""

    model_config = ConfigDict(extra="ignore")

    name: Name
    arguments: str
    """A JSON object as text. A model may have written nonsense, so it is not parsed here."""


class ToolCall(BaseModel):
    """A call in an assistant message."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(min_length=1, max_length=256)
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(BaseModel):
    """One message of the conversation. Fields without meaning here are ignored, as by OpenAI."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    tool_calls: list[ToolCall] | None = Field(None, max_length=128)
    tool_call_id: str | None = Field(None, max_length=256)

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""

    def fault(self) -> str | None:
        """What the message lacks for its role, or None."""
        if self.role == "tool" and not self.tool_call_id:
            return "a tool message needs 'tool_call_id'"
        if self.content is None and not (self.role == "assistant" and self.tool_calls):
            return f"a {self.role} message needs 'content'"
        return None


class Function(BaseModel):
    """A tool's function."""

    model_config = ConfigDict(extra="ignore")

    name: Name
    description: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    strict: bool | None = None


class Tool(BaseModel):
    """A tool that may be called."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["function"]
    function: Function


class NamedFunction(BaseModel):
    """The name inside a named tool choice."""

    name: Name


class NamedToolChoice(BaseModel):
    """`{"type": "function", "function": {"name": ...}}`: this tool must be called."""

    type: Literal["function"]
    function: NamedFunction


class StreamOptions(BaseModel):
    """What a stream carries besides the answer."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ResponseFormat(BaseModel):
    """Only plain text can be answered."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["text"]


class ChatRequest(BaseModel):
    """Body of `POST /v1/chat/completions`."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(max_length=256)
    messages: list[Message] = Field(min_length=1)
    tools: list[Tool] | None = Field(None, max_length=128)
    tool_choice: Literal["auto", "none", "required"] | NamedToolChoice | None = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None
    modalities: list[Literal["text"]] | None = None
    response_format: ResponseFormat | None = None

    @field_validator("messages")
    @classmethod
    def _whole_messages(cls, messages: list[Message]) -> list[Message]:
        for index, message in enumerate(messages):
            if fault := message.fault():
                raise ValueError(f"message {index}: {fault}")
        return messages

    @property
    def token_limit(self) -> int | None:
        """Most tokens of the answer; the newer of the two fields wins."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts at which the answer ends."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(stop for stop in stops if stop)

    @property
    def ignored_parameters(self) -> tuple[str, ...]:
        """Parameters that were sent and have no effect, sorted."""
        return tuple(sorted(set(self.model_extra or ()) & IGNORED_PARAMETERS))

    @property
    def unknown_parameters(self) -> tuple[str, ...]:
        """Parameters that are neither used nor knowingly ignored, sorted."""
        return tuple(sorted(set(self.model_extra or ()) - IGNORED_PARAMETERS))


class PromptTokensDetails(BaseModel):
    """Nothing is cached, because nothing is computed."""

    cached_tokens: int = 0


class Usage(BaseModel):
    """Word pieces read and written, counted by `tokens.py`."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails = PromptTokensDetails()


class ModelCard(BaseModel):
    """One entry of `GET /v1/models`."""

    id: str = MODEL_ID
    object: Literal["model"] = "model"
    created: int = 1_795_219_200  # 21 November 2026, when the script was first written
    owned_by: str = "parley"
    kind: Literal["script"] = "script"
    description: str = DESCRIPTION


class ModelList(BaseModel):
    """Answer of `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...] = (ModelCard(),)


class Health(BaseModel):
    """Answer of `/health` and `/ready`."""

    status: Literal["ok"] = "ok"
    kind: Literal["script"] = "script"


class ErrorDetail(BaseModel):
    """OpenAI's error shape."""

    message: str
    type: str
    code: str
    param: str | None = None


class ErrorBody(BaseModel):
    """Body of every non-2xx answer."""

    error: ErrorDetail
