"""What every end-to-end test may ask for."""

from tests.phone_stack import phone_stack
from tests.stack import stack

__all__ = ["phone_stack", "stack"]
