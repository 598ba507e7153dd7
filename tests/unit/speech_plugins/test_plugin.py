from livekit.agents import Plugin

import speech_plugins


def test_livekit_knows_the_plugin_and_its_logger() -> None:
    (plugin,) = [p for p in Plugin.registered_plugins if p.package == "speech_plugins"]
    assert plugin.version == speech_plugins.__version__
    assert plugin.logger is not None
    assert plugin.logger.name == "speech_plugins"
