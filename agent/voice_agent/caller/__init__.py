"""A scripted caller: joins a room like a browser does, speaks recordings, measures the answers."""
