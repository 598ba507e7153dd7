from urllib.parse import parse_qsl

import pytest

from speech_server.errors import BadRequest
from speech_server.stt.listen_query import IGNORED, REFUSED_WHEN_ON, ListenQuery, parse_listen_query

RAW = "encoding=linear16&sample_rate=16000"
LIVEKIT = (
    "model=nova-3&punctuate=true&smart_format=false&no_delay=true&interim_results=true"
    "&encoding=linear16&vad_events=true&sample_rate=16000&channels=1&endpointing=25"
    "&filler_words=true&profanity_filter=false&numerals=false&mip_opt_out=false&language=en-US"
)
"""What livekit-plugins-deepgram 1.8.9 sends with its defaults."""
PIPECAT = (
    "detect_entities=false&diarize=false&dictation=false&interim_results=true&numerals=false"
    "&punctuate=true&smart_format=false&model=nova-3-general&language=en&encoding=linear16"
    "&channels=1&multichannel=false&sample_rate=16000"
)
"""What pipecat-ai 1.14.0 sends with its defaults."""


def parse(query: str, *, streaming: bool = True) -> ListenQuery:
    pairs = parse_qsl(query, keep_blank_values=True)
    return parse_listen_query(pairs, ("en",), streaming=streaming)


def test_livekit_defaults() -> None:
    query = parse(LIVEKIT)
    assert query == ListenQuery(
        encoding="linear16",
        sample_rate_hz=16_000,
        language="en-US",
        interim_results=True,
        vad_events=True,
        endpointing_s=0.2,
    )


def test_pipecat_defaults() -> None:
    query = parse(PIPECAT)
    assert query.interim_results
    assert query.endpointing_s == 0.2
    assert query.sample_rate_hz == 16_000


def test_our_own_plugin() -> None:
    query = parse("encoding=linear16&sample_rate=24000&endpointing=false&preflight=true")
    assert query.endpointing_s is None
    assert query.preflight
    assert query.sample_rate_hz == 24_000


@pytest.mark.parametrize(
    ("endpointing", "silence_s"),
    [("false", None), ("0", None), ("true", 0.2), ("10", 0.2), ("300", 0.3), ("10000", 10.0)],
)
def test_endpointing(endpointing: str, silence_s: float | None) -> None:
    assert parse(f"{RAW}&endpointing={endpointing}").endpointing_s == silence_s


def test_keyterms_become_a_prompt() -> None:
    query = parse(f"{RAW}&keyterm=Peter+Miller&keywords=parley:2.5&keywords=plain")
    assert query.keyterms == ("Peter Miller", "parley", "plain")
    assert query.prompt == "Peter Miller, parley, plain"
    assert parse(RAW).prompt is None


@pytest.mark.parametrize("name", sorted(IGNORED))
def test_ignored_parameters_are_accepted(name: str) -> None:
    assert parse(f"{RAW}&{name}=anything") == parse(RAW)


@pytest.mark.parametrize("name", sorted(REFUSED_WHEN_ON))
def test_features_that_we_lack_are_refused_only_when_on(name: str) -> None:
    assert parse(f"{RAW}&{name}=false") == parse(RAW)
    with pytest.raises(BadRequest, match=name):
        parse(f"{RAW}&{name}=pci")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("sample_rate=16000", "required"),
        ("encoding=linear16", "required"),
        ("encoding=opus&sample_rate=16000", "encoding"),
        ("encoding=linear16&sample_rate=16001", "sample_rate"),
        ("encoding=linear16&sample_rate=4000", "sample_rate"),
        ("encoding=linear16&sample_rate=x", "sample_rate"),
        (f"{RAW}&channels=2", "channels"),
        (f"{RAW}&language=de", "language"),
        (f"{RAW}&language=multi", "language"),
        (f"{RAW}&interim_results=yes", "interim_results"),
        (f"{RAW}&endpointing=-1", "endpointing"),
        (f"{RAW}&endpointing=10001", "endpointing"),
        (f"{RAW}&endpointing=%D9%A3%D9%A3", "endpointing"),
        (f"{RAW}&utterance_end_ms=5", "utterance_end_ms"),
        (f"{RAW}&utterance_end_ms=1e3", "utterance_end_ms"),
        (f"{RAW}&sample_rate=16000", "twice"),
        (f"{RAW}&endpoint=10", "unknown parameter: endpoint"),
        (f"{RAW}&utterances=true", "unknown"),
        (f"{RAW}&keyterm={'x' * 300}", "keyterm"),
        (f"{RAW}{'&keyterm=x' * 101}", "keyterm"),
    ],
)
def test_a_wrong_parameter_is_named(query: str, fault: str) -> None:
    with pytest.raises(BadRequest, match=fault):
        parse(query)


def test_a_post_takes_files_and_raw_audio() -> None:
    assert parse("", streaming=False).encoding is None
    assert parse(RAW, streaming=False).encoding == "linear16"
    assert parse("utterances=true", streaming=False).utterances
    with pytest.raises(BadRequest, match="unknown"):
        parse("interim_results=true", streaming=False)
