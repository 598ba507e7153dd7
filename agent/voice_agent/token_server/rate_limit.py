"""How many tokens one address may have."""

import ipaddress
import math
import time

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from voice_agent.token_server.errors import ConfigurationError, TooManyRequests

IPV6_PREFIX_BITS = 64
"""One household or server commonly holds a whole /64, so that is what is counted."""


class RateLimit:
    """A moving window per client address, in this process's memory.

    Args:
        rate: notation of the `limits` library, such as "30/minute".

    Raises:
        ConfigurationError: the notation is not understood.
    """

    def __init__(self, rate: str) -> None:
        try:
            self._item = parse(rate)
        except ValueError:
            raise ConfigurationError(
                f"PARLEY_TOKEN_RATE={rate!r} is not a rate; write one such as 30/minute"
            ) from None
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def take(self, address: str) -> None:
        """Count one request.

        Raises:
            TooManyRequests: the address has had its share; it may try again in `retry_after_s`.
        """
        network = network_of(address)
        if self._limiter.hit(self._item, network):
            return
        reset_at = self._limiter.get_window_stats(self._item, network).reset_time
        seconds = max(1, math.ceil(reset_at - time.time()))
        raise TooManyRequests(
            f"too many calls from this address (limit {self._item}); try again later",
            retry_after_s=seconds,
        )


def network_of(address: str) -> str:
    """The address itself, or the /64 of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.is_loopback:
        return str(ipaddress.ip_network((parsed, IPV6_PREFIX_BITS), strict=False))
    return str(parsed)
