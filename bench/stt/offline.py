"""What our server hears in the same recordings given as files: the yardstick of its finals."""

import json
import urllib.request
from collections.abc import Iterable
from typing import Final

from bench.stt.recordings import RATE_HZ, Recording, silent_frames

QUIET_S: Final = 0.5
"""In front of and behind the speech, as streams have it too."""
_TIMEOUT_S: Final = 60.0


def decode_offline(url: str, recordings: Iterable[Recording]) -> dict[str, str]:
    """Decode recordings one after the other through `POST /v1/listen`.

    Args:
        url: of our speech server.
        recordings: what to decode.

    Returns:
        The words by the recording's name.
    """
    quiet = b"".join(silent_frames(QUIET_S))
    return {recording.name: _decode(url, quiet + recording.pcm + quiet) for recording in recordings}


def _decode(url: str, pcm: bytes) -> str:
    request = urllib.request.Request(
        f"{url}/v1/listen?encoding=linear16&sample_rate={RATE_HZ}&language=en",
        data=pcm,
        headers={"Content-Type": "application/octet-stream"},
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        results = json.load(answer)["results"]
    return str(results["channels"][0]["alternatives"][0]["transcript"])
