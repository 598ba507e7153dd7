"""What the fields of a persona file say against each other, each with its place in the file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from voice_agent.scopes import EARNED
from voice_agent.tools.registry import TOOLS
from voice_agent.tools.transfer_call import TRANSFER_CALL

if TYPE_CHECKING:
    from voice_agent.personas import Persona, _Role


def contradictions(
    persona: "Persona", file_name: str
) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """What the fields say against each other: where, and what is wrong."""
    if persona.name != file_name:
        yield ("name",), f"must be {file_name!r} like the file"
    if persona.disclosure not in persona.greeting:
        yield ("greeting",), "greeting must contain the words of disclosure"
    roles: dict[tuple[str, ...], _Role] = {(): persona}
    roles |= {("agents", name): role for name, role in persona.agents.items()}
    earnable = {TOOLS[name].earns for role in roles.values() for name in role.tools}
    for where, role in roles.items():
        for name in role.tools:
            if TOOLS[name].needs_opening_hours and persona.opening_hours is None:
                yield (*where, "tools"), f"tool {name} needs opening_hours"
        for what, needs in role.needed():
            field = what.partition(" ")[0].replace("tool", "tools")
            if withheld := needs - EARNED - role.granted:
                yield (*where, "scopes"), f"{what} needs {min(withheld)}, which is left out"
            if unearned := (needs & EARNED) - earnable:
                earners = [tool.name for tool in TOOLS.values() if tool.earns in unearned]
                yield (*where, field), f"{what} works only after {earners[0]}, which nobody has"
        named = {*TOOLS, TRANSFER_CALL, *(f"transfer_to_{name}" for name in persona.agents)}
        for server, spec in role.mcp.items():
            if clash := sorted(named & {f"{server}_{tool}" for tool in spec.tools}):
                yield (*where, "mcp", server), f"{clash[0]} is a tool already; rename the server"
        for index, name in enumerate(role.hands_over_to):
            if name not in persona.agents or where == ("agents", name):
                yield (
                    (*where, "hands_over_to", index),
                    f"no other agent {name!r}; there are: {', '.join(persona.agents) or 'none'}",
                )
        for index, name in enumerate(role.transfers_to):
            if name not in persona.phone.transfers:
                yield (
                    (*where, "transfers_to", index),
                    f"no destination {name!r} in phone.transfers; there are: "
                    f"{', '.join(persona.phone.transfers) or 'none'}",
                )
    used = {name for role in roles.values() for name in role.transfers_to}
    for name in persona.phone.transfers:
        if name not in used:
            yield ("phone", "transfers", name), "nobody transfers there; name it in transfers_to"
    for name in persona.agents:
        if name == "human":
            yield ("agents", name), "human is the name of the person behind transfer_to_human"
    reached = _reached(persona)
    for name in persona.agents:
        if name not in reached:
            yield ("agents", name), "nobody hands over to this agent; name it in hands_over_to"


def _reached(persona: "Persona") -> set[str]:
    reached: set[str] = set()
    coming = list(persona.hands_over_to)
    while coming:
        name = coming.pop()
        if name in persona.agents and name not in reached:
            reached.add(name)
            coming.extend(persona.agents[name].hands_over_to)
    return reached
