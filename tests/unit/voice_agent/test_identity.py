import asyncio
from datetime import date, datetime
from pathlib import Path

import pytest

from voice_agent.database import DatabaseError
from voice_agent.identity import MAX_ATTEMPTS, IdentityCheck, IdentityClosed, IdentityRefused
from voice_agent.ledger import Customer, Ledger
from voice_agent.ledger_demo import demo_ledger
from voice_agent.scopes import Grants, Scope

MARY = ("352986", date(1984, 5, 3))
PETER = ("530194", date(1971, 11, 20))
WRONG = ("352986", date(1984, 5, 4))


@pytest.fixture
def grants() -> Grants:
    return Grants([Scope.IDENTITY_CHECK])


@pytest.fixture
def check(tmp_path: Path, grants: Grants) -> IdentityCheck:
    return IdentityCheck(demo_ledger(tmp_path / "ledger.db"), grants, datetime.now)


def verified(grants: Grants) -> bool:
    return not grants.lacking({Scope.CALLER_VERIFIED})


async def test_both_facts_earn_the_scope(check: IdentityCheck, grants: Grants) -> None:
    assert not verified(grants)
    assert (await check.verify(*MARY)).name == "Mary Johnson"
    assert check.customer == Customer(1, "Mary Johnson")
    assert verified(grants)
    assert (await check.verify(*MARY)).name == "Mary Johnson"


async def test_a_call_has_few_attempts_and_then_none(check: IdentityCheck, grants: Grants) -> None:
    for _ in range(MAX_ATTEMPTS - 1):
        with pytest.raises(IdentityRefused) as refused:
            await check.verify(*WRONG)
        assert not isinstance(refused.value, IdentityClosed)
    with pytest.raises(IdentityClosed):
        await check.verify(*WRONG)
    with pytest.raises(IdentityClosed):
        await check.verify(*MARY)
    assert not verified(grants)
    assert check.customer is None


async def test_attempts_in_parallel_are_no_more_attempts(check: IdentityCheck) -> None:
    answers = await asyncio.gather(
        *(check.verify(*WRONG) for _ in range(20)), return_exceptions=True
    )
    assert all(isinstance(answer, IdentityRefused) for answer in answers)
    with pytest.raises(IdentityClosed):
        await check.verify(*MARY)


@pytest.mark.parametrize("other", [PETER, WRONG, ("999999", date(1990, 1, 1))])
async def test_a_verified_caller_learns_nothing_about_others(
    check: IdentityCheck, other: tuple[str, date]
) -> None:
    await check.verify(*MARY)
    with pytest.raises(IdentityClosed):
        await check.verify(*other)
    assert check.customer == Customer(1, "Mary Johnson")


async def test_a_ledger_that_is_gone_uses_up_no_attempt(tmp_path: Path, grants: Grants) -> None:
    (tmp_path / "ledger.db").mkdir()
    ledger: Ledger = demo_ledger(tmp_path / "ledger.db")
    check = IdentityCheck(ledger, grants, datetime.now)
    for _ in range(MAX_ATTEMPTS + 1):
        with pytest.raises(DatabaseError):
            await check.verify(*MARY)
    assert not verified(grants)
