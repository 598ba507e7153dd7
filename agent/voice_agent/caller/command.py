"""`parley call`: the scripted caller at the command line."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from voice_agent.caller.conversation import Limits, Line, TypedLine, hold_conversation
from voice_agent.caller.errors import BadInput, CallerError
from voice_agent.caller.recording import Recording
from voice_agent.caller.report import CallError, CallReport, Greeting, Turn, latency_table
from voice_agent.caller.token_client import TokenRequest, fetch_ticket
from voice_agent.caller.wav import load_utterance
from voice_agent.settings import home_dir
from voice_agent.stack.running_stack import read_running_stack

DEFAULT_URL = "http://127.0.0.1:8080"
"""Where the token server listens unless told otherwise."""
MAX_TURNS = 200
"""Most turns in one call."""
MAX_TYPED_CHARS = 4000
"""Longest typed turn."""


def call(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE.wav",
            help="Recordings to speak, one turn each: PCM WAV of any usual rate, mono or stereo, "
            "up to 60 seconds. The words are taken from FILE.txt where there is one.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text", metavar="WORDS", help="Type this turn; after the files, may be repeated."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The token server.",
            show_default=f"that of the running `parley run`, else {DEFAULT_URL}",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Agent to ask for.", show_default="the server's choice"),
    ] = None,
    persona: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Persona to ask for.", show_default="the server's choice"
        ),
    ] = None,
    auth_token: Annotated[
        str | None,
        typer.Option(metavar="JWT", help="Bearer token, where the token server wants one."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="OUT.wav", help="Record the call: the caller left, the agent right."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the report here.")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1, max=600, help="Longest wait for each answer to begin."
        ),
    ] = 30.0,
    join_timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=1, max=600, help="Longest wait for the agent to join."),
    ] = 15.0,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what happens.")] = False,
) -> None:
    """Call the agent with recorded speech and measure its answers.

    Joins like a browser does, waits for the greeting, speaks each FILE in real time and waits
    for each answer to end. Prints both sides' words and, per turn, the delay from the caller's
    last audible sample to the agent's first one, as it arrives at the caller's ear.

    Exit status: 0 every turn got an audible answer; 1 not; 2 the input cannot be used.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    if not verbose:
        # LiveKit's SDK warns of each audio stream that the other side ends, as every call does
        logging.getLogger("livekit").setLevel(logging.ERROR)
    console = Console(highlight=False)
    status = 0
    recording: Recording | None = None
    try:
        _check_json_path(json_file)
        lines = _load_lines(files or [], text or [])
        recording = Recording(record) if record is not None else None
        request = TokenRequest(agent=agent, persona=persona, auth_token=auth_token)
        limits = Limits(join_s=join_timeout, answer_s=timeout)
        report = asyncio.run(
            _call(console, url or _running_url(), request, lines, limits, recording)
        )
    except CallerError as error:
        report = CallReport(errors=[CallError(code=error.code, message=error.message)])
        status = error.exit_status
    finally:
        # also after Ctrl-C: what was said is worth keeping
        _save_recording(recording)
    if recording is not None:
        report.recording = recording.path
    if report.turns:
        console.print(latency_table(report))
    _write_json(json_file, report)
    for failure in report.errors:
        typer.secho(f"Call failed: {failure.message}", fg="red", err=True)
    raise typer.Exit(status or int(not report.ok))


async def _call(
    console: Console,
    url: str,
    request: TokenRequest,
    lines: Sequence[Line],
    limits: Limits,
    recording: Recording | None,
) -> CallReport:
    def show_greeting(greeting: Greeting) -> None:
        console.print(f"[bold green]agent [/] {escape(greeting.reply or '(no words)')}")

    def show_turn(turn: Turn) -> None:
        console.print(f"[bold cyan]caller[/] {escape(turn.said)}")
        if turn.kind == "voice" and turn.heard_by_agent != turn.said:
            console.print(f"[dim]heard  {escape(turn.heard_by_agent or '(nothing)')}[/]")
        console.print(f"[bold green]agent [/] {escape(turn.reply or '(no words)')}")

    ticket = await fetch_ticket(url, request)
    return await hold_conversation(
        ticket,
        lines,
        limits,
        recording=recording,
        on_greeting=show_greeting,
        on_turn=show_turn,
    )


def _running_url() -> str:
    """The token server of the stack that runs on this machine; the usual address without one."""
    stack = read_running_stack(home_dir())
    return stack.web_url if stack is not None else DEFAULT_URL


def _load_lines(files: Sequence[Path], texts: Sequence[str]) -> list[Line]:
    """Check and load everything before the call.

    Raises:
        BadInput: a recording or a text cannot be used, or there is nothing to say.
    """
    if not files and not texts:
        raise BadInput("nothing to say: name at least one WAV file, or --text")
    if len(files) + len(texts) > MAX_TURNS:
        raise BadInput(f"more than {MAX_TURNS} turns")
    for text in texts:
        if not text.strip() or len(text) > MAX_TYPED_CHARS:
            raise BadInput(f"--text must hold 1 to {MAX_TYPED_CHARS} characters")
    return [*map(load_utterance, files), *map(TypedLine, texts)]


def _check_json_path(path: Path | None) -> None:
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise BadInput(f"--json: cannot write {path}: its folder is missing, or it is a folder")


def _write_json(path: Path | None, report: CallReport) -> None:
    if path is None or path.is_dir() or not path.parent.is_dir():
        return
    try:
        path.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        typer.secho(f"--json: cannot write {path} ({error.strerror})", fg="red", err=True)
        raise typer.Exit(2) from None


def _save_recording(recording: Recording | None) -> None:
    if recording is None or recording.is_empty:
        return
    try:
        recording.save()
    except BadInput as error:
        typer.secho(error.message, fg="red", err=True)
        raise typer.Exit(2) from None
