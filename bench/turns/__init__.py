"""Where one turn ends and the next begins: the recorded set, and how well the end is decided."""
