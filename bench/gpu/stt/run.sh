#!/usr/bin/env bash
# On the GPU machine, without internet: installs the carried wheels beside its own packages and
# measures. Options go to measure.py; results: stt-gpu.json and stt-gpu.md in --out (default: here).
#
#   bench/gpu/stt/run.sh [--out DIR] [--streams 1,8,25] [--peers]
set -euo pipefail
cd "$(dirname "$0")/../../.."
bench=$(realpath "${PARLEY_HOME:-.parley}")/bench
site=$bench/gpu-site
python=${PYTHON:-python3}

if [ ! -f "$site/installed" ]; then
	rm -rf "$site"
	"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
		--target "$site" "$bench"/gpu-wheels/*.whl
	touch "$site/installed"
fi
# CTranslate2 wants cuBLAS 12 and cuDNN 9; it finds those that came with torch only on this path.
libraries=$("$python" -m bench.gpu.stt.cuda_libraries "$bench/gpu-libraries")
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$site:$PWD/models:$PWD/agent:$PWD
exec "$python" -m bench.gpu.stt.measure "$@"
