"""How much work, and how exact, streaming through SNAC is; the reference's window beside it.

    python -m bench.tts.snac_work [--model DIR] [--codes FILE] [--json FILE]

The reference is Orpheus's own streaming decoder (orpheus_tts/decoder.py of orpheus-speech 0.1.0):
for every new frame from the fourth on it decodes the last four and hands out the second. Both run
on the same loaded model, on the same codes, turn by turn; processor time of this thread is counted.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from speech_server.audio.pcm import PcmFloat
from speech_server.tts.orpheus_codes import (
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    SLOTS,
    Codes,
    Frame,
    codes_of,
)
from speech_server.tts.snac_decoder import SnacDecoder, load_snac
from speech_server.tts.snac_stream import CONTEXT_FRAMES, Pace, SnacStream, Window

TINY_VOICE: Final = Path(__file__).parents[2] / "tests" / "fixtures" / "tiny_voice"
REFERENCE_FRAMES: Final = 4
FRAME_S: Final = FRAME_SAMPLES / SAMPLE_RATE_HZ


@dataclass
class Heard:
    """What came of one reply."""

    audio: PcmFloat
    cpu_s: float
    first_after: int = 0
    """Frames that had come when the first audio did."""
    opening: int = 0
    """Frames up to the last one decoded with less than the whole context."""


def ours(snac: SnacDecoder, codes: Codes, pace: Pace) -> Heard:
    """Frames come one by one, as tokens do."""
    count = opening = 0
    come = False

    def decode(window: Window) -> PcmFloat:
        nonlocal opening
        if window.right < CONTEXT_FRAMES and not come:
            opening = count - window.right
        return snac.decode(window)

    stream = SnacStream(decode, pace)
    frames: list[Frame] = [tuple(frame) for frame in codes.tolist()]
    began = time.thread_time()
    pieces: list[PcmFloat] = []
    first_after = 0
    for count, frame in enumerate(frames, 1):
        pieces += stream.push([frame])
        if pieces and not first_after:
            first_after = count
    come = True
    pieces += stream.flush()
    cpu_s = time.thread_time() - began
    return Heard(np.concatenate(pieces), cpu_s, first_after or len(frames), opening)


def reference(snac: SnacDecoder, codes: Codes) -> Heard:
    """The reference's window and order of work."""
    began = time.thread_time()
    pieces = [
        snac.decode(Window(codes[end - REFERENCE_FRAMES : end]))[FRAME_SAMPLES : 2 * FRAME_SAMPLES]
        for end in range(REFERENCE_FRAMES, len(codes) + 1)
    ]
    cpu_s = time.thread_time() - began
    audio = np.concatenate([*pieces, np.zeros(0, dtype=np.float32)])
    return Heard(audio, cpu_s, min(REFERENCE_FRAMES, len(codes)))


def reference_error(snac: SnacDecoder, codes: Codes) -> float:
    """Largest error of the frames that the reference hands out."""
    heard = reference(snac, codes).audio
    full = snac.decode(Window(codes))
    return largest(heard - full[FRAME_SAMPLES : FRAME_SAMPLES + len(heard)])


def largest(error: PcmFloat) -> float:
    return float(np.abs(error).max(initial=0.0))


def look_ahead_error(snac: SnacDecoder, codes: Codes, look_ahead: int) -> dict[str, float]:
    """What a frame loses that is decoded with less to come, over all frames of a reply."""
    full = snac.decode(Window(codes))
    errors, steps = [], []
    for index in range(len(codes) - CONTEXT_FRAMES):
        left = min(CONTEXT_FRAMES, index)
        window = Window(codes[index - left : index + 1 + look_ahead], left, look_ahead)
        wanted = full[index * FRAME_SAMPLES : (index + 1) * FRAME_SAMPLES]
        error = snac.decode(window) - wanted
        errors.append(error)
        steps.append(abs(float(error[-1])))
    loudness = float(np.sqrt(np.square(full).mean()))
    return {
        "max": max(largest(error) for error in errors),
        "rms_relative": float(np.sqrt(np.square(errors).mean())) / loudness,
        "seam_step_without_fade_max": max(steps),
        "seam_step_without_fade_p50": statistics.median(steps),
    }


def seam_step(snac: SnacDecoder, codes: Codes, pace: Pace) -> float:
    """By how much the largest jump between two samples at a seam differs from the full decode's."""
    heard = ours(snac, codes, pace)
    full = snac.decode(Window(codes))
    at = [index * FRAME_SAMPLES for index in range(1, min(heard.opening + 1, len(codes)))]
    jumps = [(heard.audio[i] - heard.audio[i - 1]) - (full[i] - full[i - 1]) for i in at]
    return largest(np.array(jumps, dtype=np.float32))


