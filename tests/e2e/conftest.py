"""What every end-to-end test may ask for."""

from tests.stack import stack

__all__ = ["stack"]
