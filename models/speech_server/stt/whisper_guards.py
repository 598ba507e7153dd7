"""Tells what Whisper heard from what it made up. Pure: numbers and text in, a judgement out.

Whisper writes fluent sentences into silence and noise, and on a window shorter than the 30 s that
it was trained on it may not know when to stop. No single sign is enough:

- *No speech*: the probability of `<|nospeech|>` above 0.6 together with an average log probability
  below -1.0. Source: Radford et al. 2022, "Robust Speech Recognition via Large-Scale Weak
  Supervision" (arXiv:2212.04356), section 4.5; the numbers are also OpenAI's defaults.
- *Log probability* below -1.0: unsure. Same source.
- *Compression ratio* above 2.4 (bytes of the text to bytes after zlib): repetitive. Same source.
- *Repetition*: one phrase many times in a row; see `loops`.
- *Length against duration*: more text than anybody can say in the time. Source: Coupé et al. 2019,
  "Different languages, similar encoding efficiency" (doi:10.1126/sciadv.aaw2594): speakers of 17
  languages stay below about 9 syllables a second; with 3 characters a syllable and the spaces
  that is 30 characters a second.
"""

import re
import zlib
from typing import Final, Literal

from speech_server.stt.loops import without_loops

NO_SPEECH_PROBABILITY: Final = 0.6
LOG_PROBABILITY: Final = -1.0
COMPRESSION_RATIO: Final = 2.4
MAX_CHARS_PER_S: Final = 30.0
_FREE_CHARS: Final = 6
"""What may be said "in no time": the ends of a word lie outside of what was cut as speech."""
_LOOP_OF_CHARACTERS: Final = re.compile(r"(.{1,30}?)\1{7,}", re.DOTALL)
"""For scripts that put no spaces between words."""

Doubt = Literal["no_speech", "log_probability", "compression_ratio", "repetition", "length"]


def is_silence(no_speech: float, log_probability: float) -> bool:
    """Whether the model itself says that nobody spoke.

    Args:
        no_speech: probability of `<|nospeech|>`.
        log_probability: mean over the tokens.
    """
    return no_speech > NO_SPEECH_PROBABILITY and log_probability < LOG_PROBABILITY


def doubt(text: str, no_speech: float, log_probability: float, duration_s: float) -> Doubt | None:
    """Why a text should not be taken as it is; None where nothing speaks against it.

    Args:
        text: what the model wrote.
        no_speech: probability of `<|nospeech|>`.
        log_probability: mean over the tokens.
        duration_s: length of the audio without padding, seconds.
    """
    if not text:
        return None
    if is_silence(no_speech, log_probability):
        return "no_speech"
    if is_too_long(text, duration_s):
        return "length"
    if compression_ratio(text) > COMPRESSION_RATIO:
        return "compression_ratio"
    if without_loops(text) != text:
        return "repetition"
    if log_probability < LOG_PROBABILITY:
        return "log_probability"
    return None


def settle(text: str, no_speech: float, log_probability: float, duration_s: float) -> str:
    """What to keep of a doubted text when there is nothing more to look at.

    A loop is cut to one round where a second sign agrees that it is one: a caller may well have
    said the same thing again. A text too long to have been said is no transcript at all. One that
    the model is merely unsure of is kept; its confidence says so.

    Args:
        text: what the model wrote.
        no_speech: probability of `<|nospeech|>`.
        log_probability: mean over the tokens.
        duration_s: length of the audio without padding, seconds.
    """
    if is_silence(no_speech, log_probability):
        return ""
    if is_too_long(text, duration_s) or compression_ratio(text) > COMPRESSION_RATIO:
        text = _LOOP_OF_CHARACTERS.sub(r"\1", without_loops(text))
    return "" if is_too_long(text, duration_s) else text


def compression_ratio(text: str) -> float:
    """Bytes of the text to its bytes after zlib; 0 for no text."""
    data = text.encode()
    return len(data) / len(zlib.compress(data)) if data else 0.0


def is_too_long(text: str, duration_s: float) -> bool:
    """Whether nobody could say the text in this many seconds."""
    return len(text) > _FREE_CHARS + MAX_CHARS_PER_S * duration_s
