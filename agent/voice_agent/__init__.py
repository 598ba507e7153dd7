"""The LiveKit application: a voice agent, its token server and its command line."""
