#!/usr/bin/env bash
# On a machine with internet: gathers in .parley/bench what a bare GPU machine lacks: wheels for its
# Python, and the recorded set (needs flite). Copy the checkout with that folder there.
#
#   bench/gpu/stt/carry.sh [PYTHON_VERSION]      default 3.12
set -euo pipefail
cd "$(dirname "$0")/../../.."
version=${1:-3.12}
bench=${PARLEY_HOME:-.parley}/bench
wheels=$bench/gpu-wheels

rm -rf "$wheels"
# What an image with torch and transformers has not; --no-deps, because those bring the rest.
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
	--python-version "$version" --implementation cp \
	--platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
	--platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --dest "$wheels" \
	$(.venv/bin/python -m bench.gpu.stt.pins)
.venv/bin/python -c "
from pathlib import Path
from bench.stt.recordings import spoken_recordings
print(len(spoken_recordings('micro', Path('$bench'))), 'recordings')"
du -sh "$wheels" "$bench/recordings-micro"
