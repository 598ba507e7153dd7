"""Entry point of the agent worker: `python agent.py dev`, `start`, `console`, `download-files`."""

from voice_agent.settings import AgentSettings
from voice_agent.worker import create_server, run

settings = AgentSettings.load()
server = create_server(settings)

if __name__ == "__main__":
    run(server, settings)
