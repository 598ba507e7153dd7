"""What callers may ask of the model, and the body that vLLM gets for it.

Only fields that are named here reach vLLM, message by message: it has many more, some of which
load code, read files or switch checks off.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from language_server.protocol import ChatRequest
from language_server.vllm.control_tokens import ControlTokens

COMMITTED: Final = 0
"""Priority of a turn that the caller waits for; the default."""
SPECULATIVE: Final = 10
"""Priority of an answer to what a caller may not have finished saying."""
BACKGROUND: Final = 20
"""Priority of work that nobody waits for."""

_IGNORED: Final = frozenset(
    {
        # bookkeeping of OpenAI, which clients send without being asked
        "metadata", "store", "service_tier", "reasoning_effort", "verbosity", "safety_identifier",
        "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "moderation",
        "top_logprobs",
    }
)  # fmt: skip
_NONE: Final = ControlTokens(())
_OWN: Final = frozenset({"model", "n", "logprobs", "modalities", "priority", "user"})
"""Fields that are answered here, or written anew."""


class JsonFormat(BaseModel):
    """An answer in JSON, of any shape or of a given one."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text", "json_object", "json_schema"]
    json_schema: dict[str, Any] | None = None


class TemplateOptions(BaseModel):
    """What of the chat template may be switched."""

    model_config = ConfigDict(extra="forbid")

    enable_thinking: bool | None = None


class ModelRequest(ChatRequest):
    """Body of `POST /v1/chat/completions`, as a model takes it."""

    response_format: JsonFormat | None = None  # type: ignore[assignment]  # wider than a script's
    temperature: float | None = Field(None, ge=0.0, le=2.0)
    top_p: float | None = Field(None, gt=0.0, le=1.0)
    top_k: int | None = Field(None, ge=-1, le=1000)
    min_p: float | None = Field(None, ge=0.0, le=1.0)
    frequency_penalty: float | None = Field(None, ge=-2.0, le=2.0)
    presence_penalty: float | None = Field(None, ge=-2.0, le=2.0)
    repetition_penalty: float | None = Field(None, gt=0.0, le=2.0)
    seed: int | None = Field(None, ge=-(2**63), le=2**63 - 1)
    min_tokens: int | None = Field(None, ge=0)
    ignore_eos: bool | None = None
    chat_template_kwargs: TemplateOptions | None = None
    cache_salt: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")] | None = None
    """Prompts with another salt never share cache: one for each tenant."""
    user: str | None = Field(None, max_length=256)
    """Keeps the requests of one call together where no header does."""
    priority: int = Field(COMMITTED, ge=COMMITTED, le=BACKGROUND)
    """Lower goes first: 0 a committed turn, 10 a speculative one, 20 background work."""

    @property
    def ignored_parameters(self) -> tuple[str, ...]:
        """Parameters that were sent and have no effect, sorted."""
        return tuple(sorted(set(self.model_extra or ()) & _IGNORED))

    @property
    def unknown_parameters(self) -> tuple[str, ...]:
        """Parameters that are neither used nor knowingly ignored, sorted."""
        return tuple(sorted(set(self.model_extra or ()) - _IGNORED))

    def vllm_body(
        self, model: str, most_tokens: int, control: ControlTokens = _NONE
    ) -> dict[str, Any]:
        """The body for vLLM.

        Args:
            model: name that it knows the model by.
            most_tokens: longest answer that it may write.
            control: tokens that no message may hold.
        """
        known = set(type(self).model_fields) - _OWN - {"max_tokens", "max_completion_tokens"}
        body = self.model_dump(mode="json", include=known, exclude_unset=True)
        limit = min(self.token_limit or most_tokens, most_tokens)
        least = min(self.min_tokens or 0, limit)
        return {
            **body,
            "messages": [control.without(message) for message in body["messages"]],
            "model": model,
            "max_completion_tokens": limit,
            "priority": self.priority,
            **({"min_tokens": least} if least else {}),
        }
