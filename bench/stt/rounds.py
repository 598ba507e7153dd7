"""One round: so many callers on one server for so long, and the numbers that come of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.percentiles import Percentiles
from bench.server_load import Load, LoadMeter
from bench.stt.callers import Conversation, converse
from bench.stt.recordings import Recording
from bench.stt.systems import System
from bench.stt.word_errors import word_error_rate, word_errors, words

_CLIENT_LATE_S: Final = 0.02
"""A client whose frames are later than this (p99) disturbs what it measures: one whole frame."""


@dataclass(frozen=True)
class Round:
    """The result of one round."""

    system: str
    streams: int
    talk_s: float
    finals: int
    final_s: Percentiles | None
    """From the last frame of speech to the final."""
    after_finalize_s: Percentiles | None
    interim_s: Percentiles | None
    interims: int
    interim_hz: float | None
    """Interims for each second of speech."""
    wer: float | None
    """Of the finals, against what is truly said."""
    offline_wer: float | None
    """Of decoding the same recordings as files, against what is truly said."""
    wer_against_offline: float | None
    """Of the finals, against what decoding the same recordings as files gave."""
    against_offline: tuple[tuple[str, int, int], ...]
    """For each final the recording, its words, and its errors less those of the file."""
    decodes_per_final: float | None
    """Utterances given to the engine for each final asked for: preflights and interims are more."""
    engine_rtf: float | None
    """Engine time divided by the duration of the speech, interims included."""
    refused: int
    lost: int
    """Finals that never came, and connections that broke."""
    load: Load
    client_cores: float
    client_lateness_p99_s: float
    problems: tuple[str, ...] = ()

    @property
    def step(self) -> int:
        """The load of the round: callers at once."""
        return self.streams

    @property
    def client_saturated(self) -> bool:
        """Whether the load generator was too busy for its own clock."""
        return self.client_lateness_p99_s > _CLIENT_LATE_S

    @property
    def cost_per_stream(self) -> float:
        """Processor cores of the server for one stream."""
        return self.load.cpu_cores / self.streams

    def within(self, bound_s: float) -> bool:
        """Whether everybody was served, 95 of 100 finals within the bound."""
        everybody = not self.refused and not self.lost
        return everybody and self.final_s is not None and self.final_s.p95 <= bound_s


async def run_round(
    system: System,
    recordings: Sequence[Recording],
    offline: Mapping[str, str],
    *,
    streams: int,
    join_s: float,
    talk_s: float,
) -> Round:
    """Let callers talk to a server.

    Args:
        system: the server.
        recordings: what they say.
        offline: what the server heard in each recording given as a file, by the recording's name.
        streams: how many callers.
        join_s: time in which they join; not counted.
        talk_s: time that counts.
    """
    meter = LoadMeter(system.pid, system.url)
    client_before, began = time.process_time(), time.perf_counter()
    conversation = await converse(
        system.new_line, recordings, streams=streams, join_s=join_s, talk_s=talk_s
    )
    wall_s = time.perf_counter() - began
    client_cores = (time.process_time() - client_before) / wall_s
    return _result(system, streams, talk_s, conversation, offline, meter.read(wall_s), client_cores)


def _result(
    system: System,
    streams: int,
    talk_s: float,
    conversation: Conversation,
    offline: Mapping[str, str],
    load: Load,
    client_cores: float,
) -> Round:
    turns = conversation.turns
    heard = [turn for turn in turns if turn.heard_at is not None]
    late = Percentiles.of(conversation.lateness_s)
    compared = [turn for turn in heard if turn.recording.name in offline]
    speech_s = conversation.speech_s
    return Round(
        system=system.name,
        streams=streams,
        talk_s=talk_s,
        finals=len(heard),
        final_s=Percentiles.of([turn.final_latency_s for turn in turns]),
        after_finalize_s=Percentiles.of([turn.after_finalize_s for turn in turns]),
        interim_s=Percentiles.of(conversation.interim_lags_s),
        interims=len(conversation.interim_lags_s),
        interim_hz=len(conversation.interim_lags_s) / speech_s if speech_s else None,
        wer=word_error_rate((turn.recording.text, turn.heard) for turn in heard),
        offline_wer=word_error_rate(
            (turn.recording.text, offline[turn.recording.name]) for turn in compared
        ),
        wer_against_offline=word_error_rate(
            (offline[turn.recording.name], turn.heard) for turn in compared
        ),
        against_offline=tuple(
            against(turn.recording, turn.heard, offline[turn.recording.name]) for turn in compared
        ),
        decodes_per_final=load.decodes / conversation.utterances
        if load.decodes is not None and conversation.utterances
        else None,
        engine_rtf=load.engine_s / speech_s if load.engine_s and speech_s else None,
        refused=conversation.refused,
        lost=len(turns) - len(heard) + len(conversation.broken) - conversation.refused,
        load=load,
        client_cores=client_cores,
        client_lateness_p99_s=late.p99 if late else 0.0,
        problems=tuple(sorted(set(conversation.broken))),
    )


def against(recording: Recording, heard: str, offline: str) -> tuple[str, int, int]:
    truth = words(recording.text)
    more = word_errors(truth, words(heard)) - word_errors(truth, words(offline))
    return recording.name, len(truth), more
