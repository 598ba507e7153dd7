"""Each kind of result in bench/results as Markdown: paragraphs and tables, in the page's order."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]
"""A file of bench/results."""


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def _ms(value_s: float | None) -> str:
    return "never" if value_s is None else f"{1000 * value_s:.0f}"


def _both(found: Mapping[str, float | None] | None) -> list[str]:
    """p50 and p95 in milliseconds; nothing was measured where there is no set of them."""
    return ["", ""] if found is None else [_ms(found["p50"]), _ms(found["p95"])]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _mib(value_bytes: float) -> str:
    return f"{value_bytes / 2**20:.0f}"


def _nearest_rank(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


def _soak(result: Result) -> list[str]:
    growth = result["growth_since_warm_up"]
    programs = [name for name in result["after"] if name != "total"]
    rows = [
        [
            name,
            *(f"{result[when][name]['processes']}" for when in ("warm", "after")),
            *(_mib(result[when][name]["pss_bytes"]) for when in ("warm", "after")),
            *(f"{result[when][name]['fds']}" for when in ("warm", "after")),
        ]
        for name in (*programs, "total")
    ]
    columns = ("program", "processes, warm", "after", "MiB, warm", "after", "files, warm", "after")
    heard = f"{_ms(result['voice_to_voice_p50_s'])} / {_ms(result['voice_to_voice_max_s'])} ms"
    left = ", ".join(result["left_behind"]) or "nothing"
    return [
        _table(columns, rows),
        f"{result['calls']} calls, {len(result['failures'])} failed. Left behind: {left}; grown by "
        f"{growth['processes']} processes, {growth['pss_bytes'] / 2**20:.1f} MiB and "
        f"{growth['fds']} open files. Voice to voice, median / longest: {heard}.",
    ]


def _stt(result: Result) -> list[str]:
    summary, rounds = result["summary"], result["rounds"]
    by_bound = summary["streams_sustained_by_bound"]
    bounds = list(next(iter(by_bound.values())))
    most = {
        system: max(r["streams"] for r in rounds if r["system"] == system) for system in by_bound
    }
    sustained = [
        [system, *(f"{n} or more" if n == most[system] else n for n in found.values())]
        for system, found in by_bound.items()
    ]
    ours = [
        [
            one["streams"], *_both(one["final_s"]), *_both(one["interim_s"]),
            f"{one['load']['cpu_cores']:.2f}", f"{one['cost_per_stream_cores']:.3f}",
            _percent(one["load"]["engine_busy"]), f"{one['load']['batch_mean']:.1f}",
        ]
        for one in rounds if one["system"] == "parley"
    ]  # fmt: skip
    columns = ("callers", "final p50, ms", "p95", "interim p50", "p95", "cores", "a caller",
               "engine busy, %", "mean batch")  # fmt: skip
    reused = (
        f"{1000 * summary['reused_final_p50_s']:.1f} / {1000 * summary['reused_final_p95_s']:.1f}"
    )
    return [
        "Callers sustained when 95 % of the finals must come within …:",
        _table(("server", *(f"{bound} s" for bound in bounds)), sustained),
        "Ours, by callers:",
        _table(columns, ours),
        f"A final that was decoded ahead, p50 / p95: {reused} ms. Word error rate of streams less "
        f"that of files: {summary['wer_delta']:.2f} points over {summary['wer_words']} words. "
        f"What is full at the end: {summary['saturates']}.",
    ]


def _tts(result: Result) -> list[str]:
    summary = result["summary"]
    rounds = [
        [
            f"{one['step']:g}", one["replies"], *_both(one["first_byte_s"]),
            *_both(one["audible_s"]), f"{one['streams_mean']:.0f}", one["gaps"],
            f"{one['load']['cpu_cores']:.2f}",
        ]
        for one in result["rounds"] if one["system"] == "parley"
    ]  # fmt: skip
    columns = ("replies a second", "heard", "first byte p50, ms", "p95", "audible p50", "p95",
               "at once", "gaps", "cores")  # fmt: skip
    codec = [
        ["largest error against a full decode", summary["max_stream_error"], "reference_max_error"],
        ["frames lost", summary["frames_lost"], "reference_frames_lost"],
        ["streams whose codec one core keeps up with", summary["realtime_streams_per_core"],
         "reference_realtime_streams_per_core"],
        ["tokens before the first audio", summary["tokens_before_first_audio"],
         "reference_tokens_before_first_audio"],
        ["listeners without a gap", summary["parley_codes_streams_sustained"],
         "reference_codes_streams_sustained"],
        ["audible, one listener, p50, s", summary["parley_codes_audible_p50_s"],
         "reference_codes_audible_p50_s"],
    ]  # fmt: skip
    return [
        _table(columns, rounds),
        "The codec on the same tokens:",
        _table(
            ("", "Parley", "reference window"),
            [[what, f"{ours:.3g}", f"{summary[theirs]:.3g}"] for what, ours, theirs in codec],
        ),
        f"Error within the opening frames: {summary['opening_error']:.3f}. Processor time of the "
        f"codec, ours by the reference's: {summary['decode_work_ratio_vs_reference']:.2f}. Tokens "
        f"made after a cancel: {summary['tokens_after_cancel']}. Silence before a reply, p95: "
        f"{_ms(summary['leading_silence_p95_s'])} ms; of the tests' tiny voice: "
        f"{_ms(summary['leading_silence_tiny_voice_p95_s'])} ms.",
    ]


def _turns(result: Result) -> list[str]:
    rows = [
        [
            one["part"].replace("_", " "), one["rule"], one["turns"], one["cut_off"],
            _percent(one["cut_off_rate"]), _percent(one["pauses_cut_off"] / one["pauses_turns"]),
            *(_ms(one[name]) for name in ("delay_p50_s", "delay_p95_s", "trailing_p50_s")),
        ]
        for one in result["results"]
    ]  # fmt: skip
    columns = ("part", "rule", "turns", "cut off", "%", "% of those with pauses",
               "delay p50, ms", "p95", "unfinished p50")  # fmt: skip
    threshold = result["conditions"]["threshold"]
    return [_table(columns, rows), f"Threshold of our score: {threshold:g}."]


def _llm(result: Result) -> list[str]:
    prompts = {"unknown": result["cold"], "known": result["cached"]}
    prompts |= {f"known, cache filled, {how}": a for how, a in result["under_pressure"].items()}
    rows = []
    for name, answers in prompts.items():
        ttft_s = [answer["ttft_s"] for answer in answers]
        tokens = sum(answer["prompt_tokens"] for answer in answers)
        cached = sum(answer["cached_tokens"] for answer in answers)
        rows.append([name, len(answers), _percent(cached / tokens),
                     *(_ms(_nearest_rank(ttft_s, share)) for share in (0.5, 0.95))])  # fmt: skip
    loads = [
        [
            load["callers"], load["answers"], load["refused"], *_both(load["ttft_s"]),
            _ms(load["gap_s"]["p50"]), _ms(load["gap_s"]["p99"]), _ms(load["jitter_s"]),
            _percent(load["cached_share"]), f"{load['tokens_per_s']:.0f}",
        ]
        for load in result["loads"]
    ]  # fmt: skip
    asked = result["conditions"]
    return [
        f"Server: {asked['server']}; prompts of {asked['prompt_tokens']} tokens, answers of "
        f"{asked['answer_tokens']}.",
        _table(("prompt", "answers", "tokens cached, %", "TTFT p50, ms", "p95"), rows),
        _table(
            ("callers at once", "answers", "refused", "TTFT p50, ms", "p95", "between tokens p50",
             "p99", "jitter", "tokens cached, %", "tokens a second"),
            loads,
        ),
        f"TTFT of a known prompt by that of an unknown one: "
        f"{result['summary']['ttft_cached_ratio']:.3f}.",
        *_left(result.get("after_leaving", ())),
    ]  # fmt: skip


def _left(tokens: Sequence[int]) -> list[str]:
    if not tokens:
        return []
    return [
        f"Tokens generated for {len(tokens)} callers who hung up in the middle of an answer of "
        f"400: {statistics.fmean(tokens):.1f} on average, {max(tokens)} at most."
    ]


def _fallback(result: Result) -> list[str]:
    def cell(waits_s: Sequence[float]) -> str:
        return f"{_ms(statistics.median(waits_s))} / {_ms(max(waits_s))}"

    waits = result["waits_s"]
    fates = list(next(iter(waits.values())))
    rows = [[name, *(cell(by_fate[fate]) for fate in fates)] for name, by_fate in waits.items()]
    return [
        _table(("silence until the …, ms, median / longest", *fates), rows),
        f"{result['rounds']} trials of each.",
    ]


def _call(result: Result) -> list[str]:
    rates = ("false_cutoff_rate", "audible_cutoff_rate", "split_turn_rate", "lost_turn_rate")
    wirings, groups = [], []
    for row in result["wirings"]:
        name = f"{row['wiring']}{', SIMULATED engines' if row['simulated'] else ''}"
        over = ("backchannels_ignored_rate", "backchannels_survived_rate")
        wirings.append([
            name, len(row["turns"]), *_both(row["voice_to_voice_s"]),
            *(_percent(row[rate]) for rate in rates), *_both(row["barge_in_stop_s"]),
            *(_percent(row[rate]) for rate in over), *_both(row["backchannel_break_s"]),
        ])  # fmt: skip
        groups += [
            [name, group.replace("_", " "), found["turns"], *_both(found["voice_to_voice_s"]),
             *(_percent(found[rate]) for rate in rates)]
            for group, found in (row["by_kind"] | row["by_part"]).items()
        ]  # fmt: skip
    shares = ("false cut-offs, %", "heard, %", "split, %", "lost, %")
    ratios = [result["summary"][f"ratio_{name}_vs_stock"] for name in ("p50", "p95")]
    known = [f"{ratio:.2f}" for ratio in ratios if ratio is not None]
    return [
        _table(
            ("wiring", "turns", "voice to voice p50, ms", "p95", *shares,
             "barge-in p50, ms", "p95", "hums ignored, %", "survived, %",
             "break p50, ms", "p95"),
            wirings,
        ),
        *([f"Ours by stock, p50 and p95: {' and '.join(known)}."] if len(known) == 2 else []),
        "By kind of turn and part of the recorded set:",
        _table(("wiring", "what", "turns", "p50, ms", "p95", *shares), groups),
    ]  # fmt: skip


def _load(result: Result) -> list[str]:
    rows = [
        [
            cost["calls"], f"{cost['cpu_cores_per_call']:.3f}", _mib(cost["pss_bytes_per_call"]),
            *_both(cost["voice_to_voice_s"]), cost["turns"], cost["failed_calls"],
            f"{_percent(cost['machine_busy'])}{' (full)' if cost['saturated'] else ''}",
            f"{cost['caller_cores']:.2f}",
        ]
        for cost in result["worker_cost"]
    ]  # fmt: skip
    columns = ("calls at once", "cores a call", "MiB a call", "voice to voice p50, ms", "p95",
               "turns", "calls failed", "machine busy, %", "cores of the callers")  # fmt: skip
    return [_table(columns, rows)]


def _phone(result: Result) -> list[str]:
    summary = result["summary"]
    paths = [
        [
            path, summary[f"{prefix}turns"], _ms(summary[f"{prefix}voice_to_voice_p50_s"]),
            _ms(summary[f"{prefix}voice_to_voice_p95_s"]), summary[f"{prefix}cut_off"],
            _percent(summary[f"{prefix}word_error_rate"]),
            _percent(summary[f"{prefix}all_turns_word_error_rate"]),
        ]
        for path, prefix in (("telephone", ""), ("browser", "browser_"))
    ]  # fmt: skip
    left = ("rooms", "processes", "files", "ports")
    series = [
        [
            name, summary[key], summary[f"{key}_failed"], _ms(summary[f"{key}_setup_p50_s"]),
            _ms(summary[f"{key}_setup_p95_s"]), summary[f"{key}_rtp_packets"],
            summary[f"{key}_lost_rtp_packets"], *(summary[f"{key}_left_{what}"] for what in left),
        ]
        for name, key in (("one after another", "calls_in_a_row"), ("at once", "calls_at_once"))
        if summary[key] is not None
    ]  # fmt: skip
    columns = ("path", "turns", "voice to voice p50, ms", "p95", "cut off",
               "word errors, conversation, %", "all turns, %")  # fmt: skip
    return [
        _table(columns, paths),
        f"Telephone less browser: {_ms(summary['difference_p50_s'])} ms between the medians, "
        f"{_ms(summary['difference_of_pairs_p50_s'])} ms in the median pair of the same words; "
        f"{_points(summary['word_error_points'])} points of word error over {summary['words']} "
        f"words of the conversation, {_points(summary['all_turns_word_error_points'])} over all "
        f"{summary['all_turns_words']}. From the invitation to its acceptance, p50 / p95 of "
        f"{summary['setup_calls']} calls that had the stack to themselves: "
        f"{_ms(summary['answer_p50_s'])} / {_ms(summary['answer_p95_s'])} ms, to the agent's first "
        f"sound {_ms(summary['setup_p50_s'])} / {_ms(summary['setup_p95_s'])} ms.",
        _table(
            ("calls", "number", "failed", "to the first sound p50, ms", "p95", "packets", "lost",
             *(f"{what} left" for what in left)),
            series,
        ),
        "More and more calls at once, each of which hears a long answer:",
        _table(
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
        _ms(_nearest_rank(waits_s, 0.5)) if waits_s else "",
        sum(bool(one["call"]["failure"]) for one in heard),
        sum(one["call"]["lost"] for one in heard),
        sum(len(one["glitches"]) for one in heard),
        sum(len(one["late_gaps_s"]) for one in heard),
    ]  # fmt: skip


def _points(difference: float | None) -> str:
    return "unknown" if difference is None else f"{difference:.1f}"


RENDERERS: Mapping[str, Callable[[Result], list[str]]] = {
    "soak": _soak,
    "stt-cpu": _stt,
    "tts-cpu": _tts,
    "turns": _turns,
    "llm-cpu": _llm,
    "fallback-cpu": _fallback,
    "call-cpu": _call,
    "call-load": _load,
    "phone-cpu": _phone,
}
"""By the name of the file in bench/results, without its ending."""
