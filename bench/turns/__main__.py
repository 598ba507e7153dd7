"""`python -m bench.turns`."""

import typer

from bench.turns.command import turns

if __name__ == "__main__":
    typer.run(turns)
