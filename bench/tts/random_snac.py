"""Writes a SNAC of the true dimensions with random weights: speed as the real one, sound as noise.

python -m bench.tts.random_snac FOLDER        needs parley[orpheus]
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

TRUE: Final[dict[str, Any]] = {
    "sampling_rate": 24_000,
    "encoder_dim": 48,
    "encoder_rates": [2, 4, 8, 8],
    "decoder_dim": 1024,
    "decoder_rates": [8, 8, 4, 2],
    "attn_window_size": None,
    "codebook_size": 4096,
    "codebook_dim": 8,
    "vq_strides": [4, 2, 1],
    "noise": True,
    "depthwise": True,
}
"""Source: config.json of hubertsiuzdak/snac_24khz."""
SMALL: Final[dict[str, Any]] = TRUE | {"encoder_dim": 8, "decoder_dim": 128}
"""Those of the tests' tiny voice: to try a measurement on any machine."""

_RMS: Final = 0.1
"""Loudness of the noise: that of speech, so that it counts as such from the first sample on."""
_TRIED_FRAMES: Final = 12


def write(folder: Path, config: dict[str, Any] = TRUE) -> None:
    """Write config.json and pytorch_model.bin, the same on every run.

    Args:
        folder: to write into; made if it is not there.
        config: dimensions, as in SNAC's config.json.

    Raises:
        ImportError: torch or snac is not installed.
    """
    import torch
    from snac import SNAC

    torch.manual_seed(0)
    model = SNAC(**config).eval()
    codes = [
        torch.randint(0, config["codebook_size"], (1, _TRIED_FRAMES * per_frame))
        for per_frame in (1, 2, 4)
    ]
    with torch.inference_mode():
        loudness = float(model.decode(codes).square().mean().sqrt())
    # Fresh weights whisper. The last convolution is weight-normalised, its first part the length.
    last = model.decoder.model[-2]
    with torch.no_grad():
        last.parametrizations.weight.original0 *= _RMS / loudness
        last.bias *= _RMS / loudness
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


def main() -> None:
    from speech_server.tts.snac_decoder import ONNX_FILE
    from speech_server.tts.snac_export import export

    parser = argparse.ArgumentParser(prog="python -m bench.tts.random_snac", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write(folder)
    export(folder, folder / ONNX_FILE)


if __name__ == "__main__":
    main()
