"""LiveKit plugins for the Parley speech server and for a language model of one's own.

The classes speak the server's public wires, so a speech server elsewhere needs nothing but its URL.
"""

from livekit.agents import Plugin

from speech_plugins.llm import LLM
from speech_plugins.log import logger
from speech_plugins.stt import STT
from speech_plugins.tts import TTS
from speech_plugins.version import __version__

__all__ = ["LLM", "STT", "TTS", "__version__"]


class _SpeechPlugin(Plugin):
    """Tells LiveKit our name and logger; it takes log levels and pre-loading from there."""

    def __init__(self) -> None:
        super().__init__(__name__, __version__, __name__, logger)


Plugin.register_plugin(_SpeechPlugin())
