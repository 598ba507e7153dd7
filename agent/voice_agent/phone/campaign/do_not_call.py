"""The list of people who must not be called: a text file, one number a line, `#` for comments.

It is read again before a call whenever it has changed, so that who is added while a campaign runs
is not called any more; who asks in a call is added to it.
"""

from pathlib import Path

from voice_agent.phone.campaign.call_list import read_text
from voice_agent.phone.errors import BadInput
from voice_agent.phone.numbers import is_e164


class DoNotCallList:
    """One file.

    Args:
        path: the file; it must exist, if only empty, so that a wrong name is found out.

    Raises:
        BadInput: it cannot be read or has a mistake.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._numbers: set[str] = set()
        self._read_if_changed()

    def __contains__(self, number: str) -> bool:
        """Whether the number must not be called.

        Raises:
            BadInput: the file cannot be read any more, or has a mistake now.
        """
        self._read_if_changed()
        return number in self._numbers

    def add(self, number: str) -> None:
        """Write a number down at the end of the file.

        Raises:
            BadInput: the file cannot be written.
        """
        if number in self:
            return
        try:
            with self._path.open("rb+") as file:
                raw = file.read()
                file.write(b"" if raw.endswith(b"\n") or not raw else b"\n")
                file.write(f"{number}\n".encode())
        except OSError as error:
            raise BadInput(f"{self._path}: {error.strerror or error}") from error
        self._numbers.add(number)

    def _read_if_changed(self) -> None:
        try:
            status = self._path.stat()
        except OSError as error:
            raise BadInput(
                f"{self._path}: {error.strerror or error}",
                "The list of who must not be called has to exist; it may be empty.",
            ) from error
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._numbers = self._parse()
            self._stamp = stamp

    def _parse(self) -> set[str]:
        numbers = set()
        for line, text in enumerate(read_text(self._path).splitlines(), start=1):
            number = text.partition("#")[0].strip()
            if number and not is_e164(number):
                raise BadInput(
                    f"{self._path}: line {line}: must be a number in E.164 form such as "
                    "+14155550100, or a comment behind #"
                )
            if number:
                numbers.add(number)
        return numbers
