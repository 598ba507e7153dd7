"""What the JSON and the table say."""

import io
import json

import pytest
from rich.console import Console

from voice_agent.caller.errors import CallFailure
from voice_agent.caller.report import CallError, CallReport, Turn, latency_table
from voice_agent.turn_report import TurnStages


def turn(number: int, latency_s: float | None, **more: object) -> Turn:
    return Turn(
        turn=number, kind="voice", said=f"line {number}", voice_to_voice_s=latency_s, **more
    )  # type: ignore[arg-type]


def text_of(report: CallReport) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(latency_table(report))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_json_has_what_programs_rely_on() -> None:
    report = CallReport(turns=[turn(1, 0.5, stages=TurnStages(llm_ttft_s=0.04), reply="Yes.")])
    body = json.loads(report.model_dump_json())
    assert body["ok"] is True
    assert body["voice_to_voice_p50_s"] == body["voice_to_voice_max_s"] == 0.5
    (first,) = body["turns"]
    assert first["said"] == "line 1"
    assert first["heard_by_agent"] == ""
    assert first["reply"] == "Yes."
    assert first["voice_to_voice_s"] == 0.5
    assert first["stages"]["llm_ttft_s"] == 0.04


def test_an_error_is_not_ok() -> None:
    error = CallError(code=CallFailure.NO_ANSWER, message="no answer to turn 2", turn=2)
    body = json.loads(CallReport(errors=[error]).model_dump_json())
    assert body["ok"] is False
    assert body["errors"] == [{"code": "no_answer", "message": "no answer to turn 2", "turn": 2}]
    assert body["voice_to_voice_p50_s"] is None


def test_early_typed_and_missing_answers_are_in_no_average() -> None:
    typed = Turn(turn=4, kind="text", said="hi", text_to_voice_s=0.1)
    report = CallReport(
        turns=[turn(1, 0.4), turn(2, -0.7, answered_early=True), turn(3, None), typed, turn(5, 0.6)]
    )
    assert report.voice_to_voice_p50_s == pytest.approx(0.5)
    assert report.voice_to_voice_max_s == 0.6


def test_table_shows_every_turn_with_its_stages_and_the_summary() -> None:
    stages = TurnStages(end_of_turn_delay_s=0.3, transcription_delay_s=0.12, tts_ttfb_s=0.061)
    report = CallReport(
        turns=[
            turn(1, 0.4781, stages=stages),
            turn(2, -0.7, answered_early=True),
            turn(3, None),
            Turn(turn=4, kind="text", said="[bold]typed[/]", text_to_voice_s=0.1, interrupted=True),
        ]
    )
    text = text_of(report)
    lines = [line for line in text.splitlines() if line.strip()]
    heading = next(number for number, line in enumerate(lines) if set(line.strip()) == {"─"})
    assert max(map(len, lines)) <= 80
    rows = lines[heading + 1 :]
    assert all(value in rows[0] for value in ("478", "300", "120", "61"))
    body = " ".join(rows)
    for value in ("-700", "answered", "early", "no answer", "[bold]typed[/]", "100", "interrupted"):
        assert value in body
    assert [row.split() for row in rows if row.split()[0] in {"median", "maximum"}] == [
        ["median", "478"],
        ["maximum", "478"],
    ]
