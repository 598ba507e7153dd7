"""An office that the tiny models can play: what its callers say, and what is answered.

Every answer is known to all of them: the tiny Llama was taught it (tests/fixtures/tiny_dialogue),
and the tiny voice can say it (tests/fixtures/tiny_voice).
"""

from pathlib import Path
from typing import Any, Final

import yaml

from voice_agent.personas import Persona, read_persona

NAME: Final = "tiny_office"
GREETING: Final = "Hello, how can I help you today?"
HOURS: Final = "What are your opening hours?"
WHEN: Final = "When is my appointment?"
HUMAN: Final = "Can I speak to a human, please?"
BOOK: Final = (
    "I would like to book an appointment on Tuesday at three thirty. My name is Peter Miller."
)
ANSWERS: Final = {
    HOURS: "Let me look that up for you.",
    WHEN: "Please tell me your name.",
    HUMAN: "Of course, one moment please.",
    BOOK: "Thank you, Peter Miller, that time is yours.",
}
"""What is answered once the tools have done their part; the voice knows all but the last."""

_PERSONA: Final[dict[str, Any]] = {
    "name": NAME,
    "disclosure": GREETING,
    "greeting": GREETING,
    "instructions": "You answer the telephone of an office.",
    "opening_hours": {
        day: "09:00-17:00" for day in ("monday", "tuesday", "wednesday", "thursday", "friday")
    },
    "tools": ["opening_hours", "book_appointment", "transfer_to_human"],
    # What is said without the model has to be in the voice's repertoire too.
    "silence_prompt": "Yes.",
    "apology": "No, I am sorry.",
    "filler": None,
}


def write_persona(folder: Path) -> Persona:
    """Write the persona's file into a folder, which is made where it is missing; read it back."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(_PERSONA))
    return read_persona(path)
