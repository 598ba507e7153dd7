#!/usr/bin/env bash
# Gathers the wheels that a bench's pins.py names, for a GPU machine's Python.
#
#   bench/gpu/wheels.sh MODULE FOLDER [PYTHON_VERSION]      default 3.12
#
# --no-deps, because an image with torch and transformers brings the rest.
set -euo pipefail
cd "$(dirname "$0")/../.."
module=$1 wheels=$2 version=${3:-3.12}

rm -rf "$wheels"
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
	--python-version "$version" --implementation cp \
	--platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
	--platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --dest "$wheels" \
	$(.venv/bin/python -m "$module")
