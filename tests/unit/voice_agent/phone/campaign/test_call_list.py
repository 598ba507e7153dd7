"""Who is to be called, and who must not be."""

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_agent.phone.campaign import call_list
from voice_agent.phone.campaign.call_list import CallList, read_call_list
from voice_agent.phone.campaign.do_not_call import DoNotCallList
from voice_agent.phone.errors import BadInput


def read(folder: Path, text: str | bytes) -> CallList:
    path = folder / "calls.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_call_list(path, "Europe/Berlin")


def test_who_agreed_is_called_in_order_once(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "number,timezone,consent\r\n"
        "+15550100,America/New_York,yes\r\n"
        "+15550101,,YES\r\n"
        "\r\n"
        "+15550102,,no\r\n"
        "+15550100,America/New_York,yes\r\n"
        '"+15550103", ,"yes"\r\n',
    )
    assert [contact.number for contact in found.contacts] == ["+15550100", "+15550101", "+15550103"]
    assert str(found.contacts[0].zone) == "America/New_York"
    assert str(found.contacts[1].zone) == "Europe/Berlin"
    assert (found.without_consent, found.duplicates) == (1, 1)


def test_one_no_outweighs_every_yes(tmp_path: Path) -> None:
    for rows in ("+15550100,yes\n+15550100,no\n", "+15550100,no\n+15550100,yes\n"):
        found = read(tmp_path, f"number,consent\n{rows}")
        assert (found.contacts, found.without_consent) == ([], 1)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    assert len(read(tmp_path, "\ufeffnumber,consent\n+15550100,yes\n").contacts) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("number\n+15550100\n", "line 1: there is no column 'consent'"),
        ("+15550100,yes\n", "line 1: there is no column 'number'"),
        ("", "nobody to call"),
        ("number,consent\n", "nobody to call"),
        ("number,consent,name\n", "line 1: no column may be named 'name'"),
        ("number,consent,number\n", "line 1: a column is named twice"),
        ("number,consent\n0301234,yes\n", "line 2: number: must be in E.164 form"),
        ("number,consent\n+112,yes\n", "line 2: number: must be in E.164 form"),
        ("number,consent\n+15550100,\n", "line 2: consent: must be yes or no"),
        ("number,consent\n+15550100,maybe\n", "line 2: consent: must be yes or no"),
        ("number,consent\n+15550100\n", "line 2: 1 fields under 2 column names"),
        ("number,consent\n+15550100,yes,x\n", "line 2: 3 fields under 2 column names"),
        ("number,consent,timezone\n+15550100,yes,Mars\n", "line 2: timezone: is not an IANA"),
        (
            "number,consent,timezone\n+15550100,yes,UTC\n+15550100,yes,Asia/Tokyo\n",
            "line 3: the number of line 2 with another timezone",
        ),
        ('number,consent\n"+15550100,yes\n', "line 2: unexpected end of data"),
        ("number,consent\n" + "x" * 1001, "line 2: longer than 1000 characters"),
        (b"number,consent\n\xff\n", "is not UTF-8"),
        (b"number,consent\n+1555\x000100,yes\n", "line 2"),
    ],
)
def test_a_mistake_stops_everything_before_a_call(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text)
    assert told in caught.value.message
    assert caught.value.message.isprintable()


def test_several_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, "number,consent\n" + "x,yes\n" * 20)
    assert caught.value.message.count("number: must be") == call_list.MAX_FAULTS


def test_no_number_is_told_in_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, "number,consent\n+15550100,perhaps\n")
    assert "5550100" not in str(caught.value)


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "number,consent\n" + "".join(f"+1555{index:07},yes\n" for index in range(11))
    monkeypatch.setattr(call_list, "MAX_ROWS", 10)
    with pytest.raises(BadInput, match="more than 10 rows"):
        read(tmp_path, rows)
    monkeypatch.setattr(call_list, "MAX_FILE_BYTES", 100)
    with pytest.raises(BadInput, match="larger than"):
        read(tmp_path, rows)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        read_call_list(tmp_path / "none.csv", "UTC")
    with pytest.raises(BadInput, match="Is a directory"):
        read_call_list(tmp_path, "UTC")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    with contextlib.suppress(BadInput):
        read(tmp_path_factory.getbasetemp(), b"number,consent\n" + raw)


def test_who_must_not_be_called_may_grow_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "no.txt"
    path.write_text("# told us\n+15550100  # in May\n\n")
    listed = DoNotCallList(path)
    assert "+15550100" in listed
    assert "+15550101" not in listed
    path.write_text(path.read_text() + "+15550101")
    assert "+15550101" in listed
    listed.add("+15550102")
    listed.add("+15550100")
    assert path.read_text().splitlines()[-2:] == ["+15550101", "+15550102"]
    assert "+15550102" in DoNotCallList(path)


def test_a_list_that_cannot_be_read_stops_everything(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        DoNotCallList(tmp_path / "none.txt")
    path = tmp_path / "no.txt"
    path.write_text("")
    listed = DoNotCallList(path)
    path.write_text("call me never: 555 0100\n")
    with pytest.raises(BadInput, match="line 1: must be a number"):
        assert "+15550100" in listed
    os.unlink(path)
    with pytest.raises(BadInput, match="has to exist"):
        assert "+15550100" in listed
