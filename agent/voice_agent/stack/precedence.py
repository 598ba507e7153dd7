"""Who goes first where a machine is busy: the programs that carry sound, before all others.

A voice that comes half a second later is still heard; a packet that waits for a processor is lost.
livekit-sip throws away what it does not read within 11 packets, which is 0.2 s (livekit/media-sdk
at 966281e, rtp/session.go, `recv`). Nobody may raise a program without privileges, so the others
are lowered.
"""

import asyncio
import os
from typing import Final

_AGAIN_S: Final = 0.11
"""Linux takes one such order in 0.1 s of all users together. Source: Linux 6.18,
kernel/sched/autogroup.c, `proc_sched_autogroup_set_nice`."""
_TRIES: Final = 20


async def give_way(pid: int, niceness: int) -> None:
    """Let other programs go before one that was just started, and before all that it will start.

    `nice` alone would not do: where Linux shares processors out by session (autogroup, which is on
    by default), it only counts among programs of one session, and each of ours has its own. So the
    session is lowered as well. Source: sched(7). Nothing where the program has ended.

    Args:
        pid: the program, leader of its session.
        niceness: by how much, 0 to 19. Each step is a fifth less of what others want as well.
    """
    try:
        was = os.getpriority(os.PRIO_PROCESS, pid)
        os.setpriority(os.PRIO_PROCESS, pid, was + niceness)
    except ProcessLookupError:
        return
    for _ in range(_TRIES):
        try:
            lower_session(pid, niceness)
        except BlockingIOError:
            await asyncio.sleep(_AGAIN_S)
        except OSError:
            return  # ended, or there are no such groups: not Linux, or switched off
        else:
            return


def lower_session(pid: int, niceness: int) -> None:
    """Lower a session's share of the processors.

    Raises:
        BlockingIOError: too soon after another one.
        OSError: the program has ended, or this system does not group by session.
    """
    group = os.open(f"/proc/{pid}/autogroup", os.O_WRONLY)
    try:
        os.write(group, str(niceness).encode())
    finally:
        os.close(group)
