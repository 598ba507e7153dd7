from dataclasses import replace

import pytest

from voice_agent.turns.scorer import Evidence, LogisticScorer
from voice_agent.turns.tuned import THRESHOLD, WEIGHTS
from voice_agent.turns.words import Ending

SCORER = LogisticScorer(WEIGHTS)
PAUSE = Evidence(silence_s=0.3, sound=0.5, ending=Ending.STATEMENT)


def test_every_way_to_end_has_a_weight() -> None:
    assert set(WEIGHTS.ending) == set(Ending)


@pytest.mark.parametrize("sound", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", Ending)
def test_a_score_is_a_probability(kind: Ending, sound: float | None) -> None:
    for silence_s in (0.0, 0.5, 60.0):
        assert 0.0 <= SCORER.score(Evidence(silence_s, sound, kind)) <= 1.0


def test_longer_silence_is_surer() -> None:
    assert SCORER.score(replace(PAUSE, silence_s=0.8)) > SCORER.score(PAUSE)


def test_a_sound_of_an_end_is_surer() -> None:
    assert SCORER.score(replace(PAUSE, sound=0.8)) > SCORER.score(replace(PAUSE, sound=0.2))


def test_a_whole_question_is_surer_than_half_a_clause() -> None:
    question = SCORER.score(replace(PAUSE, ending=Ending.QUESTION))
    clause = SCORER.score(replace(PAUSE, ending=Ending.OPEN))
    assert question > THRESHOLD > clause


def test_a_long_turn_is_surer_to_be_whole_than_a_short_one() -> None:
    scores = [SCORER.score(replace(PAUSE, speech_s=s)) for s in (0.2, 1.0, 2.0, 4.0, 30.0)]
    assert scores[0] == scores[1] < scores[2] < scores[3] == scores[4]


def test_a_caller_who_pauses_long_is_given_more_time() -> None:
    assert SCORER.score(replace(PAUSE, usual_pause_s=0.9)) < SCORER.score(PAUSE)
    assert SCORER.score(replace(PAUSE, usual_pause_s=0.2)) > SCORER.score(PAUSE)
