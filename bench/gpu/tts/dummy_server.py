"""The speech server as it is, but for a language model without weights.

    python -m bench.gpu.tts.dummy_server --model DIR --snac DIR --port 8090

Everything else is the product's own: vLLM in its process, SNAC, the wires. The product cannot load
dummy weights, and should not: that is added here.
"""

import argparse
import logging
from functools import partial
from pathlib import Path

import uvicorn

from bench.gpu.tts.dummy_orpheus import FramedSource
from speech_server.app import create_app
from speech_server.settings import SpeechServerSettings
from speech_server.tts.orpheus import OrpheusEngine
from speech_server.tts.service import TtsService
from speech_server.tts.snac_codec import SnacCodec
from speech_server.tts.vllm_source import VllmOptions, VllmSource


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="see dummy_orpheus.write")
    parser.add_argument("--snac", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sequences", type=int, default=512)
    parser.add_argument("--memory-share", type=float, default=0.6)
    options = parser.parse_args()
    logging.basicConfig(level="INFO", format="%(levelname)s %(name)s %(message)s")
    load_dummy_weights()
    limits = VllmOptions(options.model, options.memory_share, options.sequences)
    engine = OrpheusEngine(FramedSource(VllmSource(limits)), SnacCodec(options.snac))
    settings = SpeechServerSettings(
        speech_roles=("tts",), speech_port=options.port, tts_capacity_streams=options.sequences
    )
    uvicorn.run(
        create_app(settings, [TtsService(settings, engine)]),
        host=settings.speech_host,
        port=settings.speech_port,
        log_level="warning",
        access_log=False,
        ws_per_message_deflate=False,
    )


def load_dummy_weights() -> None:
    """Have vLLM make weights up; the engine's file looks its arguments up when it loads."""
    from vllm.engine import arg_utils

    arg_utils.AsyncEngineArgs = partial(arg_utils.AsyncEngineArgs, load_format="dummy")


if __name__ == "__main__":
    main()
