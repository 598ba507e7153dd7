"""Results about the telephone, and about hearing words on it, as Markdown."""

from collections.abc import Mapping
from typing import Any

from benchmark_cells import Result, ms, nearest_rank, percent, table  # beside this file


def phone(result: Result) -> list[str]:
    """Both paths, series of calls, and more and more at once."""
    summary = result["summary"]
    paths = [
        [
            path, summary[f"{prefix}turns"], ms(summary[f"{prefix}voice_to_voice_p50_s"]),
            ms(summary[f"{prefix}voice_to_voice_p95_s"]), summary[f"{prefix}cut_off"],
            percent(summary[f"{prefix}word_error_rate"]),
            percent(summary[f"{prefix}all_turns_word_error_rate"]),
        ]
        for path, prefix in (("telephone", ""), ("browser", "browser_"))
    ]  # fmt: skip
    left = ("rooms", "processes", "files", "ports")
    series = [
        [
            name, summary[key], summary[f"{key}_failed"], ms(summary[f"{key}_setup_p50_s"]),
            ms(summary[f"{key}_setup_p95_s"]), summary[f"{key}_rtp_packets"],
            summary[f"{key}_lost_rtp_packets"], *(summary[f"{key}_left_{what}"] for what in left),
        ]
        for name, key in (("one after another", "calls_in_a_row"), ("at once", "calls_at_once"))
        if summary[key] is not None
    ]  # fmt: skip
    columns = ("path", "turns", "voice to voice p50, ms", "p95", "cut off",
               "word errors, conversation, %", "all turns, %")  # fmt: skip
    return [
        table(columns, paths),
        f"Telephone less browser: {ms(summary['difference_p50_s'])} ms between the medians, "
        f"{ms(summary['difference_of_pairs_p50_s'])} ms in the median pair of the same words; "
        f"{_points(summary['word_error_points'])} points of word error over {summary['words']} "
        f"words of the conversation, {_points(summary['all_turns_word_error_points'])} over all "
        f"{summary['all_turns_words']}. From the invitation to its acceptance, p50 / p95 of "
        f"{summary['setup_calls']} calls that had the stack to themselves: "
        f"{ms(summary['answer_p50_s'])} / {ms(summary['answer_p95_s'])} ms, to the agent's first "
        f"sound {ms(summary['setup_p50_s'])} / {ms(summary['setup_p95_s'])} ms.",
        table(
            ("calls", "number", "failed", "to the first sound p50, ms", "p95", "packets", "lost",
             *(f"{what} left" for what in left)),
            series,
        ),
        "More and more calls at once, each of which hears a long answer:",
        table(
            ("calls at once", "clean", "voice to voice p50, ms", "failed", "packets lost",
             "gaps and garbled places", "late sound"),
            [_phone_step(step) for step in result["ladder"]],
        ),
    ]  # fmt: skip


def _phone_step(step: Mapping[str, Any]) -> list[object]:
    heard = step["heard"]
    waits_s = [one["voice_to_voice_s"] for one in heard if one["voice_to_voice_s"] is not None]
    return [
        step["calls"], "yes" if step["clean"] else "no",
        ms(nearest_rank(waits_s, 0.5)) if waits_s else "",
        sum(bool(one["call"]["failure"]) for one in heard),
        sum(one["call"]["lost"] for one in heard),
        sum(len(one["glitches"]) for one in heard),
        sum(len(one["late_gaps_s"]) for one in heard),
    ]  # fmt: skip


def reading(result: Result) -> list[str]:
    """What each reader gets wrong on each path."""
    rows = [
        [
            one["path"], one["reader"], one["words"], one["wrong"],
            percent(one["wrong"] / one["words"]), ms(one["spent_s"]),
        ]
        for one in result["scores"]
    ]  # fmt: skip
    columns = ("path", "reader", "words", "wrong", "%", "processor time of an utterance, ms")
    return [table(columns, rows)]


def noise(result: Result) -> list[str]:
    """What is misheard in each noise, suppressed and not."""
    lines: dict[tuple[str, int | None], dict[str, Mapping[str, Any]]] = {}
    for one in result["scores"]:
        lines.setdefault((one["noise"], one["below_db"]), {})[one["way"]] = one
    ways = list(next(iter(lines.values())))
    rows = [
        [
            noise, "" if below is None else below, found[ways[0]]["words"],
            *(percent(found[way]["wrong"] / found[way]["words"]) for way in ways),
            *(
                percent(found[way]["taken_for_speech"] / found[way]["windows"])
                if found[way]["windows"] else ""
                for way in ways
            ),
        ]
        for (noise, below), found in lines.items()
    ]  # fmt: skip
    wrong, *more_wrong = ways
    columns = (
        "noise", "below the speech, dB", "words", f"wrong, %: suppressed {wrong}", *more_wrong,
        f"noise alone taken for speech, %: {wrong}", *more_wrong,
    )  # fmt: skip
    return [table(columns, rows)]


def transfer(result: Result) -> list[str]:
    """How soon callers are put through."""
    summary = result["summary"]
    parts = ("answered", "joined", "longest_silence")
    rows = [
        [
            how, sum(one["how"] == how for one in result["transfers"]),
            *(
                ms(summary[key]) if (key := f"{how}_{part}_{of}_s") in summary else ""
                for part in parts
                for of in ("p50", "max")
            ),
        ]
        for how in ("cold", "warm")
    ]  # fmt: skip
    columns = (
        "kind", "number", "asked until the person's telephone is answered, p50, ms", "longest",
        "taken until the person hears the first sound, p50", "longest",
        "longest silence for the caller, p50", "longest",
    )  # fmt: skip
    return [table(columns, rows)]


def _points(difference: float | None) -> str:
    return "unknown" if difference is None else f"{difference:.1f}"
