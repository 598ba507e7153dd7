"""The text-to-speech role: picks and loads the engine, and puts the wires in front of it."""

import logging
import time
from pathlib import Path

from fastapi import APIRouter

from speech_server.admission import Admission
from speech_server.errors import Overloaded, SpeechError
from speech_server.protocol.rest import ModelCard
from speech_server.role import Recovering
from speech_server.settings import ConfigurationError, SpeechServerSettings
from speech_server.tts.engine import TtsEngine
from speech_server.tts.espeak import EspeakEngine
from speech_server.tts.flite import FliteEngine
from speech_server.tts.orpheus import OrpheusEngine, OrpheusOptions
from speech_server.tts.snac_codec import SnacCodec
from speech_server.tts.speak_wire import speak_router
from speech_server.tts.speaker import Speaker
from speech_server.tts.speech_wire import speech_router
from speech_server.tts.vllm_source import Sampling, VllmOptions, VllmSource

logger = logging.getLogger(__name__)


def build_engine(settings: SpeechServerSettings) -> TtsEngine:
    """The engine that the settings name, not yet loaded.

    Raises:
        ConfigurationError: the engine lacks a setting.
    """
    match settings.tts_engine:
        case "auto":
            return FliteEngine() if FliteEngine.usable() else EspeakEngine()
        case "flite":
            return FliteEngine()
        case "espeak":
            return EspeakEngine()
        case "orpheus":
            return _build_orpheus(settings)


def _build_orpheus(settings: SpeechServerSettings) -> OrpheusEngine:
    if not settings.tts_model:
        raise ConfigurationError(
            "PARLEY_TTS_ENGINE=orpheus needs PARLEY_TTS_MODEL, the directory of an Orpheus model"
            " (canopylabs/orpheus-3b-0.1-ft of Hugging Face)"
        )
    model = Path(settings.tts_model).expanduser()
    snac = Path(settings.tts_snac).expanduser() if settings.tts_snac else model / "snac"
    options = VllmOptions(
        model=model,
        memory_share=settings.tts_memory_share,
        max_sequences=settings.tts_max_sequences or settings.tts_capacity_streams,
        sampling=Sampling(
            temperature=settings.tts_temperature,
            top_p=settings.tts_top_p,
            repetition_penalty=settings.tts_repetition_penalty,
        ),
    )
    speaking = OrpheusOptions(
        give_silence=settings.tts_give_silence, keep_prosody=settings.tts_keep_prosody
    )
    return OrpheusEngine(VllmSource(options), SnacCodec(snac), speaking)


class TtsService:
    """Text to speech as a role of the speech server.

    Args:
        settings: the process's settings.
        engine: the engine to use; None builds the one that the settings name.

    Raises:
        ConfigurationError: the engine that the settings name lacks a setting.
    """

    def __init__(self, settings: SpeechServerSettings, engine: TtsEngine | None = None) -> None:
        self._settings = settings
        self._admission = Admission("tts", settings.tts_capacity_streams)
        self._created = int(time.time())
        self._engine = engine or build_engine(settings)
        self._speaker: Speaker | None = None
        self._failure: SpeechError | None = None
        self._router = APIRouter()
        self._router.include_router(speech_router(self._loaded))
        self._router.include_router(speak_router(self._loaded))

    @property
    def name(self) -> str:
        """`tts`."""
        return "tts"

    @property
    def router(self) -> APIRouter:
        """The routes of both wires."""
        return self._router

    @property
    def model_card(self) -> ModelCard:
        """The entry of `GET /v1/models`."""
        info = self._engine.info
        languages = dict.fromkeys(voice.language for voice in info.voices)
        return ModelCard(
            id=info.model,
            created=self._created,
            task="text-to-speech",
            languages=tuple(languages),
        )

    @property
    def recovering(self) -> str | None:
        """Why nothing can be spoken just now; None while it can."""
        return self._engine.recovering if isinstance(self._engine, Recovering) else None

    async def start(self) -> None:
        """Load and warm the engine.

        Raises:
            EngineFailed: it cannot be used; requests are answered with the same error.
        """
        try:
            await self._engine.load()
        except SpeechError as error:
            self._failure = error
            raise
        self._speaker = Speaker(self._engine, self._admission, self._settings)
        logger.info("text to speech loaded", extra={"engine": self._engine.info.name})

    def drain(self) -> None:
        """Refuse new replies; running ones end by themselves."""
        self._admission.drain()

    async def stop(self) -> None:
        """Free the engine; replies still being spoken end with an error."""
        await self._engine.close()

    def _loaded(self) -> Speaker:
        if self._speaker is not None:
            return self._speaker
        raise self._failure or Overloaded("text to speech is still loading; see /ready")
