"""A language model that has its answers written down, and gives them at a model's pace.

It runs by itself, as vLLM does: whoever no longer reads has to say so, or it goes on.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final

from speech_server.tts.orpheus_codes import END_OF_SPEECH_ID, Frame, token_ids
from speech_server.tts.orpheus_prompt import Prompt
from speech_server.tts.token_source import GenerationFailed

_AROUND_TEXT: Final = slice(2, -4)
"""Where a prompt's text is; see `build_prompt`."""


class ScriptedSource:
    """Replays codes. Implements `TokenSource`.

    Args:
        answers: for each text that may be asked, the frames that say it.
        tokens_per_s: pace of each answer.
        step: tokens that come at once; more than 1 spares the event loop when many speak.
    """

    def __init__(
        self, answers: Mapping[str, Sequence[Frame]], tokens_per_s: float, step: int = 1
    ) -> None:
        self._answers = answers
        self._tokens_per_s = tokens_per_s
        self._step = step
        self._running = 0
        self.made = 0
        """Tokens made so far, for anybody."""
        self.idle = asyncio.Event()
        """Set while no answer is being made."""
        self.idle.set()

    def encode(self, text: str) -> list[int]:
        """A text's bytes stand for themselves."""
        return list(text.encode())

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to free."""

    async def generate(
        self, prompt: Prompt, spoken: Sequence[int] = ()
    ) -> AsyncGenerator[Sequence[int], None]:
        """See `TokenSource`.

        Raises:
            GenerationFailed: no answer to this text is written down.
        """
        _, _, text = bytes(prompt.ids[_AROUND_TEXT]).decode().partition(": ")
        frames = self._answers.get(text)
        if frames is None:
            raise GenerationFailed(f"no answer to {text!r}")
        ids = [id_ for frame in frames for id_ in token_ids(frame)] + [END_OF_SPEECH_ID]
        made: asyncio.Queue[list[int]] = asyncio.Queue()
        model = asyncio.create_task(self._write(ids[len(spoken) : prompt.budget], made))
        model.add_done_callback(self._has_stopped)
        self._running += 1
        self.idle.clear()
        try:
            while not (model.done() and made.empty()):
                step = await made.get()
                while not made.empty():
                    step += made.get_nowait()
                if not step:
                    return
                yield step
        finally:
            model.cancel()

    async def _write(self, ids: list[int], made: "asyncio.Queue[list[int]]") -> None:
        began_s = time.perf_counter()
        for end in range(self._step, len(ids) + self._step, self._step):
            due_s = began_s + min(end, len(ids)) / self._tokens_per_s
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            step = ids[end - self._step : end]
            self.made += len(step)
            made.put_nowait(step)
        made.put_nowait([])

    def _has_stopped(self, _: object) -> None:
        self._running -= 1
        if not self._running:
            self.idle.set()
