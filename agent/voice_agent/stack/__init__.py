"""`parley run` and `parley doctor`: every process of one machine, started, watched and stopped."""
