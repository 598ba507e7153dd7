"""Writes a SNAC of the true dimensions with random weights: speed as the real one, sound as noise.

python -m bench.tts.random_snac FOLDER        needs parley[orpheus]
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

CONFIG: Final[dict[str, Any]] = {
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


def main() -> None:
    import torch
    from snac import SNAC

    from speech_server.tts.snac_decoder import ONNX_FILE
    from speech_server.tts.snac_export import export

    parser = argparse.ArgumentParser(prog="python -m bench.tts.random_snac", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2), encoding="utf-8")
    torch.save(SNAC(**CONFIG).state_dict(), folder / "pytorch_model.bin")
    export(folder, folder / ONNX_FILE)


if __name__ == "__main__":
    main()