def median(values: list[float]) -> float:
    return statistics.median(values) if values else float("nan")


def measure(snac: SnacDecoder, replies: list[Codes], pace: Pace, rounds: int) -> dict[str, Any]:
    """Everything about one model and one set of replies."""
    per_s: dict[str, list[float]] = {"ours": [], "reference": []}
    mid_stream, opening, lost, reference_lost = 0.0, 0.0, 0, 0
    first_tokens: list[int] = []
    runs: dict[str, Callable[[Codes], Heard]] = {
        "ours": lambda codes: ours(snac, codes, pace),
        "reference": lambda codes: reference(snac, codes),
    }
    for _ in range(rounds):
        spent = dict.fromkeys(runs, 0.0)
        made = dict.fromkeys(runs, 0.0)
        for codes in replies:
            for name, run in runs.items():
                heard = run(codes)
                spent[name] += heard.cpu_s
                made[name] += len(heard.audio) / SAMPLE_RATE_HZ
        for name in runs:
            per_s[name].append(spent[name] / made[name])
    for codes in replies:
        heard, full = ours(snac, codes, pace), snac.decode(Window(codes))
        error = heard.audio[: len(full)] - full[: len(heard.audio)]
        split = heard.opening * FRAME_SAMPLES
        opening = max(opening, largest(error[:split]))
        mid_stream = max(mid_stream, largest(error[split:]))
        lost += len(codes) - len(heard.audio) // FRAME_SAMPLES
        reference_lost += len(codes) - len(reference(snac, codes).audio) // FRAME_SAMPLES
        first_tokens.append(SLOTS * heard.first_after)
    longest = max(replies, key=len)
    ratios = [a / b for a, b in zip(per_s["ours"], per_s["reference"], strict=True)]
    return {
        "summary": {
            "decode_work_ratio_vs_reference": median(ratios),
            "decode_work_ratio_range": [min(ratios), max(ratios)],
            "realtime_streams_per_core": 1 / median(per_s["ours"]),
            "reference_realtime_streams_per_core": 1 / median(per_s["reference"]),
            "max_stream_error": mid_stream,
            "opening_error": opening,
            "opening_seam_step": max(seam_step(snac, codes, pace) for codes in replies),
            "frames_lost": lost,
            "tokens_before_first_audio": max(first_tokens),
            "reference_max_error": max(reference_error(snac, codes) for codes in replies),
            "reference_frames_lost": reference_lost,
            "reference_tokens_before_first_audio": SLOTS * REFERENCE_FRAMES,
        },
        "look_ahead_error": {
            str(ahead): look_ahead_error(snac, longest, ahead) for ahead in (0, 1, 2)
        },
        "cpu_s_per_audio_s": per_s,
    }


def read_replies(file: Path | None, random_s: list[float]) -> list[Codes]:
    """The codes of a file, or random ones of these lengths."""
    if file is not None:
        entries = json.loads(file.read_text(encoding="utf-8"))["sentences"]
        return [codes_of([tuple(frame) for frame in entry["frames"]]) for entry in entries]
    rng = np.random.default_rng(7)
    return [rng.integers(0, 4096, (round(length / FRAME_S), SLOTS)) for length in random_s]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.tts.snac_work", description=__doc__)
    parser.add_argument("--model", type=Path, default=TINY_VOICE / "snac", help="see load_snac")
    parser.add_argument("--codes", type=Path, help="default: the tiny voice's own, if it is used")
    parser.add_argument("--random-s", default="1,2.5,6", help="else: lengths of random replies")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--speed", type=float, help="of the language model; 1 is real time")
    parser.add_argument("--longest", type=int, default=6, help="longest slice, frames")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    codes_file = args.codes
    if codes_file is None and args.model == TINY_VOICE / "snac":
        codes_file = TINY_VOICE / "codes.json"
    replies = read_replies(codes_file, [float(length) for length in args.random_s.split(",")])
    pace = Pace(longest=args.longest)
    if args.speed is not None:
        pace = Pace.for_speed(args.speed, args.longest)
    snac = load_snac(args.model, "cpu")
    result = measure(snac, replies, pace, args.rounds)
    result["conditions"] = {
        "model": str(args.model.name),
        "backend": type(snac).__name__,
        "codes": "of the file" if codes_file else "random",
        "replies_s": [round(len(codes) * FRAME_S, 2) for codes in replies],
        "opening": pace.opening,
        "speed": pace.speed,
        "longest": pace.longest,
        "rounds": args.rounds,
        "machine": platform.processor() or platform.machine(),
    }
    text = json.dumps(result, indent=2) + "\n"
    if args.json is not None:
        args.json.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
