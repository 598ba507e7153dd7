"""What livekit-sip says at the end of each call about the sound that it received."""

import json
from collections.abc import Iterable

_WORDS = "call statistics"
"""Source: livekit-sip 1.8.0, pkg/sip/media.go, `Stats.Log`."""


def packets_received(log: Iterable[str]) -> dict[str, int]:
    """Packets that arrived at livekit-sip, by the call's SIP `Call-ID`.

    Args:
        log: livekit-sip's lines. Those of a call that lasts come every few minutes; the last one
            counts.
    """
    found: dict[str, int] = {}
    for line in log:
        if _WORDS not in line:
            continue
        try:
            fields = json.loads(line[line.index("{") :])
            found[fields["sipCallID"]] = int(fields["stats"]["port"]["packets"])
        except (ValueError, KeyError, TypeError):
            continue
    return found
