"""What can go wrong with `parley phone`, each with the exit status of the command.

PhoneError
├── BadInput          exit 2: refused before anything was sent
└── ServiceTrouble    exit 1: LiveKit or the telephone bridge does not do what is asked
"""

MAX_QUOTED_CHARS = 300
"""How much of another program's message is repeated."""


class PhoneError(Exception):
    """Base of this package's errors.

    Args:
        message: what is wrong, in one line, for the person at the terminal.
        fix: what to do about it; empty where the message says it.
    """

    exit_status = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\n  {self.fix}" if self.fix else self.message


class BadInput(PhoneError):
    """A file, an option or a setting cannot be used; nothing was sent."""

    exit_status = 2


class ServiceTrouble(PhoneError):
    """LiveKit, its Redis or the telephone bridge cannot be used."""


class NotConnected(ServiceTrouble):
    """No request reached LiveKit, or no bridge took it: trying another number helps nobody."""


def one_line(text: str) -> str:
    """Another program's words, fit for a terminal: one line, printable, bounded."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:MAX_QUOTED_CHARS]
