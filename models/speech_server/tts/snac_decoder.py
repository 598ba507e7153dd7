"""Loads SNAC and decodes windows: with onnxruntime on a CPU, with torch on a GPU."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed
from speech_server.tts.orpheus_codes import CODEBOOK_SIZE, SLOTS, to_levels
from speech_server.tts.snac_stream import CONTEXT_FRAMES, Window

logger = logging.getLogger(__name__)

Device = Literal["auto", "cpu", "cuda"]

ONNX_FILE: Final = "decoder.onnx"
"""Written by `snac_export` beside SNAC's own files."""
MAX_WINDOW_FRAMES: Final = 64
"""Longest window: bounds the memory and the time of one call. A stream asks for 13 at most."""
_TORCH_FILES: Final = ("config.json", "pytorch_model.bin")


class SnacUnavailable(RuntimeError):
    """The model cannot be loaded; the message says what to do."""


class SnacDecoder(Protocol):
    """A loaded SNAC. Not for several threads at once."""

    @property
    def max_batch(self) -> int:
        """Windows that are worth decoding in one call."""
        ...

    def decode(self, window: Window) -> PcmFloat:
        """Decode one window.

        Returns:
            float32, (`window.samples`,), 24 kHz, in [-1, 1].

        Raises:
            EngineFailed: the window is malformed, or the model failed on it.
        """
        ...

    def decode_batch(self, windows: Sequence[Window]) -> list[PcmFloat]:
        """Decode several windows, of any lengths.

        Raises:
            EngineFailed: as `decode`; then none of them is decoded.
        """
        ...


def load_snac(folder: Path, device: Device = "auto", threads: int = 1) -> SnacDecoder:
    """Load a SNAC and decode once.

    Args:
        folder: SNAC's own files (config.json, pytorch_model.bin), decoder.onnx, or both; or the
            path of an ONNX file.
        device: where to run; `auto` takes a GPU where there is one and torch can use it.
        threads: of the processor, for one window.

    Raises:
        SnacUnavailable: no such folder, files missing or damaged, no such device.
    """
    if not folder.exists():
        raise SnacUnavailable(f"SNAC: there is no directory {folder}")
    onnx_file = folder if folder.is_file() else folder / ONNX_FILE
    has_torch = all((folder / name).is_file() for name in _TORCH_FILES)
    if not onnx_file.is_file() and not has_torch:
        raise SnacUnavailable(
            f"SNAC: {folder} holds neither {ONNX_FILE} nor {' and '.join(_TORCH_FILES)}"
        )
    began_at = time.perf_counter()
    decoder: SnacDecoder
    if has_torch and (device == "cuda" or (device == "auto" and _gpu_found())):
        decoder = _torch_decoder(folder, "cuda", threads)
    elif device == "cuda":
        raise SnacUnavailable(f"SNAC: a GPU needs {' and '.join(_TORCH_FILES)} in {folder}")
    elif onnx_file.is_file():
        decoder = OnnxSnac(onnx_file, threads)
    else:
        decoder = _torch_decoder(folder, "cpu", threads)
    _decode_once(decoder)
    logger.info(
        "SNAC loaded",
        extra={"backend": type(decoder).__name__, "load_s": time.perf_counter() - began_at},
    )
    return decoder


def _decode_once(decoder: SnacDecoder) -> None:
    """Pay for the first decode, and see that the model does what a stream needs."""
    frames = np.zeros((2 * CONTEXT_FRAMES + 1, SLOTS), dtype=np.int64)
    window = Window(frames, CONTEXT_FRAMES, CONTEXT_FRAMES)
    try:
        audio = decoder.decode(window)
    except EngineFailed as error:
        raise SnacUnavailable(f"{error.message}; is it a SNAC for 24 kHz?") from error
    if audio.shape != (window.samples,) or audio.dtype != np.float32:
        raise SnacUnavailable("SNAC: the model makes something else than audio of 24 kHz")


def check_window(window: Window) -> None:
    """Refuse what no model may be given.

    Raises:
        EngineFailed: another shape, a code that is none, nothing wanted, or too many frames.
    """
    codes = window.codes
    if codes.ndim != 2 or codes.shape[1] != SLOTS or codes.dtype != np.int64:
        raise EngineFailed(f"SNAC: codes are int64, (frames, {SLOTS})")
    if window.left < 0 or window.right < 0 or window.left + window.right >= len(codes):
        raise EngineFailed("SNAC: a window with no frame that is wanted")
    if len(codes) > MAX_WINDOW_FRAMES:
        raise EngineFailed(f"SNAC: a window of {len(codes)} frames; {MAX_WINDOW_FRAMES} at most")
    if codes.min() < 0 or codes.max() >= CODEBOOK_SIZE:
        raise EngineFailed(f"SNAC: a code is 0..{CODEBOOK_SIZE - 1}")


class OnnxSnac:
    """Runs the file of `snac_export` with onnxruntime, one window at a time.

    Several windows in one call are slower on a CPU than one after the other: the intermediate
    results no longer fit its caches.

    Args:
        file: decoder.onnx.
        threads: for one window.

    Raises:
        SnacUnavailable: the file is damaged, or not one of ours.
    """

    max_batch = 1

    def __init__(self, file: Path, threads: int = 1) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that wait by spinning would take the processor from the other stages.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(file), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its errors share no base of their own
            raise SnacUnavailable(f"SNAC: {file} cannot be loaded: {error}") from error
        self._names: list[str] = [given.name for given in self._session.get_inputs()]
        if self._names[3:] != ["left", "right"]:
            raise SnacUnavailable(
                f"SNAC: {file} decodes whole windows only; make one with "
                "`python -m speech_server.tts.snac_export`"
            )

    def decode(self, window: Window) -> PcmFloat:
        """Decode one window; see `SnacDecoder`."""
        check_window(window)
        levels = [level[np.newaxis] for level in to_levels(window.codes)]
        context = [np.array(window.left), np.array(window.right)]
        given = dict(zip(self._names, [*levels, *context], strict=True))
        try:
            audio: PcmFloat = self._session.run(None, given)[0][0]
        except Exception as error:  # its errors share no base of their own
            raise EngineFailed("SNAC: onnxruntime failed on a window") from error
        return audio

    def decode_batch(self, windows: Sequence[Window]) -> list[PcmFloat]:
        """Decode several windows, one after the other; see `SnacDecoder`."""
        for window in windows:
            check_window(window)
        return [self.decode(window) for window in windows]


def _gpu_found() -> bool:
    try:
        import torch
    except ImportError:
        return False
    found: bool = torch.cuda.is_available()
    return found


def _torch_decoder(folder: Path, device: str, threads: int) -> SnacDecoder:
    try:
        from speech_server.tts.snac_torch import TorchSnac
    except ImportError as error:
        raise SnacUnavailable(
            f"SNAC: {error}; install `parley[orpheus]`, or make {ONNX_FILE} elsewhere with "
            "`python -m speech_server.tts.snac_export`"
        ) from error
    try:
        return TorchSnac(folder, device, threads)
    except (ValueError, OSError, RuntimeError) as error:
        raise SnacUnavailable(f"SNAC: {folder} cannot be loaded on {device}: {error}") from error
