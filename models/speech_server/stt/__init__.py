"""Speech to text: stream, batcher, engines."""
