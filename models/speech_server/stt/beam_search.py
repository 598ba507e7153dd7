"""The likeliest text of a model that writes one token after another: several attempts side by side.

Source of the method: Lowerre 1976, "The Harpy Speech Recognition System". Knows no model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]
"""float32, (attempts, tokens of the vocabulary): log-probabilities but for a constant each row."""


class Writer(Protocol):
    """A model in the middle of its texts."""

    def begin(self) -> Logits:
        """What may come first: one row."""
        ...

    def go_on(self, attempts: Sequence[int], tokens: Sequence[int]) -> Logits:
        """What may come next.

        Args:
            attempts: which rows of the last answer are gone on with; any order, also repeated.
            tokens: what each of them wrote, as many.

        Returns:
            One row for each of them; only they can be gone on with from here.
        """
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """Some or all tokens of a text."""

    tokens: tuple[int, ...]
    """Without the one that ends it."""
    log_probability: float
    """Of all tokens together, nats; at most 0. The end counts where the text has ended."""


def likeliest(writer: Writer, end: int, width: int, margin: float, limit: int) -> Text:
    """The likeliest text that was found to end within `limit` tokens.

    Args:
        writer: the model, before its first token.
        end: the token that ends a text.
        width: most attempts side by side; 1 takes the best token every time.
        margin: nats below the best attempt from which another is given up, above 0.
        limit: most tokens, the end counted. Where no text has ended by then, the likeliest
            beginning is given.

    Raises:
        ValueError: the model answered with what is no number.
    """
    attempts = [Text((), 0.0)]
    parents: list[int] = []
    ended: Text | None = None
    for step in range(limit):
        logits = (
            writer.go_on(parents, [text.tokens[-1] for text in attempts])
            if step
            else writer.begin()
        )
        tried = sorted(_continued(attempts, logits, margin), reverse=True)
        if not tried:
            raise ValueError("the model answered with what is no number")
        # No text grows likelier by growing: what is below one that has ended cannot overtake it.
        floor = max(tried[0][0] - margin, ended.log_probability if ended else -np.inf)
        parents = []
        longer: list[Text] = []
        for log_probability, parent, token in tried:
            if log_probability < floor or len(longer) == width:
                break
            text = attempts[parent].tokens
            if token != end:
                parents.append(parent)
                longer.append(Text((*text, token), log_probability))
            elif ended is None or log_probability > ended.log_probability:
                ended = Text(text, log_probability)
                floor = max(floor, log_probability)
        if not longer:
            break
        attempts = longer
    return ended or attempts[0]


def _continued(
    attempts: Sequence[Text], logits: Logits, margin: float
) -> Iterator[tuple[float, int, int]]:
    """Log-probability, number of the attempt and token of what each may write next.

    What lies further than the margin below the best of its own attempt is left out: it does so
    below the best of all.
    """
    for number, (text, row) in enumerate(zip(attempts, logits, strict=True)):
        best = float(row.max())
        total = best + float(np.log(np.exp(row - best).sum()))
        for token in np.flatnonzero(row >= best - margin):
            yield text.log_probability + float(row[token]) - total, number, int(token)
