"""Which interpreter runs vLLM, which has an environment of its own."""

from pathlib import Path

from voice_agent.stack.errors import StackError

VLLM_ENVIRONMENT = Path(__file__).resolve().parents[3] / ".venv-vllm"
"""What `make .venv-vllm/.installed` makes in the checkout; the stamp says that it is complete."""


def vllm_python(named: Path | None, setting: str, user: str) -> Path:
    """The interpreter of an environment with vLLM.

    Args:
        named: the operator's choice; None: the checkout's own environment.
        setting: variable that names it.
        user: what needs it, for the operator.

    Raises:
        StackError: there is none; the message says what to do.
    """
    if named is not None:
        # Not resolved: an environment's interpreter is a link, and knows its place by it.
        python = named.expanduser().absolute()
        if not python.is_file():
            raise StackError(
                f"{setting}={python}: there is no such program",
                "Name the interpreter of an environment with vLLM, or unset it.",
            )
        return python
    if not (VLLM_ENVIRONMENT / ".installed").is_file():
        raise StackError(
            f"vLLM, which {user} needs, is not installed in {VLLM_ENVIRONMENT}",
            "make .venv-vllm/.installed (6 GB, for a CPU); or name the interpreter of another "
            f"environment: {setting}=DIR/bin/python.",
        )
    return VLLM_ENVIRONMENT / "bin" / "python"
