"""Our own language server: the built-in script, or a model in vLLM."""

import sys
from importlib.util import find_spec
from pathlib import Path

from voice_agent.stack.errors import StackError
from voice_agent.stack.model_probe import SCRIPT_MODEL, LanguageModel
from voice_agent.stack.ports import LOOPBACK
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.vllm_environment import vllm_python


def serves_model(settings: RunSettings) -> bool:
    """Whether our language server serves a model; it is not started where another is named."""
    return settings.language_engine == "vllm" and settings.llm_url is None


def script_model(port: int) -> LanguageModel:
    """The built-in script, at its port."""
    return LanguageModel(_url(port), SCRIPT_MODEL, "script", "built in")


def own_model(settings: RunSettings, port: int) -> LanguageModel:
    """The model that our language server will serve at a port.

    Raises:
        StackError: a model in vLLM is asked for and none is named; the message says what to do.
    """
    if not serves_model(settings):
        return script_model(port)
    name = settings.language_model_name or _directory(settings).name
    return LanguageModel(_url(port), name, "own", "vLLM")


def language_settings(settings: RunSettings) -> dict[str, str]:
    """Its settings in full, for `.env` files are read by us and not by the server.

    Raises:
        StackError: as `own_model`, or there is no vLLM.
    """
    if not serves_model(settings):
        return {}
    model = _directory(settings)
    if find_spec("vllm") is not None and settings.language_python is None:
        python = Path(sys.executable)
    else:
        named = settings.language_python or settings.voice_python
        python = vllm_python(named, "PARLEY_LANGUAGE_PYTHON", "the language model")
    return {
        "PARLEY_LANGUAGE_ENGINE": "vllm",
        "PARLEY_LANGUAGE_MODEL": str(model),
        "PARLEY_LANGUAGE_MODEL_NAME": settings.language_model_name or model.name,
        "PARLEY_LANGUAGE_PYTHON": str(python),
    }


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
