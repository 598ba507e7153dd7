"""Written forms with numbers, and abbreviations, in words."""

# ruff: noqa: RUF001  (signs are what is tested)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.normalise import normalise


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("Dr. Smith paid $3.50 at 5 p.m.",
         "Doctor Smith paid three dollars and fifty cents at five p.m."),
        ("2026-11-24", "November twenty-fourth twenty twenty-six"),
        ("$1,234.56", "one thousand two hundred and thirty-four dollars and fifty-six cents"),
        ("+1 415 555 0123", "plus one, four one five, five five five, zero one two three"),
        ("3.5 %, 50%", "three point five percent, fifty percent"),
        ("the 1st, 2nd and 1,000th", "the first, second and one thousandth"),
        ("10-12 or 3.5-4.5", "ten to twelve or three point five to four point five"),
        ("no. 5, Fig. 5 and #5", "number five, figure five and number five"),
        ("No. 5 is free", "number five is free"),
        ("in 1984, 1500 men, 1,984", "in nineteen eighty-four, fifteen hundred men, one thousand"
         " nine hundred and eighty-four"),
        ("24/7", "twenty-four seven"),
        ("v2.1 and v.10", "version two point one and version ten"),
        ("2.1.30", "two point one point thirty"),
        ("B12, BA249, H2O, 3D, COVID-19",
         "B twelve, BA two four nine, H two O, three D, COVID-nineteen"),
        # Dates.
        ("11/24/2026, 24/11/26, 24.12.2026", "November twenty-fourth twenty twenty-six, November"
         " twenty-fourth twenty-six, December twenty-fourth twenty twenty-six"),
        ("13/32/2026 and 2026-13-41", "thirteen thirty-two twenty twenty-six and two zero two six,"
         " one three, four one"),
        ("Nov. 24, 2026 or 24 Nov. 2026", "November twenty-fourth, twenty twenty-six or"
         " twenty-fourth of November twenty twenty-six"),
        ("May 3-5, Sept. 2025", "May third to fifth, September twenty twenty-five"),
        ("March 10,000 strong", "March ten thousand strong"),
        ("the '90s and 1990s", "the nineties and nineteen nineties"),
        ("Mon-Fri 9:00-17:30", "Monday to Friday nine o'clock to seventeen thirty"),
        # Money.
        ("$5 million, $3.5M, £2bn", "five million dollars, three point five million dollars,"
         " two billion pounds"),
        ("$5-10 or $5-$10, 5 €, € 5", "five to ten dollars or five to ten dollars, five euros, five"
         " euros"),
        ("-$5, $ 5 million", "minus five dollars, five million dollars"),
        # Signs.
        ("-5 °C, ~3", "minus five degrees Celsius, about three"),
        ("5 + 3 = 8, 8 - 3 = 5, 8 - 9", "five plus three equals eight, eight minus three equals"
         " five, eight to nine"),
        ("3 × 4 ÷ 2, 3:1, x²", "three times four divided by two, three to one, x squared"),
        ("1/2, 1 1/2, 1½, ⅞", "one half, one and one half, one and one half, seven eighths"),
        # Units and abbreviations.
        ("1 km, 10 km/h, 5GB, 20 m²", "one kilometer, ten kilometers per hour, five gigabytes,"
         " twenty square meters"),
        ("Mr. X vs. Mrs. Y, etc.", "Mister X versus Missus Y, et cetera."),
        ("etc. and so on, apt. 3", "et cetera and so on, apartment three"),
        ("$20/month, $1.5/hr, 5¢, 4.5/5, 50-50",
         "twenty dollars per month, one point five dollars per hour, five cents, four point five"
         " out of five, fifty fifty"),
        ("No.5, H₂O, 50 lbs. of it", "number five, H two O, fifty pounds of it"),
        ("9am-5pm, 9 a.m.-noon", "nine a.m. to five p.m., nine a.m. to noon"),
        ("a.b42@x.org and example.com/7", "a dot b forty-two at x dot org and example dot com slash"
         " seven"),
        ("Call 911.", "Call nine one one."),
        ("555-0123, 123-45-6789", "five five five, zero one two three, one two three, four five,"
         " six seven eight nine"),
    ],
)  # fmt: skip
def test_what_is_spoken(written: str, spoken: str) -> None:
    prepared = normalise(written, reads_digits=False)
    assert prepared.text == spoken
    assert set(prepared.origin) == set(range(len(prepared.written))), "a word that is never said"
    assert " ".join(prepared.written) == written


_PIECES = st.sampled_from(
    ["1", "0", "7", "42", "1984", "007", "9" * 30, "٣", ",", ".", "-", "/", ":", "$", "€", "£", "¥",
     "%", "+", "=", "#", "~", "½", "²", " ", " ", "st", "th", "s", "v", "km", "m²", "k", "million",
     "Nov.", "May", "No.", "Dr.", "etc.", "x", "B", "(", ")", "p.m.", "call", "+1 415 555 0123"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=25).map("".join) | st.text(max_size=100))
def test_no_digit_is_left_and_no_word_is_lost(text: str) -> None:
    spoken = normalise(text, reads_digits=False)
    assert not any(char.isdecimal() for char in spoken.text)
    heard = {spoken.written[index] for index in spoken.origin}
    assert {word for word in spoken.written if any(map(str.isdecimal, word))} <= heard
