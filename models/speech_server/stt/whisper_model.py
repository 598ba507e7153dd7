"""Finds and loads a Whisper model; the only place that imports faster-whisper and CTranslate2."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from speech_server.stt.whisper_features import Features

logger = logging.getLogger(__name__)

Device = Literal["cpu", "cuda"]

_DEFAULT_MODELS: Final[dict[Device, str]] = {"cuda": "large-v3-turbo", "cpu": "base"}
_DEFAULT_COMPUTE_TYPES: Final[dict[Device, str]] = {"cuda": "float16", "cpu": "int8"}
"""Source: the recommendations of faster-whisper's README."""
_NEEDED_FILES: Final = ("config.json", "model.bin", "tokenizer.json")
_CONTEXT_TOKENS: Final = 448
"""Whisper's decoder holds no more."""
MAX_NEW_TOKENS: Final = _CONTEXT_TOKENS // 2
"""The longest text of one window. Source: OpenAI's decoder (`sample_len`)."""
MAX_PROMPT_TOKENS: Final = _CONTEXT_TOKENS // 2 - 1
"""The longest prompt. Source: OpenAI's decoder, which keeps this much of the text before."""


class WhisperUnavailable(RuntimeError):
    """The model cannot be loaded; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What the decoder wrote for one window."""

    tokens: list[int]
    log_probability: float
    """Mean over the tokens and the end."""
    no_speech: float
    """Probability that nobody speaks."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where the tokens of one window lie in its audio."""

    frames: npt.NDArray[np.int64]
    """First encoder frame of each token (50 a second), and of the end."""
    probabilities: list[float]
    """Of each token, in [0, 1]."""


class WhisperModel:
    """A loaded model; every call is for a batch. Use `load_whisper`."""

    def __init__(self, loaded: Any, name: str, alignable: bool) -> None:
        from faster_whisper.tokenizer import Tokenizer

        self.name = name
        self.alignable = alignable
        """Whether the model says which of its attention heads follow the audio."""
        self.multilingual: bool = loaded.model.is_multilingual
        self.device: Device = loaded.model.device
        self.extract_features = loaded.feature_extractor
        self._model = loaded.model
        self._hf_tokenizer = loaded.hf_tokenizer
        self._new_tokenizer = Tokenizer
        self._tokenizers: dict[str, Any] = {}
        self.languages: tuple[str, ...] = ("en",)
        if self.multilingual:
            spoken = (
                self._hf_tokenizer.token_to_id(f"<|{c}|>") for c in loaded.supported_languages
            )
            known = zip(loaded.supported_languages, spoken, strict=True)
            self.languages = tuple(code for code, token in known if token is not None)

    def tokenizer(self, language: str) -> Any:
        """faster-whisper's tokenizer for a language that the model knows."""
        if language not in self._tokenizers:
            self._tokenizers[language] = self._new_tokenizer(
                self._hf_tokenizer, self.multilingual, "transcribe", language
            )
        return self._tokenizers[language]

    def encode(self, features: Sequence[Features]) -> Any:
        """Run the encoder.

        Args:
            features: windows of equal length.
        """
        from ctranslate2 import StorageView

        return self._model.encode(StorageView.from_array(np.ascontiguousarray(np.stack(features))))

    def detect_languages(self, encoded: Any) -> list[str]:
        """The most probable language of each window."""
        ranked = self._model.detect_language(encoded)
        return [languages[0][0].strip("<|>") for languages in ranked]

    def generate(
        self, encoded: Any, prompts: list[list[int]], max_new_tokens: int, beam_size: int
    ) -> list[Generated]:
        """Write the text of every window, in one call.

        Args:
            encoded: what `encode` returned.
            prompts: tokens to begin with, of equal length.
            max_new_tokens: where to stop at the latest.
            beam_size: 1 takes the best token every time.
        """
        # CTranslate2 counts the prompt into the length and gives the text no more than half of it.
        length = min(_CONTEXT_TOKENS, max(len(prompts[0]) + max_new_tokens, 2 * max_new_tokens))
        results = self._model.generate(
            encoded,
            prompts,
            beam_size=beam_size,
            max_length=length,
            return_scores=True,
            return_no_speech_prob=True,
        )
        return [_generated(result) for result in results]

    def align(
        self, encoded: Any, language: str, texts: list[list[int]], frames: list[int]
    ) -> list[Alignment]:
        """Find when each token was said.

        Args:
            encoded: what `encode` returned.
            language: of all the texts.
            texts: tokens of each window.
            frames: feature frames that are not padding, for each window.
        """
        start = self.tokenizer(language).sot_sequence
        return [_alignment(found) for found in self._model.align(encoded, start, texts, frames)]

    def close(self) -> None:
        """Free the weights."""
        self._model.unload_model()


