import pytest

from voice_agent.scopes import EARNED, Grants, Scope


def test_what_is_granted_is_not_lacking() -> None:
    grants = Grants([Scope.ACCOUNTS_READ])
    assert grants.lacking({Scope.ACCOUNTS_READ}) == frozenset()
    assert grants.lacking({Scope.ACCOUNTS_READ, Scope.CALL_CONTROL}) == {Scope.CALL_CONTROL}


def test_an_earned_scope_cannot_be_granted() -> None:
    with pytest.raises(ValueError, match="earned"):
        Grants(EARNED)


@pytest.mark.parametrize("scope", sorted(set(Scope) - EARNED))
def test_a_scope_of_the_operators_cannot_be_earned(scope: Scope) -> None:
    grants = Grants([])
    with pytest.raises(ValueError, match="operator"):
        grants.earn(scope)
    assert grants.lacking({scope}) == {scope}


def test_another_agent_of_the_call_keeps_what_was_earned_and_nothing_else() -> None:
    first = Grants([Scope.CALL_CONTROL])
    second = first.of_another_agent([Scope.ACCOUNTS_READ])
    first.earn(Scope.CALLER_VERIFIED)
    assert second.lacking({Scope.CALLER_VERIFIED, Scope.ACCOUNTS_READ, Scope.CALL_CONTROL}) == {
        Scope.CALL_CONTROL
    }
