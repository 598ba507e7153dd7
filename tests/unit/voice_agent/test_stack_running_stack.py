from pathlib import Path

import pytest

from voice_agent.stack.errors import StackError
from voice_agent.stack.running_stack import (
    STACK_FILE,
    RunningStack,
    only_stack,
    publish,
    read_running_stack,
)

STACK = RunningStack(
    pid=1,
    web_url="http://127.0.0.1:8080",
    livekit_url="ws://127.0.0.1:7880",
    speech_url="http://127.0.0.1:8090",
    llm_url="http://127.0.0.1:8091/v1",
    llm_model="m",
    worker_url="http://127.0.0.1:8081",
    metrics_url=None,
    processes={"worker": 2},
)


def test_what_was_published_is_read_while_it_runs(tmp_path: Path) -> None:
    with only_stack(tmp_path):
        assert read_running_stack(tmp_path) is None
        publish(tmp_path, STACK)
        assert read_running_stack(tmp_path) == STACK
    assert read_running_stack(tmp_path) is None
    assert not (tmp_path / STACK_FILE).exists()


def test_a_second_stack_is_told_where_the_first_is(tmp_path: Path) -> None:
    with only_stack(tmp_path):
        publish(tmp_path, STACK)
        with (
            pytest.raises(StackError, match=r"at http://127.0.0.1:8080 \(pid 1\)"),
            only_stack(tmp_path),
        ):
            raise AssertionError
        assert read_running_stack(tmp_path) == STACK


def test_what_a_killed_stack_left_behind_is_not_believed(tmp_path: Path) -> None:
    publish(tmp_path, STACK)
    assert read_running_stack(tmp_path) is None
    with only_stack(tmp_path):
        assert read_running_stack(tmp_path) is None


def test_a_damaged_description_is_no_description(tmp_path: Path) -> None:
    with only_stack(tmp_path):
        (tmp_path / STACK_FILE).write_text('{"pid": "x"')
        assert read_running_stack(tmp_path) is None


def test_no_home_is_no_stack(tmp_path: Path) -> None:
    assert read_running_stack(tmp_path / "nowhere") is None
