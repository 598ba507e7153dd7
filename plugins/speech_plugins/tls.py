"""TLS contexts, made before a call needs them or not at all.

Reading the machine's certificates takes 25 ms of a quiet processor and half a second of a busy one.
It happens on the event loop, and the caller waits for the greeting meanwhile.
"""

import ssl
from functools import cache

import httpx2
from yarl import URL


def tls_context(url: str) -> ssl.SSLContext:
    """The context for requests that begin at this URL.

    For `https://` one that checks the peer against the machine's certificates; made once per
    process, so ask for it before the first call. For any other URL one that trusts nobody: it costs
    nothing, and a plain server that redirects to TLS is refused rather than believed.
    """
    if URL(url).scheme == "https":
        return _verifying()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _verifying() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
