"""What LiveKit is told of one stream: when speech begins and ends, and its words, each once."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from livekit.agents import LanguageCode, stt
from livekit.agents.stt import SpeechData
from livekit.agents.types import TimedString

from speech_server.protocol import listen


@dataclass(frozen=True, slots=True)
class Reading:
    """Words from the server and the audio that they were read from."""

    results: listen.Results
    best: listen.Alternative
    offset_s: float
    """What to add to the server's times to have the framework's, seconds."""


class SpeechEvents:
    """Emits the events of one stream in the order that the framework's turn-taking needs.

    Args:
        emit: takes each event.
        language: BCP 47 tag of what is spoken; empty where the engine decides.
    """

    def __init__(self, emit: Callable[[stt.SpeechEvent], None], language: str) -> None:
        self._emit = emit
        self._language = language
        self._request_id = ""
        self._held: list[str] = []
        self._speaking = False
        self._last_turn = ""
        self._aside: SpeechData | None = None

    @property
    def speaking(self) -> bool:
        """Whether speech has begun and not ended."""
        return self._speaking

    def answered_by(self, request_id: str) -> None:
        """Name the server's stream in what follows."""
        self._request_id = request_id

    def start(self, started_at: float | None) -> None:
        """Speech began; nothing where it is known.

        Args:
            started_at: wall clock, seconds; None: not known.
        """
        if self._speaking:
            return
        self._speaking = True
        self._emit(
            stt.SpeechEvent(
                type=stt.SpeechEventType.START_OF_SPEECH,
                request_id=self._request_id,
                speech_start_time=started_at,
            )
        )

    def interim(self, reading: Reading) -> None:
        """Words that may still change."""
        self._words(stt.SpeechEventType.INTERIM_TRANSCRIPT, self._data(reading))

    def preflight(self, reading: Reading) -> str:
        """Words before a pause; all of the turn is returned."""
        data = self._data(reading)
        self._words(stt.SpeechEventType.PREFLIGHT_TRANSCRIPT, data)
        return data.text

    def hold(self, text: str) -> None:
        """Keep words that come before the next final."""
        self._held += [text] if text else []

    def end(self, reading: Reading | None, ended_at: float | None) -> None:
        """Speech ended: its final words, where there are any, and the end.

        Args:
            reading: the server's last words; None: there are none beside those held.
            ended_at: wall clock, seconds; None: not known.
        """
        data = self._data(reading)
        self._held.clear()
        self._aside = None
        self._end_turn(data, ended_at)

    def set_aside(self, reading: Reading | None) -> None:
        """Speech ended, and its words are nobody's turn unless they are taken up."""
        data = self._data(reading)
        self._held.clear()
        self._aside = data if data.text else None
        self._last_turn = ""  # what was said since lies between
        # Told even of a sound that the server took for none: the agent may have stopped for it.
        self.start(None)
        self._end(None)

    def take_up(self) -> None:
        """Make the words set aside a turn; nothing where there are none."""
        data, self._aside = self._aside, None
        if data is not None:
            self._end_turn(data, None)

    def reopen(self) -> None:
        """Put the words set aside, or else those of the last turn, before the next ones, once."""
        words = self._aside.text if self._aside is not None else self._last_turn
        self._held[:0] = [words] if words else []
        self._aside, self._last_turn = None, ""

    def usage(self, audio_s: float) -> None:
        """So much audio was sent."""
        self._emit(
            stt.SpeechEvent(
                type=stt.SpeechEventType.RECOGNITION_USAGE,
                request_id=self._request_id,
                recognition_usage=stt.RecognitionUsage(audio_duration=audio_s),
            )
        )

    def _end_turn(self, data: SpeechData, ended_at: float | None) -> None:
        if data.text:
            self._last_turn = data.text
            self._words(stt.SpeechEventType.FINAL_TRANSCRIPT, data)
        self._end(ended_at)

    def _end(self, ended_at: float | None) -> None:
        if self._speaking:
            self._speaking = False
            self._emit(
                stt.SpeechEvent(
                    type=stt.SpeechEventType.END_OF_SPEECH,
                    request_id=self._request_id,
                    speech_end_time=ended_at,
                )
            )

    def _words(self, kind: stt.SpeechEventType, data: SpeechData) -> None:
        self.start(None)
        self._emit(stt.SpeechEvent(type=kind, request_id=self._request_id, alternatives=[data]))

    def _data(self, reading: Reading | None) -> SpeechData:
        text = reading.best.transcript if reading is not None else ""
        whole = " ".join(part for part in (*self._held, text) if part)
        data = SpeechData(language=LanguageCode(self._language), text=whole)
        if reading is None:
            return data
        results, best, offset_s = reading.results, reading.best, reading.offset_s
        if best.languages:
            data.language = LanguageCode(best.languages[0])
        if best.confidence is not None:
            data.confidence = best.confidence
        data.start_time = offset_s + results.start
        data.end_time = offset_s + results.start + results.duration
        if best.words and not self._held:
            # Held text has no words here, so a list would cover a part of the text only.
            data.words = list(_timed(best.words, offset_s))
            data.start_time = offset_s + best.words[0].start
            data.end_time = offset_s + best.words[-1].end
        return data


def wall_clock(samples_ago: int, rate_hz: int) -> float:
    """When a sample was heard that so many came after, seconds since the epoch."""
    return time.time() - max(0, samples_ago) / rate_hz


def _timed(words: Iterable[listen.ListenWord], offset_s: float) -> Iterable[TimedString]:
    for word in words:
        timed = TimedString(
            word.punctuated_word,
            start_time=offset_s + word.start,
            end_time=offset_s + word.end,
            start_time_offset=offset_s,
        )
        if word.confidence is not None:
            timed.confidence = word.confidence
        yield timed
