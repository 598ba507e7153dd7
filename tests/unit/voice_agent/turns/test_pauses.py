from voice_agent.turns.pauses import TYPICAL_PAUSE_S, CallerPauses


def test_a_caller_is_typical_until_they_pause() -> None:
    assert CallerPauses().usual_s == TYPICAL_PAUSE_S


def test_who_pauses_long_is_expected_to_do_it_again() -> None:
    pauses = CallerPauses()
    for _ in range(5):
        pauses.went_on_after(0.9)
    assert 0.75 < pauses.usual_s < 0.9


def test_gaps_between_words_are_no_pauses() -> None:
    pauses = CallerPauses()
    pauses.went_on_after(0.1)
    assert pauses.usual_s == TYPICAL_PAUSE_S


def test_one_very_long_silence_does_not_outweigh_all_others() -> None:
    pauses = CallerPauses()
    pauses.went_on_after(60.0)
    assert pauses.usual_s < 0.8
