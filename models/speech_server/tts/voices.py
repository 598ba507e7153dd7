"""Which of an engine's voices a request means."""

from speech_server.errors import BadRequest, NotFound
from speech_server.protocol.rest import OPENAI_VOICES, VoiceCard, VoiceList
from speech_server.tts.engine import TtsEngineInfo, Voice

_PREFERRED = {
    "alloy": 0, "coral": 0, "marin": 0, "nova": 0, "sage": 0, "shimmer": 0,
    "ash": 1, "cedar": 1, "echo": 1, "onyx": 1, "verse": 1,
    "ballad": 2, "fable": 2,
}  # fmt: skip
"""OpenAI voice name to the place of a voice of ours: engines list their default first, then one
that differs from it as much as may be."""


class Voices:
    """The voices of one engine and the OpenAI names that stand for them.

    Args:
        info: the engine.
    """

    def __init__(self, info: TtsEngineInfo) -> None:
        self._voices = {voice.id: voice for voice in info.voices}
        self._aliases = {
            name: info.voices[_PREFERRED[name] % len(info.voices)].id for name in OPENAI_VOICES
        }

    def resolve(self, voice: str | None, language: str | None = None) -> str:
        """The id of the voice asked for.

        Args:
            voice: an id or an OpenAI voice name; None takes the first that speaks the language.
            language: BCP 47 tag, or None where it was not said.

        Raises:
            NotFound: no such voice; the message lists those that exist.
            BadRequest: the voice does not speak the language.
        """
        if voice is None:
            return self._for_language(language).id
        found = self._voices.get(self._aliases.get(voice, voice))
        if found is None:
            raise NotFound(
                f"no such voice; there are: {', '.join(self._voices)}"
                f" (and, as aliases, {', '.join(OPENAI_VOICES)})"
            )
        if language is not None and _base(language) != _base(found.language):
            raise BadRequest(
                f"voice {found.id} speaks {found.language}, which is not the language asked for;"
                f" voices here speak: {', '.join(self._languages())}"
            )
        return found.id

    def listing(self) -> VoiceList:
        """The answer of `GET /v1/audio/voices`."""
        return VoiceList(
            voices=tuple(
                VoiceCard(
                    id=voice.id,
                    language=voice.language,
                    description=voice.description,
                    aliases=tuple(name for name, id_ in self._aliases.items() if id_ == voice.id),
                )
                for voice in self._voices.values()
            )
        )

    def _for_language(self, language: str | None) -> Voice:
        for voice in self._voices.values():
            if language is None or _base(language) == _base(voice.language):
                return voice
        raise BadRequest(
            f"no voice speaks that language; voices here speak: {', '.join(self._languages())}"
        )

    def _languages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(voice.language for voice in self._voices.values()))


def _base(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].lower()
