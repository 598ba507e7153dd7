import copy
import pickle

import pytest

from voice_agent.telephony.secret_digits import SecretDigits


def filled(digits: str) -> SecretDigits:
    secret = SecretDigits(19)
    for digit in digits:
        secret.add(digit)
    return secret


def test_a_view_is_no_copy() -> None:
    secret = filled("4111")
    view = secret.view()
    assert bytes(view) == b"4111"
    secret.wipe()
    assert bytes(view) == b"\0\0\0\0"
    assert len(secret) == 0


def test_a_block_wipes_however_it_ends() -> None:
    secret = filled("4111")
    view = secret.view()
    with pytest.raises(RuntimeError), secret:
        raise RuntimeError
    assert not any(view)


def test_a_view_cannot_be_written_to() -> None:
    with pytest.raises(TypeError, match="read-only"):
        filled("4111").view()[0] = 0


@pytest.mark.parametrize("digit", ["", "a", "12", "\u0661", "*", " "])
def test_only_digits(digit: str) -> None:
    with pytest.raises(ValueError, match="between 0 and 9"):
        SecretDigits(19).add(digit)


def test_it_never_grows() -> None:
    with pytest.raises(ValueError, match="too many"):
        filled("1" * 20)


def test_it_is_shown_and_copied_by_nobody() -> None:
    secret = filled("4111")
    assert "4" not in f"{secret!r} {secret}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
