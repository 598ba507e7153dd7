"""What the caller takes from LiveKit: its names for signals, and the agent's states."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

from livekit.agents import types

from voice_agent.caller import room


def test_names_are_those_of_the_installed_livekit_agents() -> None:
    assert room.AGENT_STATE_ATTRIBUTE == types.ATTRIBUTE_AGENT_STATE
    assert room.SEGMENT_ID_ATTRIBUTE == types.ATTRIBUTE_TRANSCRIPTION_SEGMENT_ID
    assert room.FINAL_ATTRIBUTE == types.ATTRIBUTE_TRANSCRIPTION_FINAL
    assert room.TRACK_ID_ATTRIBUTE == types.ATTRIBUTE_TRANSCRIPTION_TRACK_ID
    assert room.CHAT_TOPIC == types.TOPIC_CHAT
    assert room.TRANSCRIPTION_TOPIC == types.TOPIC_TRANSCRIPTION


def test_a_caller_does_not_load_the_agent_framework() -> None:
    check = "import sys, voice_agent.caller.command; sys.exit('livekit.agents' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], timeout=60, check=False).returncode == 0


async def test_the_agents_states_are_kept_with_their_moments() -> None:
    joined = room.AgentRoom()
    joined.agent_identity = "agent"
    agent: Any = SimpleNamespace(identity="agent")
    caller: Any = SimpleNamespace(identity="caller")
    joined._on_attributes({room.AGENT_STATE_ATTRIBUTE: "thinking"}, agent)
    joined._on_attributes({"other": "1"}, agent)
    joined._on_attributes({room.AGENT_STATE_ATTRIBUTE: "speaking"}, caller)
    joined._on_attributes({room.AGENT_STATE_ATTRIBUTE: "speaking"}, agent)
    assert [state for _, state in joined.agent_states] == ["thinking", "speaking"]
    first_s, last_s = (told_s for told_s, _ in joined.agent_states)
    assert first_s <= last_s
    await joined.leave()
