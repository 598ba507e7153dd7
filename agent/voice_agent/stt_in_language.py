"""The call's recogniser in another language, for an agent that speaks one of its own.

It is the same recogniser: its connection, its second provider and what decides on the end of a turn
stay those of the call.
"""

from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectOptions,
    NotGivenOr,
    stt,
)
from livekit.agents.utils import AudioBuffer


class SttInLanguage(stt.STT):
    """A recogniser that is told another language.

    Args:
        inner: The call's recogniser, which closes itself.
        language: BCP 47 tag of what the caller is expected to speak now.
    """

    def __init__(self, inner: stt.STT, language: str) -> None:
        super().__init__(capabilities=inner.capabilities)
        self._inner = inner
        self._language = language
        inner.on("metrics_collected", self._pass_metrics)
        inner.on("error", self._pass_error)

    @property
    def model(self) -> str:
        """Model of the call's recogniser."""
        return self._inner.model

    @property
    def provider(self) -> str:
        """Provider of the call's recogniser."""
        return self._inner.provider

    def stream(
        self,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
    ) -> stt.RecognizeStream:
        """Begin a stream."""
        return self._inner.stream(language=self._language, conn_options=conn_options)

    async def aclose(self) -> None:
        """Stop passing the inner one's events on."""
        self._inner.off("metrics_collected", self._pass_metrics)
        self._inner.off("error", self._pass_error)

    async def _recognize_impl(
        self,
        buffer: AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        return await self._inner.recognize(
            buffer, language=self._language, conn_options=conn_options
        )

    def _pass_metrics(self, metrics: object) -> None:
        self.emit("metrics_collected", metrics)

    def _pass_error(self, error: object) -> None:
        self.emit("error", error)
