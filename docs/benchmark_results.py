"""Each kind of result in bench/results as Markdown: paragraphs and tables, in the page's order."""

import statistics
from collections.abc import Callable, Mapping, Sequence

from benchmark_cells import Result, both, mib, ms, nearest_rank, percent, table  # beside this file
from telephone_results import noise, phone, reading, transfer


def _soak(result: Result) -> list[str]:
    growth = result["growth_since_warm_up"]
    programs = [name for name in result["after"] if name != "total"]
    rows = [
        [
            name,
            *(f"{result[when][name]['processes']}" for when in ("warm", "after")),
            *(mib(result[when][name]["pss_bytes"]) for when in ("warm", "after")),
            *(f"{result[when][name]['fds']}" for when in ("warm", "after")),
        ]
        for name in (*programs, "total")
    ]
    columns = ("program", "processes, warm", "after", "MiB, warm", "after", "files, warm", "after")
    heard = f"{ms(result['voice_to_voice_p50_s'])} / {ms(result['voice_to_voice_max_s'])} ms"
    left = ", ".join(result["left_behind"]) or "nothing"
    return [
        table(columns, rows),
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
            one["streams"], *both(one["final_s"]), *both(one["interim_s"]),
            f"{one['load']['cpu_cores']:.2f}", f"{one['cost_per_stream_cores']:.3f}",
            percent(one["load"]["engine_busy"]), f"{one['load']['batch_mean']:.1f}",
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
        table(("server", *(f"{bound} s" for bound in bounds)), sustained),
        "Ours, by callers:",
        table(columns, ours),
        f"A final that was decoded ahead, p50 / p95: {reused} ms. Word error rate of streams less "
        f"that of files: {summary['wer_delta']:.2f} points over {summary['wer_words']} words. "
        f"What is full at the end: {summary['saturates']}.",
    ]


