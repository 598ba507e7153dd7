"""LiveKit's `STT` on the speech server: streams, and whole recordings."""

import asyncio
import weakref

import aiohttp
from livekit import rtc
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectOptions,
    LanguageCode,
    NotGivenOr,
    stt,
    utils,
)
from livekit.agents.utils import AudioBuffer, is_given
from pydantic import BaseModel, TypeAdapter

from speech_plugins.connection import STT_CONN_OPTIONS, SpeechServer, fast_options, parse
from speech_plugins.model_rate import MODEL_RATE_HZ
from speech_plugins.recognize_stream import RecognizeStream
from speech_plugins.turn_taking import TurnTakerFactory

_UPLOAD_PATH = "/v1/audio/transcriptions"
_UPLOAD_TIMEOUT_S = 60.0
"""Longest time for a whole recording, seconds."""


class _Transcription(BaseModel):
    text: str


_TRANSCRIPTION: TypeAdapter[_Transcription] = TypeAdapter(_Transcription)


class STT(stt.STT):
    """Speech to text.

    Leave the session's input at 24 kHz with 20 ms frames (LiveKit's turn detector needs that
    rate); the stream resamples.

    Args:
        url: base URL of the speech server, without a path.
        language: BCP 47 tag of what is spoken; None lets the engine decide.
        model: model id; None is the server's own.
        word_times: whether the server's engine knows word times.
        api_key: key where the server asks for one.
        turn_taker: makes for every stream what decides when a turn is over; for sessions with
            `turn_detection="stt"`. None: the framework flushes.
        http_session: session to use; None takes the job's own for `https://`, else one of ours
            that `aclose` closes.

    Raises:
        ValueError: the URL is not one.
    """

    def __init__(
        self,
        *,
        url: str,
        language: str | None = "en",
        model: str | None = None,
        word_times: bool = False,
        api_key: str | None = None,
        turn_taker: TurnTakerFactory | None = None,
        http_session: aiohttp.ClientSession | None = None,
    ) -> None:
        super().__init__(
            capabilities=stt.STTCapabilities(
                streaming=True,
                interim_results=True,
                aligned_transcript="word" if word_times else False,
                manual_flush=True,
            )
        )
        self._server = SpeechServer(url, api_key, http_session)
        self._language = language
        self._model = model
        self._turn_taker = turn_taker
        self._streams: weakref.WeakSet[RecognizeStream] = weakref.WeakSet()

    @property
    def model(self) -> str:
        """Model id that is asked for."""
        return self._model or "default"

    @property
    def provider(self) -> str:
        """Label in metrics."""
        return "parley"

    def stream(
        self,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
    ) -> RecognizeStream:
        """Begin a stream; it connects at once."""
        spoken = language if is_given(language) else self._language
        params = {
            "encoding": "linear16",
            "sample_rate": str(MODEL_RATE_HZ),
            "channels": "1",
            "interim_results": "true",
            "preflight": "true",
            "endpointing": "false",
            "vad_events": "true",
        }
        if spoken:
            params["language"] = spoken
        if self._model:
            params["model"] = self._model
        stream = RecognizeStream(
            stt=self,
            server=self._server,
            params=params,
            language=spoken,
            conn_options=fast_options(conn_options, STT_CONN_OPTIONS),
            turn_taker=self._turn_taker,
        )
        self._streams.add(stream)
        return stream

    async def _recognize_impl(
        self,
        buffer: AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        spoken = language if is_given(language) else self._language
        wav = await asyncio.to_thread(rtc.combine_audio_frames(buffer).to_wav_bytes)
        form = aiohttp.FormData()
        form.add_field("file", wav, filename="speech.wav", content_type="audio/wav")
        form.add_field("model", self._model or "whisper-1")
        form.add_field("response_format", "json")
        if spoken:
            form.add_field("language", spoken)
        async with self._server.post(
            _UPLOAD_PATH, data=form, timeout=_UPLOAD_TIMEOUT_S
        ) as response:
            answer = parse(_TRANSCRIPTION, await response.text())
        return stt.SpeechEvent(
            type=stt.SpeechEventType.FINAL_TRANSCRIPT,
            request_id=utils.shortuuid("stt_"),
            alternatives=[stt.SpeechData(language=LanguageCode(spoken or ""), text=answer.text)],
        )

    async def aclose(self) -> None:
        """Close every stream and the connections."""
        for stream in list(self._streams):
            await stream.aclose()
        await self._server.aclose()
