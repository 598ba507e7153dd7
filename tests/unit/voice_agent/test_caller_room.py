"""The names by which the caller knows LiveKit's signals are LiveKit's."""

import subprocess
import sys

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
