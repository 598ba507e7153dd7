from typing import Any

import pytest
from livekit import rtc
from livekit.agents import DEFAULT_API_CONNECT_OPTIONS, stt

from voice_agent.stt_in_language import SttInLanguage

FRAME = rtc.AudioFrame(b"\0\0" * 160, 16_000, 1, 160)


class InnerSTT(stt.STT):
    """Remembers the languages that it was asked for."""

    model = "tiny"
    provider = "test"

    def __init__(self) -> None:
        super().__init__(
            capabilities=stt.STTCapabilities(
                streaming=True, interim_results=True, manual_flush=True
            )
        )
        self.asked: list[Any] = []

    def stream(self, *, language: Any = None, **_: Any) -> Any:
        self.asked.append(language)
        return "a stream"

    async def _recognize_impl(
        self, buffer: Any, *, language: Any, conn_options: Any
    ) -> stt.SpeechEvent:
        self.asked.append(language)
        return stt.SpeechEvent(type=stt.SpeechEventType.FINAL_TRANSCRIPT)


@pytest.fixture
def inner() -> InnerSTT:
    return InnerSTT()


async def test_the_same_recogniser_is_asked_in_another_language(inner: InnerSTT) -> None:
    french = SttInLanguage(inner, "fr")
    assert french.stream(conn_options=DEFAULT_API_CONNECT_OPTIONS) == "a stream"
    await french.recognize(FRAME)
    assert inner.asked == ["fr", "fr"]
    assert french.capabilities == inner.capabilities
    assert (french.model, french.provider) == ("tiny", "test")


async def test_errors_and_figures_come_through_until_it_is_closed(inner: InnerSTT) -> None:
    french = SttInLanguage(inner, "fr")
    passed: list[object] = []
    french.on("error", passed.append)
    french.on("metrics_collected", passed.append)
    inner.emit("error", "an error")
    inner.emit("metrics_collected", "a figure")
    await french.aclose()
    inner.emit("error", "another")
    assert passed == ["an error", "a figure"]
