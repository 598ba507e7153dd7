"""Writes a SNAC as ONNX, so that it runs on a CPU without torch.

python -m speech_server.tts.snac_export FOLDER
"""

import argparse
import logging
import warnings
from pathlib import Path
from typing import Final

from speech_server.tts.snac_decoder import ONNX_FILE

logger = logging.getLogger(__name__)

_OPSET: Final = 17
"""Read by every onnxruntime since 1.13."""
_INPUTS: Final = ("audio_codes.0", "audio_codes.1", "audio_codes.2", "left", "right")
"""The codes bear the names that ONNX exports of SNAC elsewhere give them."""


def export(folder: Path, file: Path) -> None:
    """Write the decoder of a SNAC as one ONNX file, for any batch and number of frames.

    Args:
        folder: config.json and pytorch_model.bin, as SNAC reads them.
        file: to write.

    Raises:
        UnsuitableModel: the folder holds no SNAC for Orpheus.
        OSError: a file is missing or cannot be written.
    """
    import torch

    from speech_server.tts.snac_network import read_snac

    decoder = read_snac(folder)
    frames = 8
    codes = [torch.zeros((1, frames * per_frame), dtype=torch.int64) for per_frame in (1, 2, 4)]
    context = [torch.tensor(3), torch.tensor(3)]
    with torch.inference_mode(), warnings.catch_warnings():
        # The exporter of today is the only one that keeps the crops dynamic; it says it is old.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            decoder,
            (*codes, *context),
            str(file),
            input_names=list(_INPUTS),
            output_names=["audio_values"],
            dynamic_axes={
                "audio_codes.0": {0: "batch", 1: "frames"},
                "audio_codes.1": {0: "batch", 1: "frames_x_2"},
                "audio_codes.2": {0: "batch", 1: "frames_x_4"},
                "audio_values": {0: "batch", 1: "samples"},
            },
            opset_version=_OPSET,
            dynamo=False,
        )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m speech_server.tts.snac_export", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="holds config.json and pytorch_model.bin")
    parser.add_argument("--out", type=Path, help=f"default: {ONNX_FILE} in the folder")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    file = args.out or args.folder / ONNX_FILE
    export(args.folder, file)
    logger.info("%s: %.1f MB", file, file.stat().st_size / 1e6)


if __name__ == "__main__":
    main()
