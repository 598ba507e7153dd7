"""The logger that LiveKit is told about; each module's own logger is a child of it."""

import logging

logger = logging.getLogger("speech_plugins")
