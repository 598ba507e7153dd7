"""Records both sides of a call to one stereo WAV file: the caller left, the agent right."""

import wave
from contextlib import suppress
from pathlib import Path

import numpy as np

from voice_agent.caller.errors import BadInput
from voice_agent.caller.sound import RATE_HZ, Pcm16

MAX_RECORDING_S = 3600.0
"""What is said after an hour is not recorded; an hour holds 345 MB."""
JITTER_S = 0.06
"""A frame that arrives later than this after the one before leaves a gap; less is network jitter
and is closed up, seconds."""


class Recording:
    """Places each frame where it sounded, counted from the first frame of either side."""

    def __init__(self, path: Path) -> None:
        """Take note of where to write.

        Raises:
            BadInput: the folder is not there, or `path` is one.
        """
        if not path.parent.is_dir():
            raise BadInput(f"--record: there is no folder {path.parent}")
        if path.is_dir():
            raise BadInput(f"--record: {path} is a folder")
        self.path = path
        self._origin_s: float | None = None
        self._caller = bytearray()
        self._agent = bytearray()

    def add_caller(self, frame: Pcm16, at_s: float) -> None:
        """Place a frame of the caller's, handed over at `at_s`."""
        self._place(self._caller, frame, at_s)

    def add_agent(self, frame: Pcm16, at_s: float) -> None:
        """Place a frame of the agent's, arrived at `at_s`."""
        self._place(self._agent, frame, at_s)

    def _place(self, side: bytearray, frame: Pcm16, at_s: float) -> None:
        if self._origin_s is None:
            self._origin_s = at_s
        offset_s = at_s - self._origin_s
        if offset_s > MAX_RECORDING_S:
            return
        gap = round(offset_s * RATE_HZ) - len(side) // 2
        if gap > JITTER_S * RATE_HZ:
            side.extend(bytes(2 * gap))
        side.extend(frame.tobytes())

    @property
    def is_empty(self) -> bool:
        """Whether neither side has been heard yet."""
        return not self._caller and not self._agent

    def samples(self) -> Pcm16:
        """Both sides, int16, (samples, 2), the shorter one filled up with silence."""
        frames = max(len(self._caller), len(self._agent)) // 2
        stereo = np.zeros((frames, 2), np.int16)
        for column, side in enumerate((self._caller, self._agent)):
            stereo[: len(side) // 2, column] = np.frombuffer(side, np.int16)
        return stereo

    def save(self) -> None:
        """Write the file; an older one is replaced only by a whole new one.

        Raises:
            BadInput: the file cannot be written.
        """
        partial = self.path.with_name(f".{self.path.name}.part")
        try:
            with partial.open("wb") as raw, wave.open(raw, "wb") as file:
                file.setnchannels(2)
                file.setsampwidth(2)
                file.setframerate(RATE_HZ)
                file.writeframes(self.samples().tobytes())
            partial.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise BadInput(f"--record: cannot write {self.path} ({error.strerror})") from None
