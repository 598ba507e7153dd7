"""Streaming speech to text: Deepgram's `/v1/listen` dialect, with one extension.

Audio goes in as binary messages, control as JSON text; `Results` and marks come out as JSON text.
The extension: a client that asks for `preflight=true` also receives `Results` with
`"preflight": true`, a transcript stable enough to start the language model on, sent after a short
silence and before the end of the utterance. Stock clients never ask and never see it.

Source of field names: LiveKit's and Pipecat's Deepgram clients (livekit-plugins-deepgram 1.8.9,
pipecat-ai 1.14.0).
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# --- client to server -------------------------------------------------------------------------


class KeepAlive(_Message):
    """Keeps an idle stream open."""

    type: Literal["KeepAlive"] = "KeepAlive"


class Finalize(_Message):
    """Asks for the final transcript of what was received so far; answered with `from_finalize`."""

    type: Literal["Finalize"] = "Finalize"


class CloseStream(_Message):
    """No more audio follows: finish, send `Metadata`, close."""

    type: Literal["CloseStream"] = "CloseStream"


ClientMessage = Annotated[KeepAlive | Finalize | CloseStream, Field(discriminator="type")]
CLIENT_MESSAGE: TypeAdapter[KeepAlive | Finalize | CloseStream] = TypeAdapter(ClientMessage)


# --- server to client -------------------------------------------------------------------------


class ListenWord(_Message):
    """A recognised word; sent only by engines that know word times."""

    word: str
    start: float
    """Seconds from the start of the stream."""
    end: float
    """Seconds from the start of the stream."""
    punctuated_word: str
    confidence: float | None = None
    """Left out where the engine does not know it."""


class Alternative(_Message):
    """One reading of the audio. We send exactly one."""

    transcript: str
    words: tuple[ListenWord, ...] = ()
    """Empty where the engine knows no word times."""
    confidence: float | None = None
    """Always sent by this server, as 0.0 where the engine does not know it: LiveKit's client fails
    on a result without one. Other servers of the dialect may leave it out."""
    languages: tuple[str, ...] = ()


class Channel(_Message):
    """The alternatives of one audio channel."""

    alternatives: tuple[Alternative, ...]


class ModelInfo(_Message):
    """Which model answered."""

    name: str
    version: str
    arch: str


class ResultsMetadata(_Message):
    """Ids that tie a result to its stream."""

    request_id: str
    model_uuid: str
    model_info: ModelInfo


class SpeechStarted(_Message):
    """The caller began to speak. Sent only with `vad_events=true`."""

    type: Literal["SpeechStarted"] = "SpeechStarted"
    channel: tuple[int, int] = (0, 1)
    timestamp: float
    """Seconds from the start of the stream."""


class Results(_Message):
    """A transcript: interim, preflight or final."""

    type: Literal["Results"] = "Results"
    channel_index: tuple[int, int] = (0, 1)
    start: float
    """Start of the audio it covers, seconds from the start of the stream."""
    duration: float
    """Length of the audio it covers, seconds."""
    is_final: bool
    """False: it may still change. True: this text is fixed and is not sent again."""
    speech_final: bool
    """True when the server's own endpointing ended the utterance here."""
    from_finalize: bool = False
    """True when it answers a `Finalize`."""
    preflight: bool | None = None
    """Our extension; left out for clients that did not ask for it."""
    channel: Channel
    metadata: ResultsMetadata


class UtteranceEnd(_Message):
    """No words for `utterance_end_ms`; sent only to clients that set it."""

    type: Literal["UtteranceEnd"] = "UtteranceEnd"
    channel: tuple[int, int] = (0, 1)
    last_word_end: float
    """Seconds from the start of the stream; -1 when the engine knows no word times."""


class Metadata(_Message):
    """The last message of a stream."""

    type: Literal["Metadata"] = "Metadata"
    request_id: str
    created: str
    """ISO 8601."""
    duration: float
    """Audio received, seconds."""
    channels: int


class Error(_Message):
    """Something went wrong; the stream closes after it."""

    type: Literal["Error"] = "Error"
    code: str
    """A code of `speech_server.errors`."""
    description: str
    retryable: bool


ServerMessage = Annotated[
    SpeechStarted | Results | UtteranceEnd | Metadata | Error, Field(discriminator="type")
]
SERVER_MESSAGE: TypeAdapter[SpeechStarted | Results | UtteranceEnd | Metadata | Error] = (
    TypeAdapter(ServerMessage)
)
