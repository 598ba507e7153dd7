"""Options that the benchmarks share, and how a command ends that cannot go on."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
"""As shells report a command that Ctrl-C ended."""
_SETTING: Final = re.compile(r"(?:PARLEY_)?([A-Za-z_]+)=(.*)", re.DOTALL)


JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the result here.")
]


def plot_option(drawn: str) -> Any:
    """`--plot`.

    Args:
        drawn: what the picture shows, for the help.
    """
    return typer.Option(metavar="FILE.png", help=f"Draw {drawn}.")


def setting_option(of: str) -> Any:
    """`--setting`, read by `parse_settings`.

    Args:
        of: whose setting it is, for the help.
    """
    return typer.Option(metavar="NAME=VALUE", help=f"A setting of {of}. May be repeated.")


def talk_option(default_s: float) -> Any:
    """`--talk`.

    Args:
        default_s: of a full run, seconds.
    """
    return typer.Option(
        metavar="SECONDS", min=2, max=600, help="Length of a round.", show_default=f"{default_s:g}"
    )


class BadOption(ValueError):
    """An option of the command cannot be used; the message says which and why."""


def parse_settings(given: Iterable[str]) -> dict[str, str]:
    """Settings of the server from `NAME=VALUE`, with or without `PARLEY_`.

    Raises:
        BadOption: not of this form.
    """
    settings = {}
    for text in given:
        found = _SETTING.fullmatch(text)
        if found is None:
            raise BadOption(f"--setting {text}: give NAME=VALUE")
        settings[found[1].lower()] = found[2]
    return settings


def parse_rising(
    option: str, text: str, most: int, *, may_be_none: bool = False
) -> tuple[int, ...]:
    """Rising numbers from 1 on, like `1,4,8`.

    Args:
        option: its name, for the message.
        text: what was given.
        most: the highest number there may be.
        may_be_none: whether `0` may be given, for no numbers.

    Raises:
        BadOption: not of this form.
    """
    if may_be_none and text.strip() == "0":
        return ()
    or_none = ", or 0 for none" if may_be_none else ""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise BadOption(
            f"{option} {text}: give whole numbers with commas, like 1,4,8{or_none}"
        ) from None
    if list(numbers) != sorted(set(numbers)) or not 1 <= numbers[0] <= numbers[-1] <= most:
        raise BadOption(
            f"{option} {text}: give rising numbers from 1 to {most}, like 1,4,8{or_none}"
        )
    return numbers


def check_outputs(json_file: Path | None, plot: Path | None) -> None:
    """See before a long run that its results can be written.

    Raises:
        BadOption: they cannot.
    """
    for option, path in (("--json", json_file), ("--plot", plot)):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise BadOption(f"{option} {path}: no such directory, or not a file")
    if plot is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            raise BadOption(f"--plot: {error}; install it with: pip install matplotlib") from error


def fail(message: str, status: int) -> NoReturn:
    """End the command."""
    typer.secho(message, fg="red", err=True)
    raise typer.Exit(status)
