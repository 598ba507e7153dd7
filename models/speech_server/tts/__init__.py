"""Text to speech: stream, scheduler, engines."""
