"""Puts together what the tools of one call work with: its databases, its scopes, its clock."""

from voice_agent.appointments import SqliteAppointmentBook
from voice_agent.database import Database
from voice_agent.handoffs import SqliteHandoffLog
from voice_agent.identity import IdentityCheck
from voice_agent.ledger_demo import LEDGER_FILE, demo_ledger
from voice_agent.opening_hours import OpeningHours
from voice_agent.personas import Persona
from voice_agent.prompt import Clock
from voice_agent.scopes import Grants
from voice_agent.settings import AgentSettings
from voice_agent.tools.definition import CallLine, PhoneLine, ToolContext


def tool_context(
    line: CallLine,
    settings: AgentSettings,
    persona: Persona,
    clock: Clock,
    phone: PhoneLine | None = None,
) -> ToolContext:
    """What the tools of one call work with.

    Args:
        line: The call.
        settings: Where the databases are.
        persona: The scopes that its operator grants, and its hours.
        clock: Local time of the practice, without a zone.
        phone: The telephone of the call; None: the caller has none.
    """
    database = Database(settings.database_path)
    ledger = demo_ledger(settings.database_path.with_name(LEDGER_FILE))
    grants = Grants(persona.granted)
    return ToolContext(
        line=line,
        grants=grants,
        appointments=SqliteAppointmentBook(database),
        handoffs=SqliteHandoffLog(database),
        ledger=ledger,
        identity=IdentityCheck(ledger, grants, clock),
        hours=persona.opening_hours or OpeningHours(),
        clock=clock,
        filler=persona.filler,
        phone=phone,
    )
