from typing import Any

import pytest

from speech_plugins import LLM, STT, TTS
from speech_plugins.fallback_llm import FallbackLLM
from speech_plugins.fallback_stt import FallbackSTT
from speech_plugins.fallback_tts import FallbackTTS
from voice_agent.providers import create_llm, create_stt, create_tts
from voice_agent.settings import AgentSettings

FIRST, SECOND = "http://127.0.0.1:9", "http://127.0.0.1:10"
PREFIX: dict[str, Any] = {"instructions": "You answer the telephone.", "tools": []}


def settings(**given: Any) -> AgentSettings:
    return AgentSettings(speech_url=FIRST, llm_url=f"{FIRST}/v1", llm_model="first", **given)


async def test_without_a_second_provider_nothing_stands_between() -> None:
    alone = settings()
    models = (
        create_stt(alone, language="en"),
        create_tts(alone, voice=None, language="en"),
        create_llm(alone, **PREFIX),
    )
    assert [type(model) for model in models] == [STT, TTS, LLM]
    for model in models:
        await model.aclose()


async def test_each_service_has_its_own_second_provider() -> None:
    stt = create_stt(settings(stt_fallback_url=SECOND), language="de")
    tts = create_tts(settings(tts_fallback_url=SECOND), voice="tara", language="en")
    model = create_llm(
        settings(llm_fallback_url=f"{SECOND}/v1", llm_fallback_model="second"), **PREFIX
    )
    assert isinstance(stt, FallbackSTT)
    assert stt.capabilities.manual_flush
    assert isinstance(tts, FallbackTTS)
    assert isinstance(model, FallbackLLM)
    assert (model.first.model, model.second.model) == ("first", "second")
    for each in (stt, tts, model):
        await each.aclose()


async def test_the_second_model_is_the_first_ones_where_none_is_named() -> None:
    model = create_llm(settings(llm_fallback_url=f"{SECOND}/v1"), **PREFIX)
    assert isinstance(model, FallbackLLM)
    assert model.second.model == "first"
    await model.aclose()


def test_an_empty_variable_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STT_FALLBACK_URL", "TTS_FALLBACK_URL", "LLM_FALLBACK_URL", "LLM_FALLBACK_MODEL"):
        monkeypatch.setenv(f"PARLEY_{name}", "")
    given = AgentSettings(_env_file=None)
    assert given.stt_fallback_url is given.tts_fallback_url is given.llm_fallback_url is None
    assert given.llm_fallback_model is None


def test_a_url_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match="http://"):
        create_stt(settings(stt_fallback_url="gpu:8090"), language="en")
    with pytest.raises(ValueError, match="http://"):
        create_tts(settings(tts_fallback_url="gpu:8090"), voice=None, language="en")
