import pytest

from speech_server.errors import EngineFailed, Overloaded, ShuttingDown
from speech_server.settings import SpeechServerSettings
from speech_server.stt.batcher import Priority
from speech_server.stt.recogniser import Recogniser
from speech_server.stt.service import SttService
from tests.unit.speech_server.gated_engine import GatedEngine, utterance


def settings(**changed: object) -> SpeechServerSettings:
    return SpeechServerSettings(**changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "model"),
    [
        ({}, "moonshine-tiny-en"),
        ({"stt_engine": "whisper"}, "whisper"),
        ({"stt_engine": "whisper", "stt_model": "/models/small"}, "small"),
    ],
)
def test_the_engine_of_the_settings_is_used(changed: dict[str, object], model: str) -> None:
    assert SttService(settings(**changed)).model_card.id == model


def test_the_model_card_tells_what_the_engine_is() -> None:
    service = SttService(settings(), GatedEngine())
    assert service.name == "stt"
    assert service.model_card.id == "gated-1"
    assert service.model_card.languages == ("en",)


async def test_streams_are_refused_until_the_model_is_loaded_and_beyond_capacity() -> None:
    recogniser = Recogniser(GatedEngine(), settings(stt_capacity_streams=1))
    with pytest.raises(Overloaded, match="loads"), recogniser.admit():
        pass
    await recogniser.start()
    with recogniser.admit():
        with pytest.raises(Overloaded, match="in use"), recogniser.admit():
            pass
        with pytest.raises(Overloaded), recogniser.receiving_upload():
            pass
    with recogniser.receiving_upload():
        with recogniser.admit():  # a slow upload blocks no call
            pass
        with pytest.raises(Overloaded, match="uploads"), recogniser.receiving_upload():
            pass
    recogniser.drain()
    with pytest.raises(ShuttingDown), recogniser.admit():
        pass
    await recogniser.stop()


async def test_new_streams_are_refused_while_the_running_ones_wait_too_long() -> None:
    engine = GatedEngine(max_batch_size=16)
    engine.call_s = 2.0
    engine.allow(100)
    recogniser = Recogniser(engine, settings(), clock=lambda: engine.clock_s)
    await recogniser.start()
    with recogniser.admit():
        jobs = [
            recogniser.batcher.submit(utterance(n), stream=n, priority=Priority.FINAL)
            for n in range(12)
        ]
        for job in jobs:
            await job
        with pytest.raises(Overloaded, match="slow") as refused, recogniser.admit():
            pass
        assert refused.value.retryable
        engine.clock_s += 10.1
        with recogniser.admit():
            pass
    await recogniser.stop()


async def test_a_model_that_cannot_be_loaded_is_told() -> None:
    engine = GatedEngine()

    def load() -> None:
        raise FileNotFoundError("no model there")

    engine.load = load  # type: ignore[method-assign]
    recogniser = Recogniser(engine, settings())
    with pytest.raises(FileNotFoundError):
        await recogniser.start()
    with pytest.raises(EngineFailed), recogniser.admit():
        pass
    await recogniser.stop()
