"""The search over what a model may write, on models small enough to try every text."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.stt.beam_search import Logits, Text, likeliest

END = 0
VOCABULARY = 4
EVERY_TEXT = 10**6

Chances = Mapping[tuple[int, ...], Sequence[float]]
"""Probabilities of the next token after each beginning."""


class Table:
    """A model that knows the chances of what comes after each beginning."""

    def __init__(self, chances: Chances) -> None:
        self.chances = chances
        self.beginnings: list[tuple[int, ...]] = []
        self.widest = 0

    def begin(self) -> Logits:
        self.beginnings = [()]
        return self.answer()

    def go_on(self, attempts: Sequence[int], tokens: Sequence[int]) -> Logits:
        pairs = zip(attempts, tokens, strict=True)
        self.beginnings = [(*self.beginnings[attempt], token) for attempt, token in pairs]
        self.widest = max(self.widest, len(self.beginnings))
        return self.answer()

    def answer(self) -> Logits:
        rows = [self.chances[beginning] for beginning in self.beginnings]
        # Logits are log-probabilities but for a constant: 7 is as good as any.
        return np.log(np.array(rows, np.float32)) + np.float32(7)


def ends_at_once(*, likelier_in_the_end: float) -> Table:
    """Token 1 looks best and leads nowhere in particular; token 2 does not and is sure after it."""
    return Table(
        {
            (): [0.01, 0.55, 0.43, 0.01],
            (1,): [0.3, 0.3, 0.2, 0.2],
            (2,): [likelier_in_the_end, *[(1 - likelier_in_the_end) / 3] * 3],
            **dict.fromkeys([(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)], [0.97] + [0.01] * 3),
        }
    )


def test_one_attempt_takes_the_best_token_every_time() -> None:
    text = likeliest(ends_at_once(likelier_in_the_end=0.9), END, 1, 5.0, 9)
    assert text.tokens[0] == 1


def test_several_find_the_text_that_is_likelier_as_a_whole() -> None:
    text = likeliest(ends_at_once(likelier_in_the_end=0.9), END, 2, 5.0, 9)
    assert text.tokens == (2,)
    assert text.log_probability == pytest.approx(math.log(0.43 * 0.9))


def test_an_attempt_below_the_margin_is_given_up() -> None:
    text = likeliest(ends_at_once(likelier_in_the_end=0.9), END, 2, 0.1, 9)
    assert text.tokens[0] == 1


def test_there_are_never_more_attempts_than_asked_for() -> None:
    table = Table({beginning: [0.25] * 4 for beginning in beginnings(4)})
    likeliest(table, END, 3, 50.0, 4)
    assert table.widest <= 3


def test_what_has_not_ended_at_the_limit_is_given_as_far_as_it_got() -> None:
    # What comes after the limit is not known: asking for it would be a KeyError.
    table = Table({(1,) * length: [1e-9, 1, 1e-9, 1e-9] for length in range(3)})
    assert likeliest(table, END, 2, 1.0, 3).tokens == (1, 1, 1)


def test_a_text_may_be_empty() -> None:
    assert likeliest(Table({(): [0.97, 0.01, 0.01, 0.01]}), END, 5, 1.0, 9).tokens == ()


def test_it_stops_when_nothing_can_overtake_the_best() -> None:
    # After token 1 nothing is known: asking for it would be a KeyError.
    table = Table({(): [0.6, 0.4, 1e-9, 1e-9]})
    assert likeliest(table, END, 5, 5.0, 9).tokens == ()


def test_an_answer_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="no number"):
        likeliest(Table({(): [math.nan] * 4}), END, 5, 5.0, 9)


@given(data=st.data())
def test_with_room_for_all_it_finds_the_best_of_all(data: st.DataObject) -> None:
    chance = st.floats(0.01, 1)
    chances: dict[tuple[int, ...], list[float]] = {}
    for beginning in beginnings(3):
        row = data.draw(st.lists(chance, min_size=VOCABULARY, max_size=VOCABULARY))
        chances[beginning] = [value / sum(row) for value in row]
    found = likeliest(Table(chances), END, EVERY_TEXT, 1e9, 3)
    best = max(every_text(chances), key=lambda text: text.log_probability)
    assert found.log_probability == pytest.approx(best.log_probability, abs=1e-4)


def beginnings(limit: int) -> list[tuple[int, ...]]:
    tokens = range(1, VOCABULARY)
    return [one for length in range(limit + 1) for one in itertools.product(tokens, repeat=length)]


def every_text(chances: Chances) -> list[Text]:
    """All that end within three tokens, the end counted."""
    texts = []
    for tokens in beginnings(2):
        whole = (*tokens, END)
        steps = [chances[whole[:place]][token] for place, token in enumerate(whole)]
        texts.append(Text(tokens, sum(math.log(step) for step in steps)))
    return texts
