"""The query of `/v1/listen`: what a client asks for, checked before the first sample.

Every parameter that the stock clients send falls into one of four groups: acted on, accepted and
ignored, refused when switched on, or refused because nobody knows it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from speech_server.errors import BadRequest

Encoding = Literal["linear16", "mulaw"]

IGNORED: Final = frozenset({
    "api_key",  # read by the key check, not here
    "model",  # this server has one model and names it in every result
    "version",
    "punctuate", "smart_format", "numerals", "filler_words",  # the model writes as it writes
    "no_delay",  # nothing is ever held back
    "mip_opt_out", "tag", "extra",  # for the vendor's own books
})  # fmt: skip
"""Accepted from stock clients and not acted on: leaving them out costs the client nothing."""

REFUSED_WHEN_ON: Final = frozenset({
    "callback", "callback_method", "channel_layout", "detect_entities", "detect_language",
    "diarize", "dictation", "multichannel", "paragraphs", "profanity_filter", "redact", "replace",
    "search", "sentiment", "summarize", "topics", "intents",
})  # fmt: skip
"""Accepted when empty or false. Ignoring them otherwise would break a promise to the client."""

_SAMPLE_RATES_HZ: Final = (
    8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000,
)  # fmt: skip
_ENDPOINTING_FLOOR_S: Final = 0.2
"""Deepgram's default is 10 ms, judged by its own model. Ours counts silence alone, and gaps of
120 ms occur inside a word: below this it would cut words in two."""
_MAX_ENDPOINTING_S: Final = 10.0
_UTTERANCE_END_RANGE_S: Final = (0.1, 60.0)
_MAX_KEYTERMS: Final = 100
_MAX_VALUE_CHARS: Final = 256


@dataclass(frozen=True, slots=True)
class ListenQuery:
    """What a client of `/v1/listen` asked for."""

    encoding: Encoding | None = None
    """Format of raw audio; None: a file that tells its own format (POST only)."""
    sample_rate_hz: int | None = None
    language: str | None = None
    """BCP 47 tag; None lets the engine decide."""
    interim_results: bool = False
    vad_events: bool = False
    preflight: bool = False
    """Our extension."""
    endpointing_s: float | None = _ENDPOINTING_FLOOR_S
    """Silence that ends an utterance, seconds; None: only the client ends them."""
    utterance_end_s: float | None = None
    utterances: bool = False
    """POST only: list the utterances with their times."""
    keyterms: tuple[str, ...] = ()

    @property
    def prompt(self) -> str | None:
        """The keyterms as one line for the engine."""
        return ", ".join(self.keyterms) or None


def parse_listen_query(
    pairs: Iterable[tuple[str, str]], languages: tuple[str, ...], *, streaming: bool
) -> ListenQuery:
    """Check a query.

    Args:
        pairs: the query's parameters in order, repeated ones repeated.
        languages: BCP 47 tags that the engine understands.
        streaming: True for the WebSocket, False for a POST.

    Raises:
        BadRequest: names the parameter, what is wrong with it and what would be right.
    """
    values: dict[str, str] = {}
    keyterms: list[str] = []
    for name, value in pairs:
        if len(value) > _MAX_VALUE_CHARS:
            raise BadRequest(f"{name}: longer than {_MAX_VALUE_CHARS} characters")
        if name in {"keyterm", "keywords"}:
            # `keywords` carries a weight behind a colon, which our engines have no use for.
            keyterms.append(value.rsplit(":", 1)[0] if name == "keywords" else value)
        elif name in REFUSED_WHEN_ON:
            if value.lower() not in {"", "false"}:
                raise BadRequest(f"{name}: not supported by this server; leave it out")
        elif name not in IGNORED:
            if name in values:
                raise BadRequest(f"{name}: given twice")
            values[name] = value
    if len(keyterms) > _MAX_KEYTERMS:
        raise BadRequest(f"keyterm: more than {_MAX_KEYTERMS}")
    common = {
        "encoding": _encoding,
        "sample_rate": _sample_rate,
        "channels": _channels,
        "language": lambda value: _language(value, languages),
    }
    known = common | (_STREAMING if streaming else _PRERECORDED)
    if unknown := sorted(set(values) - set(known)):
        raise BadRequest(f"unknown parameter: {', '.join(unknown)}")
    if streaming and not {"encoding", "sample_rate"} <= set(values):
        raise BadRequest(
            "encoding and sample_rate are required: a stream carries raw audio without a header"
        )
    fields: dict[str, object] = {"keyterms": tuple(filter(None, keyterms))}
    for name, value in values.items():
        if name != "channels" or _channels(value):
            fields[_FIELDS.get(name, name)] = known[name](value)
    fields.pop("channels", None)
    return ListenQuery(**fields)  # type: ignore[arg-type]


def _boolean(name: str) -> Callable[[str], bool]:
    def parse(value: str) -> bool:
        if value.lower() not in {"true", "false"}:
            raise BadRequest(f"{name}: must be true or false")
        return value.lower() == "true"

    return parse


def _milliseconds(name: str, value: str) -> float:
    # isdecimal alone would let other scripts' digits through, which int() reads as well.
    if not (value.isascii() and value.isdecimal()):
        raise BadRequest(f"{name}: must be a whole number of milliseconds")
    return int(value) / 1000


def _encoding(value: str) -> Encoding:
    if value == "linear16":
        return "linear16"
    if value == "mulaw":
        return "mulaw"
    raise BadRequest("encoding: must be linear16 or mulaw")


def _sample_rate(value: str) -> int:
    if value not in {str(rate) for rate in _SAMPLE_RATES_HZ}:
        rates = ", ".join(map(str, _SAMPLE_RATES_HZ))
        raise BadRequest(f"sample_rate: must be one of {rates}")
    return int(value)


def _channels(value: str) -> int:
    if value != "1":
        raise BadRequest("channels: only 1 is supported; open one stream for each channel")
    return 1


def _language(value: str, languages: tuple[str, ...]) -> str:
    if value.partition("-")[0].lower() not in {tag.partition("-")[0].lower() for tag in languages}:
        raise BadRequest(f"language: this server's model knows {', '.join(languages)} only")
    return value


def _endpointing(value: str) -> float | None:
    if value.lower() in {"false", "0"}:
        return None
    if value.lower() == "true":
        return _ENDPOINTING_FLOOR_S
    silence_s = _milliseconds("endpointing", value)
    if silence_s > _MAX_ENDPOINTING_S:
        raise BadRequest(f"endpointing: at most {_MAX_ENDPOINTING_S * 1000:g}")
    return max(silence_s, _ENDPOINTING_FLOOR_S)


def _utterance_end(value: str) -> float:
    silence_s = _milliseconds("utterance_end_ms", value)
    least_s, most_s = _UTTERANCE_END_RANGE_S
    if not least_s <= silence_s <= most_s:
        raise BadRequest(f"utterance_end_ms: {least_s * 1000:g} to {most_s * 1000:g}")
    return silence_s


_FIELDS: Final = {
    "sample_rate": "sample_rate_hz",
    "endpointing": "endpointing_s",
    "utterance_end_ms": "utterance_end_s",
}
_STREAMING: Final[dict[str, Callable[[str], object]]] = {
    "interim_results": _boolean("interim_results"),
    "vad_events": _boolean("vad_events"),
    "preflight": _boolean("preflight"),
    "endpointing": _endpointing,
    "utterance_end_ms": _utterance_end,
}
_PRERECORDED: Final[dict[str, Callable[[str], object]]] = {
    "utterances": _boolean("utterances"),
}
