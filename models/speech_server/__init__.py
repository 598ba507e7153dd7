"""The speech server: speech to text and text to speech on wires that other apps speak."""
