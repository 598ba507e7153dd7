#!/usr/bin/env bash
# On a machine with internet: gathers in .parley/bench the wheels that a GPU machine lacks. Copy the
# checkout with that folder there. vLLM is not among them (gigabytes, tied to CUDA and torch): use
# its container image where the whole path is to be measured.
#
#   bench/gpu/tts/carry.sh [PYTHON_VERSION]      default 3.12
set -euo pipefail
cd "$(dirname "$0")/../../.."
wheels=$(realpath -m "${PARLEY_HOME:-.parley}")/bench/gpu-tts-wheels

bench/gpu/wheels.sh bench.gpu.tts.pins "$wheels" "${1:-3.12}"
du -sh "$wheels"
