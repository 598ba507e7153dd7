"""How often the plugins of a test try, and how long."""

from livekit.agents import APIConnectOptions

FAST = APIConnectOptions(max_retry=2, retry_interval=0.01, timeout=2.0)
ONCE = APIConnectOptions(max_retry=0, timeout=2.0)
