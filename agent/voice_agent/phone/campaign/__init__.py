"""Calling a list of people: only who agreed, only when they may be called, nobody twice."""
