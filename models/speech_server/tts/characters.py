"""Characters by the part they play in text to speak."""

# ruff: noqa: RUF001  (characters that look alike are what this table is about)

SENTENCE_END = (".", "!", "?", "…", "。", "！", "？", "؟", "।")
"""Ends of sentences."""
UNSPACED_SENTENCE_END = ("。", "！", "？")
"""Ends of sentences that need no blank behind them."""
CLAUSE_END = (",", ";", ":", "—", "–", "،", "；", "：", "、", "，")
"""Ends of clauses."""
CLOSING = "\"'”’»)]}*_`"
"""What may stand between the end of a sentence and the blank behind it."""
OPENING = "\"'“‘«([{*_`"
"""What may stand before the first letter of a word."""

PLAIN_PUNCTUATION = str.maketrans(
    {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"',
     "–": "-", "‐": "-", "‑": "-", "−": "-", "…": "...", "\u00a0": " ", "\u202f": " "}
)  # fmt: skip
"""Typographic signs to the ones that every engine reads."""

LATIN_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
     "đ": "d", "Đ": "D", "ð": "th", "Ð": "Th", "þ": "th", "Þ": "Th", "ı": "i", "⁄": "/"}
)  # fmt: skip
"""Letters that do not decompose into a base letter and an accent; the slash of "½"."""
