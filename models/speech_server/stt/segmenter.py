"""One caller's audio, cut into utterances. Pure: no clock, no I/O; time is counted in samples.

Speech is found with a voice activity model; where exactly it stopped is read from the loudness
inside the model's windows. What is decoded ahead does not wait for the window in which a pause has
become long enough: its loudness tells before the model can.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm
from speech_server.stt.loudness import FRAME_SAMPLES, START_PROBABILITY, Loudness
from speech_server.stt.quiet_cuts import quietest_place
from speech_server.stt.utterance import (
    Close,
    Closed,
    Event,
    Interim,
    Preflight,
    Revision,
    SilenceAfterSpeech,
    SpeechStarted,
    UtteranceAudio,
)
from speech_server.stt.vad import WINDOW_SAMPLES, VoiceActivity

_START_WINDOWS: Final = 2
"""Consecutive windows of speech that begin an utterance: one alone may be a click."""
_PREROLL_WINDOWS: Final = 3
"""96 ms kept before the first window of speech. With more than 100 ms of noise in front,
Moonshine puts a false word before the text."""
_TRAIL_SAMPLES: Final = round(0.3 * SAMPLE_RATE_HZ)
"""Silence kept after speech; the rest of a long pause is left out of the utterance."""
_TAIL_SAMPLES: Final = round(0.06 * SAMPLE_RATE_HZ)
"""Silence handed out after the last speech: no more than there is at a preflight, so that the same
words are read whether it is a preflight, a final after a long silence, or a file."""
_INTERIM_GROWTH: Final = 0.1
"""An interim reads the whole utterance again, so the longer that is, the rarer interims are."""
_LIMIT_MARGIN: Final = 0.8
"""From this share of the longest utterance on, a pause is taken to end it."""
_LIMIT_PAUSE_S: Final = 0.2
"""Such a pause, seconds: gaps of 0.12 s occur inside a word."""
_LIMIT_SEARCH: Final = 0.5
"""Where no pause comes, the utterance is cut in the quietest place of this share of its end."""
_NOTHING: Final[Pcm] = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class SegmenterSettings:
    """When a segmenter reports. All times are seconds of audio; None switches a report off."""

    preflight_silence_s: float | None = 0.06
    interim_interval_s: float | None = 0.5
    endpointing_s: float | None = None
    utterance_end_s: float | None = None
    max_utterance_s: float = 30.0


class Segmenter:
    """Cuts one stream into utterances.

    Args:
        vad: the voice activity model of this stream.
        settings: what to report and when.
    """

    def __init__(self, vad: VoiceActivity, settings: SegmenterSettings) -> None:
        self._vad = vad
        self._settings = settings
        self._longest = round(settings.max_utterance_s * SAMPLE_RATE_HZ)
        self._rest = _NOTHING
        self._position = 0
        self._loudness = Loudness()
        self._speech_windows = 0
        self._speech_began = 0
        self._recent: deque[Pcm] = deque(maxlen=_PREROLL_WINDOWS)
        self._utterance = 0
        self._speech_end = 0
        self._silence_reported_for = 0
        self._reset_utterance()

    def _reset_utterance(self) -> None:
        self._open = False
        self._stretches: list[Pcm] = []
        self._length = 0
        self._anchors: list[tuple[int, int]] = []
        self._reported_at = 0
        self._preflight_for = -1
        self._utterance += 1

    @property
    def position(self) -> int:
        """Samples received."""
        return self._position + len(self._rest)

    @property
    def revision(self) -> Revision:
        """What the open utterance holds now."""
        return Revision(self._utterance, self._speech_end)

    def push(self, pcm: Pcm) -> list[Event]:
        """Take the next audio.

        Args:
            pcm: float32, (samples,), 16 kHz; any length.
        """
        audio = np.concatenate((self._rest, pcm)) if self._rest.size else pcm
        whole = len(audio) - len(audio) % WINDOW_SAMPLES
        self._rest = audio[whole:].copy()
        events: list[Event] = []
        for begin in range(0, whole, WINDOW_SAMPLES):
            self._take(audio[begin : begin + WINDOW_SAMPLES], WINDOW_SAMPLES, events)
        self._look_ahead(events)
        return events

    def finalize(self, reason: Close = Close.FINALIZE) -> list[Event]:
        """End the utterance here; the last event is always its `Closed`."""
        events: list[Event] = []
        if self._rest.size:
            window = np.zeros(WINDOW_SAMPLES, dtype=np.float32)
            window[: self._rest.size] = self._rest
            samples, self._rest = self._rest.size, self._rest[:0]
            self._take(window, samples, events)
        self._close(reason, events)
        return events

    def _take(self, window: Pcm, samples: int, events: list[Event]) -> None:
        probability = self._vad.probability(window)
        spoken_until = self._loudness.spoken_until(window, probability, in_utterance=self._open)
        self._position += samples
        if self._open:
            self._go_on(window[:samples], samples, spoken_until)
        else:
            self._await_speech(window[:samples], samples, spoken_until, probability, events)
        self._report(events)

    def _await_speech(
        self,
        window: Pcm,
        samples: int,
        spoken_until: int | None,
        probability: float,
        events: list[Event],
    ) -> None:
        if spoken_until is None or probability < START_PROBABILITY:
            self._speech_windows = 0
            self._recent = deque(self._recent, maxlen=_PREROLL_WINDOWS)
            self._recent.append(window)
            return
        self._speech_windows += 1
        if self._speech_windows == 1:
            self._speech_began = self._position - samples
            # From here on the pre-roll must not move: a second window confirms or forgets it.
            self._recent = deque(self._recent, maxlen=_PREROLL_WINDOWS + _START_WINDOWS - 1)
        if self._speech_windows < _START_WINDOWS:
            self._recent.append(window)
            return
        self._open = True
        self._append_recent(self._position - samples)
        self._append(window, self._position - samples)
        self._speech_end = self._position - samples + min(spoken_until, samples)
        self._reported_at = self._position
        events.append(SpeechStarted(self._speech_began))

    def _go_on(self, window: Pcm, samples: int, spoken_until: int | None) -> None:
        window_start = self._position - samples
        if spoken_until is not None:
            self._append_recent(window_start)
            self._append(window, window_start)
            self._speech_end = window_start + min(spoken_until, samples)
        elif window_start - self._speech_end < _TRAIL_SAMPLES:
            self._append(window, window_start)
        else:
            self._recent.append(window)

    def _append_recent(self, until: int) -> None:
        at = until - sum(len(window) for window in self._recent)
        for window in self._recent:
            self._append(window, at)
            at += len(window)
        self._recent = deque(maxlen=_PREROLL_WINDOWS)
        self._speech_windows = 0

    def _append(self, window: Pcm, at: int) -> None:
        if not self._anchors or at - self._anchors[-1][1] != self._length - self._anchors[-1][0]:
            self._anchors.append((self._length, at))
        self._stretches.append(window)
        self._length += len(window)

    def _report(self, events: list[Event]) -> None:
        settings = self._settings
        silence_s = (self._position - self._speech_end) / SAMPLE_RATE_HZ
        if self._open:
            if settings.endpointing_s is not None and silence_s >= settings.endpointing_s:
                self._close(Close.ENDPOINT, events)
            elif self._length >= self._longest:
                self._cut(events)
            elif self._length >= self._longest * _LIMIT_MARGIN and silence_s >= _LIMIT_PAUSE_S:
                self._close(Close.LIMIT, events)
            elif self._is_pause(silence_s):
                self._report_preflight(events)
            else:
                self._report_interim(events)
        self._report_silence(silence_s, events)

    def _look_ahead(self, events: list[Event]) -> None:
        """Report a pause that has become long enough within a window that is not there yet."""
        ahead = self._rest[: len(self._rest) - len(self._rest) % FRAME_SAMPLES]
        silence_s = (self._position + len(ahead) - self._speech_end) / SAMPLE_RATE_HZ
        if self._open and self._is_pause(silence_s) and self._loudness.is_silence(ahead):
            self._report_preflight(events, ahead)

    def _is_pause(self, silence_s: float) -> bool:
        limit_s = self._settings.preflight_silence_s
        return limit_s is not None and silence_s >= limit_s

    def _report_preflight(self, events: list[Event], ahead: Pcm = _NOTHING) -> None:
        if self._preflight_for != self._speech_end:
            self._preflight_for = self._speech_end
            self._reported_at = self._position
            events.append(Preflight(self._audio(ahead)))

    def _report_interim(self, events: list[Event]) -> None:
        if self._settings.interim_interval_s is None:
            return
        length_s = self._length / SAMPLE_RATE_HZ
        interval_s = max(self._settings.interim_interval_s, length_s * _INTERIM_GROWTH)
        # At the first sign of a pause an interim would only stand in the way of the preflight.
        still_speaking = self._position - self._speech_end <= 2 * FRAME_SAMPLES
        if still_speaking and self._position - self._reported_at >= interval_s * SAMPLE_RATE_HZ:
            self._reported_at = self._position
            events.append(Interim(self._audio()))

    def _report_silence(self, silence_s: float, events: list[Event]) -> None:
        limit_s = self._settings.utterance_end_s
        if limit_s is None or self._speech_end == self._silence_reported_for:
            return
        if silence_s >= limit_s:
            self._silence_reported_for = self._speech_end
            events.append(SilenceAfterSpeech(self._speech_end))

    def _cut(self, events: list[Event]) -> None:
        """End the utterance in its quietest place; what was said since begins the next one."""
        audio = self._audio()
        cut = quietest_place(audio.pcm, round(len(audio.pcm) * _LIMIT_SEARCH))
        at = audio.stream_sample(cut)
        if at >= self._speech_end:
            self._close(Close.LIMIT, events)
            return
        begun = tuple(anchor for anchor in audio.anchors if anchor[0] < cut)
        revision = Revision(self._utterance, at)
        head = UtteranceAudio(revision, audio.pcm[:cut], audio.start, at, begun)
        events.append(Closed(head, Close.LIMIT))
        self._reset_utterance()
        self._open = True
        self._stretches = [audio.pcm[cut:]]
        self._length = len(audio.pcm) - cut
        self._anchors = [(0, at), *((i - cut, of) for i, of in audio.anchors if i > cut)]
        self._reported_at = self._position
        events.append(SpeechStarted(at))

    def _close(self, reason: Close, events: list[Event]) -> None:
        events.append(Closed(self._audio(), reason))
        self._reset_utterance()

    def _audio(self, ahead: Pcm = _NOTHING) -> UtteranceAudio:
        """What the open utterance holds.

        Args:
            ahead: float32, (samples,): of a window that is not whole yet.
        """
        pcm: Pcm = np.concatenate((*self._stretches, ahead))
        for at_pcm, at_stream in reversed(self._anchors):
            if at_stream <= self._speech_end:  # the stretch in which the last speech lies
                pcm = pcm[: at_pcm + self._speech_end + _TAIL_SAMPLES - at_stream]
                break
        return UtteranceAudio(
            revision=self.revision,
            pcm=pcm,
            start=self._anchors[0][1] if self._anchors else self._position,
            end=self._position + len(ahead),
            anchors=tuple(self._anchors),
        )
