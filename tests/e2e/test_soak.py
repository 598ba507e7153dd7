"""A few calls one after another: nothing of them stays. `make bench` does fifty."""

import pytest

from bench.soak import soak
from tests.stack import Stack
from voice_agent.stack.running_stack import read_running_stack


@pytest.mark.timeout(300)
async def test_calls_leave_no_process_and_no_room_behind(stack: Stack) -> None:
    running = read_running_stack(stack.home)
    assert running is not None
    hours = ("--text", "What are your opening hours?")
    report = await soak(running, stack.home, calls=3, arguments=hours, warm_up=1)
    assert not report.failures, "\n".join(report.failures)
    assert not report.left_behind
