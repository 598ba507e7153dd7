"""Who is in the room when a call begins, found out before its session is made.

What a session does depends on it: a telephone needs no wait for an echo canceller, and the number
that was dialled may choose the persona. It costs no time of its own, since the room has to be
joined in any case and its caller is in it first.
"""

from livekit.agents import JobContext

from voice_agent.telephony.caller import PhoneCaller, phone_caller


async def phone_caller_of(job: JobContext) -> PhoneCaller | None:
    """Join the room and wait for its caller; None where that is no telephone.

    Raises:
        RuntimeError: the room was closed before anybody came.
    """
    if job.is_fake_job():  # the console
        return None
    return phone_caller(await job.wait_for_participant())
