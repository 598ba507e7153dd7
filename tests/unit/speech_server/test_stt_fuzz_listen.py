"""Whatever a client of `/v1/listen` sends is a value or a clear error, never a fault of ours."""

from itertools import pairwise
from typing import get_args
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from speech_server.audio.pcm import int16_to_float, linear16_to_int16, mulaw_to_int16
from speech_server.errors import BadRequest
from speech_server.protocol.listen import CLIENT_MESSAGE, ClientMessage
from speech_server.stt.incoming_audio import IncomingAudio
from speech_server.stt.listen_query import (
    IGNORED,
    REFUSED_WHEN_ON,
    Encoding,
    ListenQuery,
    parse_listen_query,
)
from tests.unit.speech_server.clear_errors import check_clear
from tests.unit.speech_server.wild_json import messages

NAMES = (
    "encoding", "sample_rate", "channels", "language", "interim_results", "vad_events",
    "preflight", "endpointing", "utterance_end_ms", "utterances", "keyterm", "keywords",
    *IGNORED, *REFUSED_WHEN_ON,
)  # fmt: skip
LIKELY = (
    "linear16", "mulaw", "8000", "16000", "48000", "1", "true", "false", "en", "en-GB", "de", "0",
    "25", "1000", "", "-1", "1e3", "9" * 256, "nan", "\u0663", "\u00b2", "x" * 257, "a:b:c",
)  # fmt: skip
PAIRS = st.tuples(st.sampled_from(NAMES) | st.text(max_size=12),
                  st.sampled_from(LIKELY) | st.text(max_size=300))  # fmt: skip
RAW = [("encoding", "linear16"), ("sample_rate", "16000")]


def parsed(pairs: list[tuple[str, str]], *, streaming: bool) -> ListenQuery | None:
    try:
        return parse_listen_query(pairs, ("en", "de"), streaming=streaming)
    except BadRequest as error:
        check_clear(error)
        return None


@settings(max_examples=300)
@given(st.lists(PAIRS, max_size=8), st.booleans(), st.booleans())
def test_any_query(pairs: list[tuple[str, str]], streaming: bool, raw: bool) -> None:
    query = parsed(RAW + pairs if raw else pairs, streaming=streaming)
    if query is None:
        return
    assert query.encoding in (None, *get_args(Encoding))
    if streaming:
        assert query.encoding is not None
        assert query.sample_rate_hz is not None
    assert query.sample_rate_hz is None or 8_000 <= query.sample_rate_hz <= 48_000
    assert query.endpointing_s is None or 0.2 <= query.endpointing_s <= 10.0
    assert query.utterance_end_s is None or 0.1 <= query.utterance_end_s <= 60.0
    assert len(query.keyterms) <= 100
    assert query.prompt is None or query.prompt


@settings(max_examples=200)
@given(st.text(max_size=400))
def test_any_query_string(text: str) -> None:
    # As Starlette reads it.
    parsed(parse_qsl(text, keep_blank_values=True), streaming=True)


CONTROL = messages(
    {"type": st.sampled_from(("KeepAlive", "Finalize", "CloseStream", "keepalive", "Error"))}
)


@settings(max_examples=300)
@example('{"type":"Finalize"}')
@example('{"type":"Finalize","type":"Nonsense"}')
@example("NaN")
@given(CONTROL)
def test_any_control_message(text: str) -> None:
    try:
        message = CLIENT_MESSAGE.validate_json(text)
    except ValidationError:
        return
    assert isinstance(message, get_args(get_args(ClientMessage)[0]))


AUDIO = st.binary(max_size=2_000) | st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).bytes(6_001)
)


@settings(max_examples=80, deadline=None)
@given(
    data=AUDIO,
    cuts=st.lists(st.integers(0, 6_000), max_size=10),
    encoding=st.sampled_from(get_args(Encoding)),
    rate_hz=st.sampled_from((8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000))
    | st.integers(8_000, 48_000),
)
def test_any_bytes_in_any_messages_are_the_same_audio(
    data: bytes, cuts: list[int], encoding: Encoding, rate_hz: int
) -> None:
    whole = IncomingAudio(encoding, rate_hz)
    at_once = np.concatenate((whole.push(data), whole.flush()))
    audio = IncomingAudio(encoding, rate_hz)
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [audio.push(data[a:b]) for a, b in pairwise(bounds)]
    in_parts = np.concatenate((*parts, audio.flush()))
    assert in_parts.dtype == at_once.dtype == np.float32
    assert len(in_parts) == len(at_once)
    np.testing.assert_allclose(in_parts, at_once, atol=1e-5)
    assert np.isfinite(at_once).all()
    samples = len(data) // (2 if encoding == "linear16" else 1)
    assert len(at_once) == pytest.approx(samples * 16_000 / rate_hz, abs=2)
    if rate_hz == 16_000:
        raw = data[: samples * 2] if encoding == "linear16" else data
        read = linear16_to_int16 if encoding == "linear16" else mulaw_to_int16
        assert np.array_equal(at_once, int16_to_float(read(raw)))
