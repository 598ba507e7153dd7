"""What the Orpheus engine needs of a codec: frames of codes in, PCM out, many streams at once."""

from collections.abc import Sequence
from typing import Protocol

from speech_server.audio.pcm import PcmFloat
from speech_server.tts.orpheus_codes import Frame


class CodecStream(Protocol):
    """The audio of one segment. Needs no closing."""

    async def push(self, frames: Sequence[Frame]) -> list[PcmFloat]:
        """Take the next frames.

        Returns:
            float32, (samples,), 24 kHz: what is now final; may be empty.
        """
        ...

    async def flush(self) -> list[PcmFloat]:
        """The rest, after the last frame."""
        ...


class VoiceCodec(Protocol):
    """A loaded codec."""

    def stream(self) -> CodecStream:
        """Begin a segment."""
        ...

    async def start(self) -> None:
        """Load the codec.

        Raises:
            EngineFailed: it cannot be loaded; the message says what to do.
        """
        ...

    async def close(self) -> None:
        """Free the codec."""
        ...
