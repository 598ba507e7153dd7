import platform

import pytest

from speech_server.memory import return_freed_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_glibc_takes_the_parameters() -> None:
    assert return_freed_memory()


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert not return_freed_memory()
