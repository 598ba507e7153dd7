#!/usr/bin/env bash
# On the GPU machine, without internet: puts the carried wheels beside its own packages and measures.
# Options go to measure.py; results: tts-gpu.json and tts-gpu.md in --out (default: here).
#
#   bench/gpu/tts/run.sh [--out DIR] [--streams 1,8,32] [--no-whole-path]
set -euo pipefail
cd "$(dirname "$0")/../../.."
bench=$(realpath -m "${PARLEY_HOME:-.parley}")/bench
site=$bench/gpu-tts-site
python=${PYTHON:-python3}

if [ ! -f "$site/installed" ]; then
	rm -rf "$site"
	mkdir -p "$site"
	# Only what it lacks: the versions that vLLM's image has are those that fit that vLLM.
	missing=$("$python" -m bench.gpu.wheels "$bench/gpu-tts-wheels")
	if [ -n "$missing" ]; then
		# shellcheck disable=SC2086  # one argument for each wheel
		"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
			--target "$site" $missing
	fi
	touch "$site/installed"
fi
export PYTHONPATH=$site:$PWD/models:$PWD/agent:$PWD
exec "$python" -m bench.gpu.tts.measure "$@"
