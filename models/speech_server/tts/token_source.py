"""What the Orpheus engine needs of a language model: token ids in, token ids out, stoppable."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from speech_server.tts.orpheus_prompt import Prompt


class GenerationFailed(Exception):
    """The model broke on this request; another one may succeed."""


class SourceDied(Exception):
    """The model's process is gone; no request will succeed until it is started again."""


class TokenSource(Protocol):
    """A loaded language model. `generate` may be called for several prompts at once."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special tokens of the tokenizer's own."""
        ...

    def generate(
        self, prompt: Prompt, spoken: Sequence[int] = ()
    ) -> AsyncGenerator[Sequence[int], None]:
        """Continue a prompt.

        Closing the generator (`aclose`, or cancelling the task that reads it) takes the request out
        of the model's batch within one step.

        Args:
            prompt: what to say.
            spoken: the speech so far, when an earlier attempt broke off: goes on after it.

        Yields:
            The ids of each step: one, or more when the reader was late. The last is the end of
            speech, unless the prompt's budget was used up.

        Raises:
            GenerationFailed: the model broke on this request.
            SourceDied: the model is gone.
        """
        ...

    async def start(self) -> None:
        """Load the model.

        Raises:
            EngineFailed: it cannot be loaded; the message says what to do.
        """
        ...

    async def close(self) -> None:
        """Free the model; running requests end with `SourceDied`."""
        ...
