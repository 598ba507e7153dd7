"""The first words of a call that we make."""

from voice_agent.personas import Persona, PersonaError
from voice_agent.phone.errors import BadInput

MAX_OPENING_CHARS = 600
"""Longest opening; a persona's greeting may have as many."""


def opening_words(persona: Persona, chosen: str | None) -> str:
    """What the agent says first, which always tells that it is a machine.

    Source: Regulation (EU) 2024/1689, article 50(1).

    Args:
        persona: who calls.
        chosen: words for these calls; None: the persona's greeting.

    Raises:
        BadInput: they do not tell, or are too long.
    """
    opening = " ".join((chosen or persona.greeting).split())
    if len(opening) > MAX_OPENING_CHARS:
        raise BadInput(f"opening: longer than {MAX_OPENING_CHARS} characters")
    if persona.disclosure not in opening:
        raise BadInput(
            f"opening: must contain the words in which {persona.name} says that it is a machine: "
            f"{persona.disclosure!r}"
        )
    return opening


def with_opening(persona: Persona, opening: object) -> Persona:
    """A persona that begins with the words of a dispatch's metadata.

    Args:
        persona: who calls.
        opening: what the metadata says: not to be trusted; None: nothing.

    Raises:
        PersonaError: it is no text, too long, or does not tell that a machine speaks.
    """
    if opening is None:
        return persona
    if not isinstance(opening, str):
        raise PersonaError("The dispatch metadata's opening is not text.")
    try:
        return persona.model_copy(update={"greeting": opening_words(persona, opening)})
    except BadInput as error:
        raise PersonaError(error.message) from error
