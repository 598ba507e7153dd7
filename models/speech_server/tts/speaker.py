"""The loaded engine with its voices and its capacity, as the wires use it."""

from speech_server.admission import Admission
from speech_server.settings import SpeechServerSettings
from speech_server.tts.engine import TtsEngine, TtsEngineInfo
from speech_server.tts.stream import Delivery, Reply
from speech_server.tts.voices import Voices


class Speaker:
    """Opens replies.

    Args:
        engine: loaded.
        admission: places for replies spoken at once. Whoever opens a reply holds one.
        settings: limits.
    """

    def __init__(
        self, engine: TtsEngine, admission: Admission, settings: SpeechServerSettings
    ) -> None:
        self._engine = engine
        self.admission = admission
        self.settings = settings
        self.voices = Voices(engine.info)

    @property
    def info(self) -> TtsEngineInfo:
        """What the engine can do."""
        return self._engine.info

    def open(self, delivery: Delivery, max_buffer_delay_s: float | None = None) -> Reply:
        """Begin a reply; the caller closes it."""
        return Reply(
            self._engine,
            delivery,
            max_chars=self.settings.tts_max_chars,
            max_buffer_delay_s=max_buffer_delay_s,
        )
