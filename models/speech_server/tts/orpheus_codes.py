"""Orpheus's ids and SNAC's codes: control tokens, and audio tokens to frames, one after the other.

A frame is 7 tokens. SNAC codes it on three levels, of 1, 2 and 4 codes:

    slot    0         1         2         3         4         5         6
    level   coarse    middle    fine      fine      middle    fine      fine

Every slot has 4,096 ids of its own, so that an id says by itself which slot it belongs in.
Source of the layout: canopyai/Orpheus-TTS, orpheus_tts/decoder.py of orpheus-speech 0.1.0, whose
checks are too wide and too narrow by one: it takes 4096 for a code and leaves out the code 0.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from speech_server.errors import EngineFailed

Frame = tuple[int, int, int, int, int, int, int]
"""Codes of one frame, each 0..4095, in Orpheus's order of slots."""
Codes = npt.NDArray[np.int64]
"""int64, shape (frames, 7): frames one after the other, each as in `Frame`."""
Levels = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The same codes as SNAC takes them: int64, (frames,), (2 x frames,), (4 x frames,)."""

SLOTS: Final = 7
"""Tokens of a frame. Source: orpheus_tts/decoder.py, `count % 7`."""
CODEBOOK_SIZE: Final = 4096
"""Codes of each of SNAC's levels. Source: config.json of hubertsiuzdak/snac_24khz."""
FRAME_SAMPLES: Final = 2048
"""Audio of one frame. Source: the same config.json: hop of 8 x 8 x 4 x 2 = 512 samples, of which
the coarse level takes 4."""
SAMPLE_RATE_HZ: Final = 24_000
"""Source: the same config.json."""
TOKENS_PER_S: Final = SLOTS * SAMPLE_RATE_HZ / FRAME_SAMPLES
"""Tokens of a second of speech: 82.03."""

FIRST_AUDIO_ID: Final = 128_266
"""Id of code 0 in slot 0. Source: Orpheus's notebooks, 128256 + 10, where 128256 is the size of
Llama 3's vocabulary; decoder.py writes the same as `<custom_token_10>`."""
LAST_AUDIO_ID: Final = FIRST_AUDIO_ID + SLOTS * CODEBOOK_SIZE - 1
"""Id of code 4095 in slot 6."""

BEGIN_OF_TEXT_ID: Final = 128_000
"""`<|begin_of_text|>`, the first of Llama 3's control tokens: a text has no id from here on."""
END_OF_TEXT_ID: Final = 128_001
"""`<|end_of_text|>`. Source: Llama 3."""
END_OF_TURN_ID: Final = 128_009
"""`<|eot_id|>`, after the text. Source: Llama 3, Orpheus's engine_class.py."""
START_OF_SPEECH_ID: Final = 128_257
"""`<custom_token_1>`, the last token of the prompt. Source: engine_class.py, as the next ones."""
END_OF_SPEECH_ID: Final = 128_258
"""`<custom_token_2>`, after the last frame. Source: Orpheus's notebooks, 128256 + 2."""
START_OF_HUMAN_ID: Final = 128_259
"""`<custom_token_3>`, the first token of the prompt."""
END_OF_HUMAN_ID: Final = 128_260
"""`<custom_token_4>`."""
START_OF_AI_ID: Final = 128_261
"""`<custom_token_5>`."""
END_OF_AI_ID: Final = 128_262
"""`<custom_token_6>`, the end of the speaker's turn. Source: Orpheus's notebooks, 128256 + 6."""
STOP_IDS: Final = (END_OF_SPEECH_ID, END_OF_AI_ID, END_OF_TURN_ID, END_OF_TEXT_ID)
"""Ids behind which there is no more speech. The 49158 that orpheus-speech 0.1.0 stops at by default
belongs to another vocabulary."""

_LEVEL_SLOTS: Final = ((0,), (1, 4), (2, 3, 5, 6))
"""Slots of each level, in time. Source: `convert_to_audio` of orpheus_tts/decoder.py."""
_MAX_DROPPED_TOKENS: Final = 4 * SLOTS
"""Tokens out of order that a segment may hold: about 0.3 s of speech."""


