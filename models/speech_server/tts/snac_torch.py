"""SNAC with torch: batches of windows on a GPU, captured as CUDA graphs.

On a GPU a decode is bound by the launches of its many small layers, not by arithmetic: windows of
equal shape go together, and every shape is captured once and replayed. On a CPU windows go one by
one. The part for a GPU has not been run yet: no test here has one.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed
from speech_server.tts.orpheus_codes import to_levels
from speech_server.tts.snac_decoder import check_window
from speech_server.tts.snac_network import read_snac
from speech_server.tts.snac_stream import Window

_MAX_BATCH: Final = 64
_MAX_GRAPHS: Final = 64
"""Shapes captured; later ones run without a graph. A stream asks for about twenty shapes,
each in up to seven sizes of batch, of which most are rare."""
_WARM_UP_RUNS: Final = 3
"""Source: PyTorch's notes on CUDA graphs."""

Shape = tuple[int, int, int]
"""Frames, context left, context right."""
Batch = list[npt.NDArray[np.int64]]
"""The three levels, each (batch, codes)."""


class TorchSnac:
    """Runs SNAC's own files.

    Args:
        folder: config.json and pytorch_model.bin.
        device: "cpu" or "cuda".
        threads: of the processor; changes torch's setting for the whole process.

    Raises:
        UnsuitableModel: the files are no SNAC for Orpheus.
        OSError: a file is missing.
        RuntimeError: the device cannot be used.
    """

    def __init__(self, folder: Path, device: str, threads: int = 1) -> None:
        torch.set_num_threads(threads)
        self._device = torch.device(device)
        self._decoder = read_snac(folder).to(self._device)
        self._runs: dict[tuple[int, Shape], _Run] = {}
        on_gpu = self._device.type == "cuda"
        self._pool = torch.cuda.graph_pool_handle() if on_gpu else None
        self.max_batch = _MAX_BATCH if on_gpu else 1

    def decode(self, window: Window) -> PcmFloat:
        """Decode one window; see `SnacDecoder`."""
        return self.decode_batch([window])[0]

    def decode_batch(self, windows: Sequence[Window]) -> list[PcmFloat]:
        """Decode several windows, those of equal shape together; see `SnacDecoder`."""
        by_shape: dict[Shape, list[int]] = defaultdict(list)
        for index, window in enumerate(windows):
            check_window(window)
            by_shape[len(window.codes), window.left, window.right].append(index)
        decoded: dict[int, PcmFloat] = {}
        for shape, indices in by_shape.items():
            for start in range(0, len(indices), self.max_batch):
                part = indices[start : start + self.max_batch]
                levels = [to_levels(windows[index].codes) for index in part]
                batch = [np.stack(level) for level in zip(*levels, strict=True)]
                try:
                    audio = self._run(batch, shape)
                except RuntimeError as error:
                    raise EngineFailed("SNAC: torch failed on a window") from error
                decoded.update(zip(part, audio, strict=True))
        return [decoded[index] for index in range(len(windows))]

    def _run(self, batch: Batch, shape: Shape) -> npt.NDArray[np.float32]:
        if self._device.type == "cpu":
            with torch.inference_mode():
                tensors = [torch.from_numpy(level) for level in batch]
                audio: npt.NDArray[np.float32] = self._decode(tensors, shape).numpy()
            return audio
        rows = len(batch[0])
        padded = 1 << (rows - 1).bit_length()
        full = [np.pad(level, ((0, padded - rows), (0, 0))) for level in batch]
        run = self._runs.get((padded, shape))
        if run is None:
            run = _Run(full, lambda given: self._decode(given, shape))
            if len(self._runs) < _MAX_GRAPHS:
                run.capture(self._pool)
                self._runs[padded, shape] = run
        return run(full)[:rows]

    def _decode(self, batch: list[torch.Tensor], shape: Shape) -> torch.Tensor:
        _, left, right = shape
        # On the CPU, where the crops are computed: a GPU would be waited for at every layer.
        audio: torch.Tensor = self._decoder(*batch, torch.tensor(left), torch.tensor(right))
        return audio


class _Run:
    """One shape of batch: pinned staging, device buffers and, once captured, a CUDA graph.

    Args:
        batch: codes of that shape.
        decode: from device buffers to audio on the device.
    """

    def __init__(self, batch: Batch, decode: Callable[[list[torch.Tensor]], torch.Tensor]) -> None:
        self._staging = [torch.from_numpy(level).pin_memory() for level in batch]
        self._inputs = [level.cuda() for level in self._staging]
        self._decode = decode
        self._replay: Callable[[], torch.Tensor] | None = None

    def capture(self, pool: Any) -> None:
        """Run a few times, then record.

        Args:
            pool: memory shared by all graphs. They run one after the other, and the audio is
                copied to the host before the next one does.
        """
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.inference_mode(), torch.cuda.stream(stream):
            for _ in range(_WARM_UP_RUNS):
                self._decode(self._inputs)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.inference_mode(), torch.cuda.graph(graph, pool=pool):
            output = self._decode(self._inputs)

        def replay() -> torch.Tensor:
            graph.replay()
            return output

        self._replay = replay

    def __call__(self, batch: Batch) -> npt.NDArray[np.float32]:
        """Decode; returns float32, (batch, samples), on the host."""
        with torch.inference_mode():
            for staged, level, given in zip(self._staging, batch, self._inputs, strict=True):
                staged.copy_(torch.from_numpy(level))
                given.copy_(staged, non_blocking=True)
            output = self._decode(self._inputs) if self._replay is None else self._replay()
            audio: npt.NDArray[np.float32] = output.cpu().numpy()
        return audio
