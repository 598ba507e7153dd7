"""Uploads to samples: any common container and codec, decoded in a child process with limits.

A file from outside is the most hostile thing the server reads. The decoder therefore runs in its
own process, without environment, network or files, bounded in memory, processor time, wall time
and output, and knows no URLs and no playlists.
"""

import asyncio
import logging
import sys
from typing import Final

from speech_server.audio.decode_child import (
    EXIT_NO_AUDIO,
    EXIT_OK,
    EXIT_TOO_LONG,
    EXIT_UNREADABLE,
    OUTPUT_RATE_HZ,
)
from speech_server.audio.pcm import PcmFloat, int16_to_float, linear16_to_int16
from speech_server.errors import BadRequest, DeadlineExceeded, EngineFailed, PayloadTooLarge

logger = logging.getLogger(__name__)

_READ_BYTES: Final = 1 << 18
_MAX_REPORT_BYTES: Final = 4096
_CONCURRENT_CHILDREN: Final = 2
"""Decoders at once; further uploads wait for one of them within their own time limit."""
_UNREADABLE: Final = (
    "the file could not be decoded as audio; send wav, mp3, flac, ogg, opus, m4a, webm, aac or aiff"
)


class AudioDecoder:
    """Decodes uploads, a few at a time.

    Args:
        max_s: longest audio after decoding, seconds.
        timeout_s: time allowed for one upload, waiting for a free decoder included, seconds.
    """

    def __init__(self, max_s: float, timeout_s: float) -> None:
        self._max_s = max_s
        self._timeout_s = timeout_s
        self._children = asyncio.Semaphore(_CONCURRENT_CHILDREN)

    async def decode(self, data: bytes) -> PcmFloat:
        """Decode the first audio track.

        Args:
            data: a whole file.

        Returns:
            float32, (samples,), 16 kHz mono, in [-1, 1).

        Raises:
            BadRequest: empty, damaged, or nothing that we know.
            PayloadTooLarge: longer than allowed once decoded.
            DeadlineExceeded: not done in time.
            EngineFailed: the decoder process could not run.
        """
        if not data:
            raise BadRequest("the file is empty")
        try:
            async with asyncio.timeout(self._timeout_s), self._children:
                return await self._run(data)
        except TimeoutError:
            raise DeadlineExceeded(
                f"the file could not be decoded within {self._timeout_s:g} s"
            ) from None

    async def _run(self, data: bytes) -> PcmFloat:
        max_samples = round(self._max_s * OUTPUT_RATE_HZ)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", "speech_server.audio.decode_child",
            str(max_samples), str(int(self._timeout_s) + 1),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        try:
            return await _converse(child, data, max_samples)
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()


async def _converse(child: asyncio.subprocess.Process, data: bytes, max_samples: int) -> PcmFloat:
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    feeding = asyncio.create_task(_feed(child.stdin, data))
    reporting = asyncio.create_task(child.stderr.read(_MAX_REPORT_BYTES))
    try:
        samples = bytearray()
        while piece := await child.stdout.read(_READ_BYTES):
            samples += piece
            if len(samples) > max_samples * 2:
                raise _too_long(max_samples)
        await feeding
        status = await child.wait()
        report = (await reporting).decode(errors="replace")
    finally:
        feeding.cancel()
        reporting.cancel()
    _raise_for_status(status, report, max_samples)
    return int16_to_float(linear16_to_int16(samples))


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    try:
        stdin.write(data)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the child has seen enough; its exit status says why


def _too_long(max_samples: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"the audio is longer than {max_samples / OUTPUT_RATE_HZ:g} s; send it in parts"
    )


def _raise_for_status(status: int, report: str, max_samples: int) -> None:
    if status == EXIT_OK:
        return
    if status == EXIT_TOO_LONG:
        raise _too_long(max_samples)
    if status == EXIT_NO_AUDIO:
        raise BadRequest("the file holds no audio")
    if status == EXIT_UNREADABLE:
        raise BadRequest(_UNREADABLE)
    if status < 0:
        # Ended by a signal: the file drove the decoder into one of its limits, or into a fault.
        logger.warning("decoder was stopped by a signal", extra={"signal": -status})
        raise BadRequest(_UNREADABLE)
    logger.error("decoder process failed", extra={"status": status, "report": report[-500:]})
    raise EngineFailed("the audio decoder could not run")
