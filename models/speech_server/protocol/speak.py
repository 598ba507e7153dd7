"""Streaming text to speech: Cartesia's `/tts/websocket` and `/tts/bytes` dialect.

Text goes in piece by piece under a `context_id`; audio, word times and marks come out under the
same id. Several contexts share one WebSocket.

Source of field names: LiveKit's and Pipecat's Cartesia clients (livekit-plugins-cartesia 1.8.9,
pipecat-ai 1.14.0).
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_CONTEXT_ID_CHARS = 128

LIVEKIT_DEFAULT_VOICE = "f786b574-daa5-4673-aa0c-cbe3e8534c02"
"""What LiveKit's client sends as voice id where its user named none.

Source: livekit-plugins-cartesia 1.8.9, models.py (`TTSDefaultVoiceId`).
"""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# --- client to server -------------------------------------------------------------------------


class VoiceChoice(BaseModel):
    """Which voice speaks. Extra fields of the dialect (embeddings, controls) are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["id"] = "id"
    id: str | None = Field(None, max_length=128)
    """Pipecat sends `null` where its user named none, LiveKit a fixed id."""

    @property
    def named(self) -> str | None:
        """The id that the client's user asked for; None leaves the choice to the server."""
        return None if self.id == LIVEKIT_DEFAULT_VOICE else self.id


class OutputFormat(BaseModel):
    """How audio is to be sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    container: Literal["raw", "wav", "mp3"] = "raw"
    """The WebSocket sends `raw` only."""
    encoding: Literal["pcm_s16le", "pcm_f32le", "pcm_mulaw", "pcm_alaw"] = "pcm_s16le"
    sample_rate: int = Field(24_000, ge=8_000, le=48_000)
    """Hertz."""
    bit_rate: int | None = None
    """Bits per second, mp3 only."""


class GenerationConfig(BaseModel):
    """How to speak."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    speed: float | None = Field(None, ge=0.25, le=4.0)
    """1.0 is the voice's own rate."""
    volume: float | None = Field(None, ge=0.0, le=2.0)
    """1.0 is the voice's own loudness."""


class Generate(BaseModel):
    """A piece of text to speak under a context.

    Fields of the dialect that we know and do not act on are accepted and listed in
    docs/protocol.md; fields that nobody knows are refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    context_id: str | None = Field(None, min_length=1, max_length=MAX_CONTEXT_ID_CHARS)
    """Required on the WebSocket."""
    model_id: str = Field("", max_length=128)
    transcript: str = ""
    """May be empty with `continue: false`: no more text follows."""
    voice: VoiceChoice | None = None
    """The default voice when left out."""
    output_format: OutputFormat = OutputFormat()
    language: str | None = Field(None, max_length=35)
    continue_: bool = Field(False, alias="continue")
    """True: more text of this context follows. False: speak what is left and finish."""
    flush: bool = False
    """Speak all text received so far now; answered with `flush_done`."""
    add_timestamps: bool = False
    """Send word times where the engine knows them."""
    generation_config: GenerationConfig | None = None
    duration: float | None = None
    """Accepted and not acted on."""
    max_buffer_delay_ms: int | None = Field(None, ge=0, le=5_000)
    """Longest time text may wait for a fuller segment, milliseconds."""
    add_phoneme_timestamps: bool = False
    """Accepted and not acted on."""
    use_normalized_timestamps: bool = False
    """Accepted and not acted on."""
    pronunciation_dict_id: str | None = None
    """Accepted and not acted on."""
    speed: str | float | None = None
    """Older form of `generation_config.speed`: accepted and not acted on."""


class Cancel(BaseModel):
    """Stop speaking a context; nothing of it is sent after the `done` that answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context_id: str = Field(min_length=1, max_length=MAX_CONTEXT_ID_CHARS)
    cancel: Literal[True]


# --- server to client -------------------------------------------------------------------------


class Chunk(_Message):
    """Audio."""

    type: Literal["chunk"] = "chunk"
    context_id: str
    data: str
    """Base64 of raw audio in the asked `output_format`."""
    done: Literal[False] = False
    status_code: int = 206
    step_time: float
    """Time since the previous chunk of this context, milliseconds."""


class WordTimestamps(_Message):
    """Parallel lists: a word, when it starts, when it ends."""

    words: tuple[str, ...]
    start: tuple[float, ...]
    """Seconds from the start of the context's audio."""
    end: tuple[float, ...]
    """Seconds from the start of the context's audio."""


class Timestamps(_Message):
    """Word times of audio that was or is about to be sent."""

    type: Literal["timestamps"] = "timestamps"
    context_id: str
    done: Literal[False] = False
    status_code: int = 206
    word_timestamps: WordTimestamps
    estimated: Literal[True] | None = None
    """Present where the times are an estimate; our extension of the dialect."""


class FlushDone(_Message):
    """All audio of the text before a `flush` has been sent."""

    type: Literal["flush_done"] = "flush_done"
    context_id: str
    done: Literal[False] = False
    status_code: int = 206
    flush_done: Literal[True] = True
    flush_id: int
    """1 for the first flush of a context."""


class Done(_Message):
    """The context is over."""

    type: Literal["done"] = "done"
    context_id: str
    done: Literal[True] = True
    status_code: int = 200


class Error(_Message):
    """Something went wrong; the context named is over, the connection stays."""

    type: Literal["error"] = "error"
    context_id: str | None = None
    """Left out when the message could not be tied to a context."""
    done: Literal[True] = True
    status_code: int
    """HTTP status of the error."""
    error: str
    error_code: str
    """A code of `speech_server.errors`."""
    retryable: bool


ServerMessage = Annotated[
    Chunk | Timestamps | FlushDone | Done | Error, Field(discriminator="type")
]