def _generated(result: Any) -> Generated:
    tokens = list(result.sequences_ids[0])
    # The score is a mean over the tokens; Whisper's own mean counts the end as well.
    mean = result.scores[0] * len(tokens) / (len(tokens) + 1)
    return Generated(tokens, mean, result.no_speech_prob)


def _alignment(found: Any) -> Alignment:
    pairs = np.array(found.alignments, dtype=np.int64).reshape(-1, 2)
    first = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    return Alignment(pairs[first, 1], list(found.text_token_probs))


def load_whisper(
    model: str | None = None,
    *,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    compute_type: str = "auto",
    cpu_threads: int = 0,
    allow_download: bool = False,
) -> WhisperModel:
    """Load a model.

    Args:
        model: a directory in faster-whisper's format, or a name of the Hugging Face hub
            (`large-v3-turbo`, `Systran/faster-whisper-small`); None: what suits the device.
        device: where to run; `auto` takes a GPU where there is one.
        compute_type: CTranslate2's name; `auto`: float16 on a GPU, int8 on a CPU.
        cpu_threads: 0 lets CTranslate2 decide.
        allow_download: fetch a hub's model that is not on this machine.

    Raises:
        WhisperUnavailable: the library, the model or the device is missing.
    """
    try:
        import ctranslate2
        import faster_whisper
    except ImportError as error:
        raise WhisperUnavailable(
            f"PARLEY_STT_ENGINE=whisper: {error}; `PARLEY_STT_ENGINE=whisper make run` installs it "
            "(requirements/whisper.txt)"
        ) from error
    device = _device(device, ctranslate2.get_cuda_device_count())
    compute_type = _DEFAULT_COMPUTE_TYPES[device] if compute_type == "auto" else compute_type
    supported = sorted(ctranslate2.get_supported_compute_types(device))
    if compute_type not in (*supported, "default"):
        raise WhisperUnavailable(
            f"compute type {compute_type}: this machine's {device} supports {', '.join(supported)}"
        )
    name = model or _DEFAULT_MODELS[device]
    folder = _folder(name, allow_download)
    try:
        loaded = faster_whisper.WhisperModel(
            str(folder), device=device, compute_type=compute_type, cpu_threads=cpu_threads
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise WhisperUnavailable(f"the Whisper model {name} cannot be loaded: {error}") from error
    logger.info(
        "whisper loaded", extra={"model": name, "device": device, "compute_type": compute_type}
    )
    return WhisperModel(loaded, Path(name).name, _has_alignment_heads(folder))


def _device(asked: Literal["auto", "cpu", "cuda"], gpus: int) -> Device:
    if asked == "cuda" and not gpus:
        raise WhisperUnavailable(
            "device cuda: CTranslate2 finds no GPU; check the driver with nvidia-smi and install "
            "CUDA 12 and cuDNN 9, or set PARLEY_STT_DEVICE=cpu"
        )
    if asked == "auto":
        return "cuda" if gpus else "cpu"
    return asked


def _folder(name: str, allow_download: bool) -> Path:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if name.startswith((".", "/", "~")):
            raise WhisperUnavailable(f"PARLEY_STT_MODEL={name}: there is no such directory")
        folder = _from_hub(name, allow_download)
    missing = [file for file in _NEEDED_FILES if not (folder / file).is_file()]
    if missing:
        raise WhisperUnavailable(
            f"PARLEY_STT_MODEL={name}: {', '.join(missing)} missing; a model of Hugging Face is "
            "converted with: ct2-transformers-converter --model NAME --output_dir DIR "
            "--copy_files tokenizer.json preprocessor_config.json"
        )
    return folder


def _from_hub(name: str, allow_download: bool) -> Path:
    from faster_whisper import download_model

    try:
        return Path(download_model(name, local_files_only=not allow_download))
    except (OSError, ValueError) as error:  # HTTP and "not in the cache" are OSErrors as well
        fix = "check the name and the connection" if allow_download else "set PARLEY_STT_DOWNLOAD=1"
        raise WhisperUnavailable(
            f"PARLEY_STT_MODEL={name}: neither a directory nor a model on this machine; {fix}, or "
            f"give a directory ({type(error).__name__})"
        ) from error


def _has_alignment_heads(folder: Path) -> bool:
    config: dict[str, object] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return bool(config.get("alignment_heads"))
