"""Our own language server: the built-in script, or a model in vLLM."""

from pathlib import Path

from voice_agent.settings import RunSettings
from voice_agent.stack.errors import StackError
from voice_agent.stack.model_probe import SCRIPT_MODEL, LanguageModel
from voice_agent.stack.ports import LOOPBACK


def script_model(port: int) -> LanguageModel:
    """The built-in script, at its port."""
    return LanguageModel(_url(port), SCRIPT_MODEL, "script", "built in")


def own_model(settings: RunSettings, port: int) -> LanguageModel:
    """The model that our language server will serve at a port.

    Raises:
        StackError: a model in vLLM is asked for and none is named; the message says what to do.
    """
    if settings.language_engine == "responder":
        return script_model(port)
    name = settings.language_model_name or _directory(settings).name
    return LanguageModel(_url(port), name, "own", "vLLM")


def language_settings(settings: RunSettings) -> dict[str, str]:
    """Its settings in full, for `.env` files are read by us and not by the server.

    Raises:
        StackError: as `own_model`.
    """
    if settings.language_engine == "responder":
        return {}
    told = {
        "PARLEY_LANGUAGE_ENGINE": "vllm",
        "PARLEY_LANGUAGE_MODEL": str(_directory(settings)),
        "PARLEY_LANGUAGE_MODEL_NAME": settings.language_model_name or _directory(settings).name,
    }
    # Not resolved: an environment's interpreter is a link, and knows its place by it.
    if python := settings.language_python or settings.voice_python:
        told["PARLEY_LANGUAGE_PYTHON"] = str(python.expanduser().absolute())
    return told


def _url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}/v1"


def _directory(settings: RunSettings) -> Path:
    if settings.language_model is None:
        raise StackError(
            "PARLEY_LANGUAGE_ENGINE=vllm needs PARLEY_LANGUAGE_MODEL",
            "PARLEY_LANGUAGE_MODEL=DIR, the directory of a chat model in Hugging Face's format.",
        )
    model = settings.language_model.expanduser().absolute()
    if not (model / "config.json").is_file():
        raise StackError(
            f"PARLEY_LANGUAGE_MODEL={model}: there is no config.json in it",
            "Name the directory of a chat model in Hugging Face's format.",
        )
    return model
