"""The scorer's weights and its threshold, as `python -m bench.turns --fit` found them.

Tuned to cut off no more than 7 % of the turns of the recorded set's tuned part, more than half
of which hold pauses of 0.2 to 0.9 s, with words that may be all taken for all after 0.65 s; what
that means for other words and voices is in `docs/adr/0007-end-of-turn.md`. A spelling counts like
other dictation, and not as the fit has it, which saw one spelled name.
"""

from types import MappingProxyType
from typing import Final

from voice_agent.turns.scorer import Weights
from voice_agent.turns.words import Ending

WEIGHTS: Final = Weights(
    ending=MappingProxyType(
        {
            Ending.NOTHING: 0.0,
            Ending.FILLER: -1.0,
            Ending.OPEN: -2.3,
            Ending.DICTATION: -2.14,
            Ending.SPELLING: -2.14,
            Ending.UNMARKED: 0.66,
            Ending.OPENING: -1.21,
            Ending.PREFACE: -1.69,
            Ending.STATEMENT: -0.6,
            Ending.QUESTION: 0.98,
            Ending.ANSWER: 0.63,
            Ending.UNKNOWN: 0.0,
        }
    ),
    sound=0.51,
    silence=1.71,
    tone=-0.52,
    pitch=-0.65,
    fade=0.04,
    length=1.79,
)
THRESHOLD: Final = 0.72