class TokensOutOfOrder(EngineFailed):
    """The model writes tokens that are no frames: what follows would not be speech."""


def slot_of(token_id: int) -> int | None:
    """The slot that an id belongs in, 0..6; None where it is not an audio token."""
    if not FIRST_AUDIO_ID <= token_id <= LAST_AUDIO_ID:
        return None
    return (token_id - FIRST_AUDIO_ID) // CODEBOOK_SIZE


def token_ids(frame: Frame) -> list[int]:
    """The seven ids of a frame.

    Raises:
        ValueError: a code is not 0..4095.
    """
    if len(frame) != SLOTS or not all(0 <= code < CODEBOOK_SIZE for code in frame):
        raise ValueError(f"a frame is {SLOTS} codes of 0..{CODEBOOK_SIZE - 1}")
    return [FIRST_AUDIO_ID + slot * CODEBOOK_SIZE + code for slot, code in enumerate(frame)]


def codes_of(frames: Sequence[Frame]) -> Codes:
    """Frames as one array."""
    return np.array(frames, dtype=np.int64).reshape(-1, SLOTS)


def to_levels(codes: Codes) -> Levels:
    """The codes level by level, as SNAC takes them.

    Args:
        codes: int64, (frames, 7).
    """
    coarse, middle, fine = (codes[:, list(slots)].reshape(-1) for slots in _LEVEL_SLOTS)
    return coarse, middle, fine


def from_levels(levels: Levels) -> Codes:
    """The codes frame by frame: the inverse of `to_levels`.

    Raises:
        ValueError: the levels are not of 1, 2 and 4 codes a frame.
    """
    frames = len(levels[0])
    codes = np.empty((frames, SLOTS), dtype=np.int64)
    for level, slots in zip(levels, _LEVEL_SLOTS, strict=True):
        codes[:, list(slots)] = level.reshape(frames, len(slots))
    return codes


class FrameAssembler:
    """Gathers the audio tokens of one segment into frames.

    Tokens that do not fit are left out rather than guessed at, and counted:

    - an id that is no audio token is skipped, and the frame goes on;
    - an audio token of another slot than the next ends its frame, of which nothing is used; with
      a token of slot 0 the next frame begins, any other waits for one. So the codes never shift;
    - a frame that the end cuts short is not used;
    - from a stop id on, nothing is taken.

    Args:
        max_dropped_tokens: left out before the segment is given up.
    """

    def __init__(self, max_dropped_tokens: int = _MAX_DROPPED_TOKENS) -> None:
        self._max_dropped = max_dropped_tokens
        self._codes: list[int] = []
        self.dropped_tokens = 0
        """Tokens left out so far."""
        self.ended = False
        """Whether a stop id has come."""

    def push(self, token_id: int) -> list[Frame]:
        """Take the next token.

        Returns:
            The frame that it completes; none otherwise.

        Raises:
            TokensOutOfOrder: more tokens did not fit than a segment may hold.
        """
        if self.ended:
            return []
        if token_id in STOP_IDS:
            self.ended = True
            return []
        slot = slot_of(token_id)
        if slot != len(self._codes):
            self._refuse(slot)
            if slot != 0:
                return []
        self._codes.append((token_id - FIRST_AUDIO_ID) % CODEBOOK_SIZE)
        if len(self._codes) < SLOTS:
            return []
        zero, one, two, three, four, five, six = self._codes
        self._codes = []
        return [(zero, one, two, three, four, five, six)]

    def flush(self) -> list[Frame]:
        """End the segment and begin afresh. A frame cut short is left out and counted.

        Returns:
            Nothing: a frame is handed out as soon as it is whole.
        """
        self.dropped_tokens += len(self._codes)
        self._codes = []
        self.ended = False
        return []

    def _refuse(self, slot: int | None) -> None:
        """Leave out a token that does not fit and, if it is audio, the frame that it breaks."""
        if slot is None:
            self.dropped_tokens += 1
        else:
            # A token of slot 0 is not lost itself: it begins a frame.
            self.dropped_tokens += len(self._codes) + (slot != 0)
            self._codes = []
        if self.dropped_tokens > self._max_dropped:
            raise TokensOutOfOrder("the voice model wrote tokens that are no speech")
