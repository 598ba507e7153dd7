"""What every end-to-end test may ask for."""

from tests.phone_desk import desk, desk_worker
from tests.phone_stack import phone_stack
from tests.stack import stack

__all__ = ["desk", "desk_worker", "phone_stack", "stack"]
