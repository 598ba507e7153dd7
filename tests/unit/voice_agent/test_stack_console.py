import io
import stat
from contextlib import closing
from pathlib import Path

import pytest

from voice_agent.stack import console as console_module
from voice_agent.stack.console import Console, readable


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_lines_are_prefixed_and_logged_without_colours(tmp_path: Path) -> None:
    output = io.StringIO()
    with closing(Console(output, tmp_path / "logs")) as console:
        console.process_line("worker", "\x1b[31mred\x1b[0m alert")
        console.say("Ready: http://127.0.0.1:1")
    printed = output.getvalue().splitlines()
    assert printed[0].split("worker    | ")[1] == "\x1b[31mred\x1b[0m alert"
    assert printed[1] == "Ready: http://127.0.0.1:1"
    assert (tmp_path / "logs" / "worker.log").read_text() == "red alert\n"


def test_quiet_prints_only_our_own_lines_and_logs_all(tmp_path: Path) -> None:
    output = io.StringIO()
    with closing(Console(output, tmp_path, quiet=True)) as console:
        console.process_line("worker", "chatter")
        console.say("Stopped.")
    assert output.getvalue() == "Stopped.\n"
    assert (tmp_path / "worker.log").read_text() == "chatter\n"


def test_a_reader_who_left_does_not_stop_the_log(tmp_path: Path) -> None:
    with closing(Console(Gone(), tmp_path)) as console:
        console.process_line("worker", "one")
        console.process_line("worker", "two")
        console.say("three")
    assert (tmp_path / "worker.log").read_text() == "one\ntwo\n"


def test_logs_are_for_their_owner_alone(tmp_path: Path) -> None:
    with closing(Console(io.StringIO(), tmp_path)) as console:
        console.process_line("sip", "a telephone number")
    assert stat.S_IMODE((tmp_path / "sip.log").stat().st_mode) == 0o600


def test_a_large_log_is_set_aside_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("x" * (console_module.LOG_KEPT_BYTES + 1))
    with closing(Console(io.StringIO(), tmp_path)) as console:
        console.process_line("worker", "new")
    assert (tmp_path / "worker.log").read_text() == "new\n"
    assert (tmp_path / "worker.log.1").stat().st_size > console_module.LOG_KEPT_BYTES


def test_json_log_lines_are_readable_on_the_terminal_and_whole_in_the_log(tmp_path: Path) -> None:
    output = io.StringIO()
    line = '{"message": "registered worker", "level": "INFO", "name": "livekit", "pid": 7, "id": 3}'
    with closing(Console(output, tmp_path)) as console:
        console.process_line("worker", line)
    assert output.getvalue().rstrip().endswith("| INFO livekit registered worker id=3")
    assert (tmp_path / "worker.log").read_text() == line + "\n"


@pytest.mark.parametrize(
    "line", ["", "{", '{"message": "cut o', "plain", '{"message":' + "[" * 9999]
)
def test_a_line_that_is_no_json_record_is_shown_as_it_is(line: str) -> None:
    assert readable(line) == line


def test_a_traceback_is_shown_below_its_record() -> None:
    line = '{"message": "failed", "level": "ERROR", "name": "a", "exc_info": "Traceback\\n  x"}'
    assert readable(line) == "ERROR a failed\nTraceback\n  x"
