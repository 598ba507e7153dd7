"""What can keep the stack from starting; every error says what to do about it."""


class StackError(Exception):
    """The stack cannot start or go on.

    Args:
        message: what is wrong, in one sentence.
        fix: what the reader can do about it, as a command where there is one.
    """

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\n  {self.fix}" if self.fix else self.message
