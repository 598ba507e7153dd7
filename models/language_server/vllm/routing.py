"""Which copy of the model answers: the one that has this call's history in its cache.

Rendezvous hashing: each call ranks the copies by a hash of both names, so that a copy that goes or
comes moves only its own calls. A call whose copy is full or gone goes to the next in its ranking
and pays one computation of its prompt.
"""

import hashlib
from collections.abc import Sequence

from language_server.errors import Overloaded, Unavailable
from language_server.vllm.admission import Class
from language_server.vllm.replica import Replica


def choose(replicas: Sequence[Replica], session: str | None, kind: Class) -> Replica:
    """The copy of the model for a request.

    Args:
        replicas: all copies.
        session: what the requests of one call have in common; None spreads by load.
        kind: class of the request.

    Raises:
        Unavailable: none is loaded.
        Overloaded: none has a place for this class.
    """
    ready = [replica for replica in replicas if replica.ready]
    if not ready:
        told = "; ".join(f"{replica.name}: {replica.state}" for replica in replicas)
        raise Unavailable(f"the model is not ready ({told}); try again")
    free = [replica for replica in ready if replica.places.has_room(kind)]
    if not free:
        raise Overloaded(
            f"as many requests as may be ({kind}) are being answered; try again, or elsewhere"
        )
    if session is None:
        return min(free, key=lambda replica: replica.places.taken)
    return max(free, key=lambda replica: _rank(session, replica.name))


def _rank(session: str, name: str) -> bytes:
    return hashlib.sha256(f"{session}\0{name}".encode()).digest()
