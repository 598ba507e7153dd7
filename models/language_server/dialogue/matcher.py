"""Finds the intent of a sentence by its likeness to example phrases.

A phrase is seen in three ways: its words, its letters (misspellings) and its sounds (words that
recognition confused or cut in the wrong place). Each view is a tf-idf vector of length one; the
likeness of two phrases is the weighted sum of the three cosines, so it lies in [0, 1].

Two judges share the verdict. The nearest phrases tell how familiar a sentence is at all, so that
nonsense scores low. A regularised least-squares classifier over the same likeness learns which
words tell intents apart ("move" and "book" share "my appointment").
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from language_server.dialogue.intents import Intent, IntentFile, bank_intents, built_in_intents
from language_server.dialogue.phonetics import sound_text
from language_server.slots.plain_text import plain, with_digits

WORD_WEIGHT = 0.4
LETTER_WEIGHT = 0.35
SOUND_WEIGHT = 0.25
"""Shares of the three views. Tuned on `tests/unit/language_server/intent_cases.yaml`."""
RUNNER_UP_SHARE = 0.25
"""How much an intent's second-best phrase counts beside its best."""
RIDGE = 0.1
"""Regularisation of the classifier; larger is smoother."""


@dataclass(frozen=True)
class Match:
    """One intent and how well the sentence fits it."""

    intent: Intent
    score: float
    """0 (nothing in common) to 1 (the sentence is one of the examples)."""


class Matcher:
    """Compares sentences with the examples of every intent. Immutable once built."""

    def __init__(self, intents: IntentFile) -> None:
        phrases = [
            (intent, _normal(example))
            for intent, entry in intents.root.items()
            for example in entry.examples
        ]
        self._intents = tuple(intents.root)
        self._owner = np.array([self._intents.index(intent) for intent, _ in phrases])
        self._first = np.searchsorted(self._owner, np.arange(len(self._intents)))
        self._ranks = {intent: entry.rank for intent, entry in intents.root.items()}
        counts = [Counter(_features(words)) for _, words in phrases]
        seen_in = Counter(feature for count in counts for feature in count)
        self._idf = {
            feature: math.log((1 + len(phrases)) / (1 + n)) + 1 for feature, n in seen_in.items()
        }
        self._unknown_idf = math.log(1 + len(phrases)) + 1
        self._row = {feature: row for row, feature in enumerate(self._idf)}
        # One row a feature: a sentence touches few features, so a lookup reads few rows.
        self._examples = np.zeros((len(self._row), len(phrases)), np.float32)
        for column, count in enumerate(counts):
            for feature, weight in self._weigh(count).items():
                self._examples[self._row[feature], column] = weight
        self._classifier = self._train()

    def rank(self, intent: Intent) -> int:
        """The intent's rank in the file."""
        return self._ranks[intent]

    def best(self, sentence: str) -> Match | None:
        """The intent that the sentence fits best; None when it shares nothing with any."""
        weights = self._weigh(Counter(_features(_normal(sentence))))
        known = [(self._row[f], weight) for f, weight in weights.items() if f in self._row]
        if not known:
            return None
        rows = np.array([row for row, _ in known])
        factors = np.array([weight for _, weight in known], np.float32)
        likeness = factors @ self._examples[rows]
        scores = (self._nearest(likeness) + likeness @ self._classifier) / 2
        winner = int(scores.argmax())
        return Match(self._intents[winner], float(scores[winner]))

    def _train(self) -> NDArray[np.float32]:
        """Kernel ridge regression onto one-hot intents: weights, (examples, intents)."""
        kernel = self._examples.T @ self._examples
        wanted = np.zeros((len(kernel), len(self._intents)), np.float32)
        wanted[np.arange(len(kernel)), self._owner] = 1
        ridge = RIDGE * np.eye(len(kernel), dtype=np.float32)
        return np.asarray(np.linalg.solve(kernel + ridge, wanted), np.float32)

    def _nearest(self, likeness: NDArray[np.float32]) -> NDArray[np.float32]:
        """Best phrase plus a share of the second-best. likeness: (examples,) -> (intents,)."""
        best = np.maximum.reduceat(likeness, self._first)
        others = np.where(likeness == best[self._owner], 0, likeness)
        second = np.maximum.reduceat(others, self._first)
        nearest = (best + RUNNER_UP_SHARE * second) / (1 + RUNNER_UP_SHARE)
        return np.asarray(nearest, np.float32)

    def _weigh(self, counts: Counter[str]) -> dict[str, float]:
        """tf-idf weights, normalised within each view and scaled by the view's share."""
        shares = {"w": WORD_WEIGHT, "l": LETTER_WEIGHT, "s": SOUND_WEIGHT}
        weights = {
            feature: (1 + math.log(n)) * self._idf.get(feature, self._unknown_idf)
            for feature, n in counts.items()
        }
        norms: dict[str, float] = dict.fromkeys(shares, 0.0)
        for feature, weight in weights.items():
            norms[feature[0]] += weight * weight
        return {
            feature: weight * math.sqrt(shares[feature[0]] / norms[feature[0]])
            for feature, weight in weights.items()
        }


@cache
def built_in_matcher() -> Matcher:
    """The matcher over `intents.yaml`, built once a process."""
    return Matcher(built_in_intents())


@cache
def bank_matcher() -> Matcher:
    """The matcher of the bank's callers, built once a process."""
    return Matcher(bank_intents())


def _normal(sentence: str) -> str:
    return with_digits(plain(sentence))


def _features(words: str) -> Iterator[str]:
    yield from (f"w{word}" for word in words.split())
    yield from (f"w{gram}" for gram in _pairs(words.split()))
    for word in words.split():
        yield from (f"l{gram}" for gram in _grams(f"<{word}>", (3, 4)))
    yield from (f"s{gram}" for gram in _grams(f"<{sound_text(words)}>", (2, 3, 4)))


def _pairs(words: list[str]) -> Iterable[str]:
    return (f"{a} {b}" for a, b in pairwise(words))


def _grams(text: str, sizes: tuple[int, ...]) -> Iterable[str]:
    return (text[i : i + n] for n in sizes for i in range(len(text) - n + 1))
