"""The speech-to-text role: its engine, its routes, its life cycle."""

from datetime import UTC, datetime

from fastapi import APIRouter

from speech_server.protocol.rest import ModelCard
from speech_server.settings import SpeechServerSettings
from speech_server.stt.engine import SttEngine
from speech_server.stt.file_transcriber import FileTranscriber
from speech_server.stt.listen_wire import listen_router
from speech_server.stt.moonshine import MoonshineEngine
from speech_server.stt.prerecorded_wire import prerecorded_router
from speech_server.stt.recogniser import Recogniser
from speech_server.stt.transcriptions_wire import transcriptions_router
from speech_server.stt.whisper import WhisperEngine, WhisperOptions


class SttService:
    """Speech to text, as the application sees it. Implements `role.Role`.

    Args:
        settings: the process's settings.
        engine: the engine to use; None builds the one that the settings name.
    """

    def __init__(self, settings: SpeechServerSettings, engine: SttEngine | None = None) -> None:
        self._recogniser = Recogniser(engine or _build_engine(settings), settings)
        self._created = int(datetime.now(UTC).timestamp())
        files = FileTranscriber(self._recogniser)
        self._router = APIRouter(tags=["speech to text"])
        self._router.include_router(listen_router(self._recogniser))
        self._router.include_router(prerecorded_router(self._recogniser, files))
        self._router.include_router(transcriptions_router(self._recogniser, files))

    @property
    def name(self) -> str:
        """The role's name."""
        return "stt"

    @property
    def router(self) -> APIRouter:
        """The role's HTTP and WebSocket routes."""
        return self._router

    @property
    def model_card(self) -> ModelCard:
        """The entry of `GET /v1/models`."""
        info = self._recogniser.info
        return ModelCard(
            id=info.model,
            created=self._created,
            task="automatic-speech-recognition",
            languages=info.languages,
        )

    async def start(self) -> None:
        """Load and warm the engine; raises when it cannot be used."""
        await self._recogniser.start()

    def drain(self) -> None:
        """Refuse new streams; running ones end by themselves."""
        self._recogniser.drain()

    async def stop(self) -> None:
        """End running streams and free the engine."""
        await self._recogniser.stop()


def _build_engine(settings: SpeechServerSettings) -> SttEngine:
    if settings.stt_engine == "moonshine":
        return MoonshineEngine()
    return WhisperEngine(
        WhisperOptions(
            model=settings.stt_model,
            device=settings.stt_device,
            compute_type=settings.stt_compute_type,
            language=settings.stt_language,
            cpu_threads=settings.stt_cpu_threads,
            max_batch_size=settings.stt_max_batch_size,
            shortest_window_s=settings.stt_shortest_window_s,
            word_times=settings.stt_word_times,
            allow_download=settings.stt_download,
        )
    )
