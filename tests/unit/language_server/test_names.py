import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_server.slots.names import MAX_NAME_CHARS, find_name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("My name is Peter Miller.", "Peter Miller"),
        ("my name is peter miller", "Peter Miller"),
        ("my name is peter miller i'd like to come on tuesday", "Peter Miller"),
        ("My name as Peter Miller", "Peter Miller"),
        ("This is Zoe Miller.", "Zoe Miller"),
        ("I'm Peter", "Peter"),
        ("I\u2019m Peter Miller, I\u2019d like a cleaning.", "Peter Miller"),
        ("It's Peter Miller here", "Peter Miller"),
        ("Peter Miller speaking.", "Peter Miller"),
        ("An appointment for Peter Miller", "Peter Miller"),
        ("book an appointment for peter miller on tuesday", "Peter Miller"),
        ("it's under the name of O'Brien", "O'Brien"),
        ("The name is Zo\u00eb M\u00fcller-Lehmann", "Zo\u00eb M\u00fcller-Lehmann"),
        ("my name is mr. smith", "Smith"),
        ("my name is P E T E R", "Peter"),
        ("My name is Mary Ann McDonald", "Mary Ann McDonald"),
        ("Tuesday at 3:30. My name is Peter Miller.", "Peter Miller"),
    ],
)
def test_finds_the_name(said: str, name: str) -> None:
    assert find_name(said) == name


@pytest.mark.parametrize(
    "said",
    [
        "",
        "i'm looking for an appointment",
        "I'm calling about my teeth",
        "I'm not sure",
        "I'm so angry",
        "I am bleeding heavily",
        "This is terrible",
        "This is completely useless",
        "It's broken",
        "It's for my son",
        "for a check-up",
        "I would like an appointment for Tuesday",
        "for three thirty",
        "my name is on the list",
        "Who is this? Is it a robot?",
        "i am fine thanks",
    ],
)
def test_finds_no_name_where_there_is_none(said: str) -> None:
    assert find_name(said) is None


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Peter Miller", "Peter Miller"),
        ("peter.", "Peter"),
        ("yes it's peter miller", "Peter Miller"),
        ("uh, Zoe Miller please", "Zoe Miller"),
        ("I don't know", None),
        ("why do you need that", None),
        ("Tuesday", None),
        ("three thirty", None),
    ],
)
def test_the_whole_answer_may_be_the_name_when_it_was_asked_for(
    said: str, name: str | None
) -> None:
    assert find_name(said, bare=True) == name


@given(st.text(max_size=300), st.booleans())
def test_never_raises_and_is_bounded(text: str, bare: bool) -> None:
    name = find_name(f"my name is {text}", bare=bare)
    assert name is None or 0 < len(name) <= MAX_NAME_CHARS
