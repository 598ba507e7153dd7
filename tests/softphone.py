"""A telephone for tests: it dials, speaks what a test gives it, and records what it hears."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np

from bench.children import free_port
from tests.baresip import Baresip, Event, baresip
from tests.isolated_network import NEAR_IPV4
from tests.spoken import silence
from tests.telephone_sound import RATE_HZ, Pcm16, last_audible, write_wav

ANSWER_OVER_S = 0.8
"""Silence after which an answer is over, seconds; as `parley call` has it, and the delay of the
line. """
_LINE_NOISE_S = 300.0
"""Longest call: baresip hangs up where its file ends."""
_WAV_HEADER_BYTES = 44
KEY_S = 0.12
"""From one key to the next, seconds; baresip sends each for half of it."""
_POLL_S = 0.05


class CallEnded(Exception):
    """The call is over, with the reason that baresip gives."""


class Softphone:
    """One telephone, at most one call at a time."""

    def __init__(self, folder: Path, program: Baresip) -> None:
        self._folder = folder
        self._program = program
        self._moved_to: str | None = None
        """The call to which the first one was transferred, by its id."""
        self._files = 0
        self._recording = 0
        """Which recording is of the call that counts."""

    async def dial(self, uri: str) -> None:
        """Call somebody; returns once the call is answered.

        Raises:
            CallEnded: it is refused.
        """
        await self._program.command("dial", uri)
        await self.answered()

    async def hang_up(self) -> None:
        """End the call; returns once it is over for the telephone."""
        await self._program.command("hangup")
        await self.ended()

    async def ended(self) -> str:
        """Wait until the call is over; return the reason."""
        try:
            await self._until_event(lambda _: False)
        except CallEnded as error:
            return str(error)
        raise AssertionError("nothing was waited for")

    async def say(self, pcm: Pcm16) -> None:
        """Speak; returns once the last sample has been sent.

        Args:
            pcm: int16, (samples,), 8 kHz.
        """
        already = self._recorded("enc").size
        await self._program.command("ausrc", f"aufile,{self._file(pcm)}")
        await self._until(lambda: self._recorded("enc").size >= already + pcm.size)

    async def press(self, keys: str, gap_s: float = KEY_S) -> None:
        """Press keys, one after the other, as RFC 4733 events.

        Args:
            keys: of 0-9, *, #, A-D.
            gap_s: from one to the next, seconds.
        """
        for key in keys:
            await self._program.command("sndcode", key)
            await asyncio.sleep(gap_s)

    async def answered(self) -> None:
        """Wait until a call to or from this telephone has been answered.

        Raises:
            CallEnded: it is refused.
        """
        await self._until_event(lambda event: event["type"] == "CALL_ESTABLISHED")

    async def transferred(self) -> str:
        """Wait until the other side has moved the call elsewhere, and somebody answers there.

        Returns:
            Where to, as the REFER has it.

        Raises:
            CallEnded: it has ended instead.
        """
        told = await self._until_event(lambda event: event["type"] == "TRANSFER")
        moved = await self._until_event(
            lambda event: event["type"] == "CALL_ESTABLISHED" and event["id"] != self._call_id
        )
        self._moved_to, self._recording = moved["id"], -1
        return str(told["param"])

    async def hold(self) -> None:
        """Put the other side on hold; returns once it has agreed."""
        await self._offer("hold")

    async def resume(self) -> None:
        """Take the other side off hold; returns once it has agreed."""
        await self._offer("resume")

    def heard(self) -> Pcm16:
        """Everything heard in this call so far: int16, (samples,), 8 kHz."""
        return self._recorded("dec")

    def keys(self) -> str:
        """The keys that the other side has pressed."""
        return "".join(
            event["param"] for event in self._program.events if event["type"] == "CALL_DTMF_START"
        )

    async def until_keys(self) -> None:
        """Wait until the other side has pressed a key."""
        await self._until_event(lambda event: event["type"] == "CALL_DTMF_START")

    def heard_before(self) -> Pcm16:
        """Everything heard before the call was transferred: int16, (samples,), 8 kHz."""
        return self._recorded("dec", 0)

    async def until_audible(self, after: int = 0) -> None:
        """Wait for sound.

        Args:
            after: how many samples of `heard()` do not count.
        """
        await self._until(lambda: last_audible(self.heard()) >= after)

    async def until_silent(self) -> None:
        """Wait until an answer seems to be over; a pause in it lasts as long at times."""
        await self._until(
            lambda: self.heard().size - last_audible(self.heard()) > ANSWER_OVER_S * RATE_HZ
        )

    def _file(self, pcm: Pcm16) -> Path:
        """A file with the speech and then enough of the line's own noise."""
        self._files += 1
        path = self._folder / f"said-{self._files}.wav"
        write_wav(path, np.concatenate((pcm, silence(_LINE_NOISE_S, RATE_HZ))))
        return path

    def _recorded(self, side: str, number: int | None = None) -> Pcm16:
        """What is in a recording so far: `dec` is heard, `enc` is said."""
        paths = sorted(self._folder.glob(f"dump-*-{side}.wav"))
        if not paths:
            return np.empty(0, np.int16)
        # The header is written when the file is closed.
        body = paths[self._recording if number is None else number].read_bytes()[_WAV_HEADER_BYTES:]
        return np.frombuffer(body[: len(body) // 2 * 2], "<i2")

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait for something in a file that baresip writes while the call lasts.

        Raises:
            CallEnded: it is over.
        """
        while not condition():
            self._raise_if_ended()
            await asyncio.sleep(_POLL_S)

    async def _until_event(self, wanted: Callable[[Event], bool]) -> Event:
        return await self._program.until(wanted, self._raise_if_ended)

    @property
    def _call_id(self) -> str | None:
        """The call that counts: the first one, or the one to which it was transferred."""
        first = (event["id"] for event in self._program.events if event.get("id"))
        return self._moved_to or next(first, None)

    def _raise_if_ended(self) -> None:
        call_id = self._call_id
        for event in self._program.events:
            if event["type"] == "CALL_CLOSED" and event["id"] == call_id:
                raise CallEnded(event.get("param", ""))

    async def _offer(self, command: str) -> None:
        """Have baresip send a new INVITE; returns once it is answered."""
        already = self._answers()
        await self._program.command(command)
        await self._until_event(lambda _: self._answers() > already)

    def _answers(self) -> int:
        """How many of our offers for sound have been answered."""
        return sum(
            event["type"] == "CALL_REMOTE_SDP" and event.get("param") == "answer"
            for event in self._program.events
        )


@asynccontextmanager
async def softphone(
    folder: Path,
    user: str = "+15550111",
    password: str = "",
    *,
    port: int | None = None,
    answers: bool = False,
) -> AsyncIterator[Softphone]:
    """Run a telephone.

    Args:
        folder: a new folder for its configuration and recordings.
        user: its number, or the name that goes with the password.
        password: what it answers when it is asked for one.
        port: where it takes calls; None: at some free port.
        answers: whether it answers calls by itself; otherwise it rings.
    """
    account = f"<sip:{user}@{NEAR_IPV4}>;regint=0;audio_codecs=PCMU/8000/1"
    if password:
        account += f';auth_pass="{password}"'
    if answers:
        account += ";answermode=auto"
    sip_port = port or free_port(socket.SOCK_DGRAM, NEAR_IPV4)
    async with baresip(folder, account, _noise(folder), sip_port) as program:
        yield Softphone(folder, program)


def _noise(folder: Path) -> Path:
    """The line's own noise, in a file of a folder that is made here."""
    folder.mkdir()
    path = folder / "noise.wav"
    write_wav(path, silence(_LINE_NOISE_S, RATE_HZ))
    return path
