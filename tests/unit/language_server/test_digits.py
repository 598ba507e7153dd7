import pytest

from language_server.slots.digits import find_digits


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("My customer number is three five two, nine eight six.", "352986"),
        ("my custom remember is for one seven, two, eight, six", "417286"),
        ("It is four once seven, too, ate, six", "417286"),
        ("352986", "352986"),
        ("It's 352-986, thanks", "352986"),
        ("35 29 86", "352986"),
        ("double three five, double nine six", "335996"),
        ("oh four one, zero zero two please", "041002"),
        ("It is for 3 5 2 9 8 6", "352986"),
        ("three five two nine eight", None),
        ("three five two nine eight six one", None),
        ("I have two accounts and one card for six years", None),
        ("", None),
        ("1" * 5000, None),
        ("٣٥٢٩٨٦", None),
    ],
)
def test_six_digits_are_found(text: str, digits: str | None) -> None:
    assert find_digits(text, 6) == digits
