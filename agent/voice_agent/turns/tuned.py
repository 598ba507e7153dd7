"""The scorer's weights and its threshold, as `python -m bench.turns --fit` found them.

Tuned to cut off no more than 7 % of the turns of the recorded set's tuned part, more than half
of which hold pauses of 0.2 to 0.9 s; what that means for other words and voices is in
`docs/adr/0007-end-of-turn.md`.
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
            Ending.OPEN: -2.06,
            Ending.DICTATION: -1.11,
            Ending.UNMARKED: 0.84,
            Ending.OPENING: -1.27,
            Ending.STATEMENT: 0.1,
            Ending.QUESTION: 1.43,
            Ending.ANSWER: -0.56,
            Ending.UNKNOWN: 0.0,
        }
    ),
    sound=0.5,
    silence=2.42,
    tone=-0.49,
    pitch=-0.95,
    fade=0.04,
)
THRESHOLD: Final = 0.71