def _tts(result: Result) -> list[str]:
    summary = result["summary"]
    rounds = [
        [
            f"{one['step']:g}", one["replies"], *both(one["first_byte_s"]),
            *both(one["audible_s"]), f"{one['streams_mean']:.0f}", one["gaps"],
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
        table(columns, rounds),
        "The codec on the same tokens:",
        table(
            ("", "Parley", "reference window"),
            [[what, f"{ours:.3g}", f"{summary[theirs]:.3g}"] for what, ours, theirs in codec],
        ),
        f"Error within the opening frames: {summary['opening_error']:.3f}. Processor time of the "
        f"codec, ours by the reference's: {summary['decode_work_ratio_vs_reference']:.2f}. Tokens "
        f"made after a cancel: {summary['tokens_after_cancel']}. Silence before a reply, p95: "
        f"{ms(summary['leading_silence_p95_s'])} ms; of the tests' tiny voice: "
        f"{ms(summary['leading_silence_tiny_voice_p95_s'])} ms.",
    ]


def _turns(result: Result) -> list[str]:
    rows = [
        [
            one["part"].replace("_", " "), one["rule"], one["turns"], one["cut_off"],
            percent(one["cut_off_rate"]), percent(one["pauses_cut_off"] / one["pauses_turns"]),
            *(ms(one[name]) for name in ("delay_p50_s", "delay_p95_s", "trailing_p50_s")),
        ]
        for one in result["results"]
    ]  # fmt: skip
    columns = ("part", "rule", "turns", "cut off", "%", "% of those with pauses",
               "delay p50, ms", "p95", "unfinished p50")  # fmt: skip
    threshold = result["conditions"]["threshold"]
    return [table(columns, rows), f"Threshold of our score: {threshold:g}."]


def _llm(result: Result) -> list[str]:
    prompts = {"unknown": result["cold"], "known": result["cached"]}
    prompts |= {f"known, cache filled, {how}": a for how, a in result["under_pressure"].items()}
    rows = []
    for name, answers in prompts.items():
        ttft_s = [answer["ttft_s"] for answer in answers]
        tokens = sum(answer["prompt_tokens"] for answer in answers)
        cached = sum(answer["cached_tokens"] for answer in answers)
        rows.append([name, len(answers), percent(cached / tokens),
                     *(ms(nearest_rank(ttft_s, share)) for share in (0.5, 0.95))])  # fmt: skip
    loads = [
        [
            load["callers"], load["answers"], load["refused"], *both(load["ttft_s"]),
            ms(load["gap_s"]["p50"]), ms(load["gap_s"]["p99"]), ms(load["jitter_s"]),
            percent(load["cached_share"]), f"{load['tokens_per_s']:.0f}",
        ]
        for load in result["loads"]
    ]  # fmt: skip
    asked = result["conditions"]
    return [
        f"Server: {asked['server']}; prompts of {asked['prompt_tokens']} tokens, answers of "
        f"{asked['answer_tokens']}.",
        table(("prompt", "answers", "tokens cached, %", "TTFT p50, ms", "p95"), rows),
        table(
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
        return f"{ms(statistics.median(waits_s))} / {ms(max(waits_s))}"

    waits = result["waits_s"]
    fates = list(next(iter(waits.values())))
    rows = [[name, *(cell(by_fate[fate]) for fate in fates)] for name, by_fate in waits.items()]
    return [
        table(("silence until the …, ms, median / longest", *fates), rows),
        f"{result['rounds']} trials of each.",
    ]


def _call(result: Result) -> list[str]:
    rates = ("false_cutoff_rate", "audible_cutoff_rate", "split_turn_rate", "lost_turn_rate")
    wirings, groups = [], []
    for row in result["wirings"]:
        name = f"{row['wiring']}{', SIMULATED engines' if row['simulated'] else ''}"
        over = ("backchannels_ignored_rate", "backchannels_survived_rate")
        wirings.append([
            name, len(row["turns"]), *both(row["voice_to_voice_s"]),
            *(percent(row[rate]) for rate in rates), *both(row["barge_in_stop_s"]),
            *(percent(row[rate]) for rate in over), *both(row["backchannel_break_s"]),
        ])  # fmt: skip
        groups += [
            [name, group.replace("_", " "), found["turns"], *both(found["voice_to_voice_s"]),
             *(percent(found[rate]) for rate in rates)]
            for group, found in (row["by_kind"] | row["by_part"]).items()
        ]  # fmt: skip
    shares = ("false cut-offs, %", "heard, %", "split, %", "lost, %")
    ratios = [result["summary"][f"ratio_{name}_vs_stock"] for name in ("p50", "p95")]
    known = [f"{ratio:.2f}" for ratio in ratios if ratio is not None]
    return [
        table(
            ("wiring", "turns", "voice to voice p50, ms", "p95", *shares,
             "barge-in p50, ms", "p95", "hums ignored, %", "survived, %",
             "break p50, ms", "p95"),
            wirings,
        ),
        *([f"Ours by stock, p50 and p95: {' and '.join(known)}."] if len(known) == 2 else []),
        "By kind of turn and part of the recorded set:",
        table(("wiring", "what", "turns", "p50, ms", "p95", *shares), groups),
    ]  # fmt: skip


def _load(result: Result) -> list[str]:
    rows = [
        [
            cost["calls"], f"{cost['cpu_cores_per_call']:.3f}", mib(cost["pss_bytes_per_call"]),
            *both(cost["voice_to_voice_s"]), cost["turns"], cost["failed_calls"],
            f"{percent(cost['machine_busy'])}{' (full)' if cost['saturated'] else ''}",
            f"{cost['caller_cores']:.2f}",
        ]
        for cost in result["worker_cost"]
    ]  # fmt: skip
    columns = ("calls at once", "cores a call", "MiB a call", "voice to voice p50, ms", "p95",
               "turns", "calls failed", "machine busy, %", "cores of the callers")  # fmt: skip
    return [table(columns, rows)]


RENDERERS: Mapping[str, Callable[[Result], list[str]]] = {
    "soak": _soak,
    "stt-cpu": _stt,
    "tts-cpu": _tts,
    "turns": _turns,
    "llm-cpu": _llm,
    "fallback-cpu": _fallback,
    "call-cpu": _call,
    "call-load": _load,
    "phone-cpu": phone,
    "transfer-cpu": transfer,
    "reading": reading,
    "noise": noise,
}
"""By the name of the file in bench/results, without its ending."""
