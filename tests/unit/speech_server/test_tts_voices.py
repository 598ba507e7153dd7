"""Which voice a request means, and which engine the settings mean."""

import pytest

from speech_server.errors import BadRequest, EngineFailed, NotFound, Overloaded
from speech_server.protocol.rest import OPENAI_VOICES
from speech_server.settings import ConfigurationError, SpeechServerSettings
from speech_server.tts.engine import TtsEngineInfo, Voice
from speech_server.tts.espeak import EspeakEngine
from speech_server.tts.flite import FliteEngine
from speech_server.tts.service import TtsService, build_engine
from speech_server.tts.voices import Voices

VOICES = Voices(
    TtsEngineInfo(
        "e", "e", 16_000, (Voice("one", "en-US"), Voice("two", "en-GB"), Voice("drei", "de"))
    )
)


def test_default_ids_and_aliases() -> None:
    assert VOICES.resolve(None) == "one"
    assert VOICES.resolve("drei") == "drei"
    assert VOICES.resolve("alloy") == "one"
    assert VOICES.resolve("onyx") == "two"
    assert {VOICES.resolve(name) for name in OPENAI_VOICES} == {"one", "two", "drei"}


def test_one_voice_has_all_aliases() -> None:
    voices = Voices(TtsEngineInfo("e", "e", 16_000, (Voice("only", "en"),)))
    assert {voices.resolve(name) for name in OPENAI_VOICES} == {"only"}
    assert voices.listing().voices[0].aliases == tuple(voices._aliases)


def test_language() -> None:
    assert VOICES.resolve(None, "de-AT") == "drei"
    assert VOICES.resolve("two", "en_US") == "two"
    with pytest.raises(BadRequest, match="voice one speaks en-US"):
        VOICES.resolve("one", "fr")
    with pytest.raises(BadRequest, match="no voice speaks that language"):
        VOICES.resolve(None, "fr")


def test_unknown_voice_lists_the_known() -> None:
    with pytest.raises(NotFound, match=r"one, two, drei .*alloy"):
        VOICES.resolve("nobody")


@pytest.mark.parametrize(("name", "kind"), [("flite", FliteEngine), ("espeak", EspeakEngine)])
def test_engine_by_name(name: str, kind: type) -> None:
    assert isinstance(build_engine(SpeechServerSettings(tts_engine=name)), kind)


@pytest.mark.parametrize(("installed", "kind"), [(True, FliteEngine), (False, EspeakEngine)])
def test_auto_takes_flite_where_installed(
    monkeypatch: pytest.MonkeyPatch, installed: bool, kind: type
) -> None:
    monkeypatch.setattr(FliteEngine, "usable", staticmethod(lambda: installed))
    assert isinstance(build_engine(SpeechServerSettings()), kind)


def test_orpheus_without_a_model_names_the_setting() -> None:
    with pytest.raises(ConfigurationError, match="PARLEY_TTS_MODEL"):
        TtsService(SpeechServerSettings(tts_engine="orpheus"))


async def test_life_of_the_service() -> None:
    service = TtsService(SpeechServerSettings(tts_engine="espeak"))
    with pytest.raises(Overloaded, match="still loading"):
        service._loaded()
    await service.start()
    assert service.name == "tts"
    assert service.model_card.id == "espeak-ng"
    assert service.model_card.task == "text-to-speech"
    assert "en-US" in service.model_card.languages
    service.drain()
    with pytest.raises(Exception, match="shutting down"), service._loaded().admission.admit():
        pass
    await service.stop()


async def test_missing_flite_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise OSError("libflite.so.1: cannot open shared object file")

    monkeypatch.setattr("speech_server.tts.flite.load_flite", missing)
    assert not FliteEngine.usable()
    with pytest.raises(EngineFailed, match=r"libflite1.*PARLEY_TTS_ENGINE=espeak"):
        await TtsService(SpeechServerSettings(tts_engine="flite")).start()
