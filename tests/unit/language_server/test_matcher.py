from language_server.dialogue.intents import Intent, built_in_intents
from language_server.dialogue.matcher import built_in_matcher


def test_an_example_is_found_and_scores_high() -> None:
    match = built_in_matcher().best("I would like to book an appointment")
    assert match is not None
    assert match.intent is Intent.BOOK
    assert match.score > 0.8


def test_nonsense_scores_low() -> None:
    match = built_in_matcher().best("purple elephants juggle")
    assert match is None or match.score < 0.25


def test_nothing_in_common_is_nothing() -> None:
    assert built_in_matcher().best("") is None
    assert built_in_matcher().best("\u4f60\u597d") is None


def test_the_rank_is_the_file_s() -> None:
    for intent, phrases in built_in_intents().root.items():
        assert built_in_matcher().rank(intent) == phrases.rank


def test_sounds_carry_over_wrong_word_boundaries() -> None:
    match = built_in_matcher().best("win is my a pointment")
    assert match is not None
    assert match.intent is Intent.FIND
