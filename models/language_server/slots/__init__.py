"""What a caller's sentence carries besides its purpose: day, time, name, reason.

Every finder is a pure function of text. It tolerates what speech recognition does to words and
never raises, whatever the text is.
"""
