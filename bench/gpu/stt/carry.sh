#!/usr/bin/env bash
# On a machine with internet: gathers in .parley/bench what a bare GPU machine lacks: wheels for its
# Python, and the recorded set (needs flite). Copy the checkout with that folder there.
#
#   bench/gpu/stt/carry.sh [PYTHON_VERSION]      default 3.12
set -euo pipefail
cd "$(dirname "$0")/../../.."
bench=${PARLEY_HOME:-.parley}/bench

bench/gpu/wheels.sh bench.gpu.stt.pins "$bench/gpu-wheels" "${1:-3.12}"
.venv/bin/python -c "
from pathlib import Path
from bench.stt.recordings import spoken_recordings
print(len(spoken_recordings('micro', Path('$bench'))), 'recordings')"
du -sh "$bench/gpu-wheels" "$bench/recordings-micro"
