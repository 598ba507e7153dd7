"""The identity check of one call: two facts, few attempts, one wording for every failure."""

from collections.abc import Callable
from datetime import date, datetime

from voice_agent.database import DatabaseError
from voice_agent.ledger import Customer, Ledger
from voice_agent.scopes import Grants, Scope

MAX_ATTEMPTS = 3
"""Checks that one call may fail before it can no longer succeed."""


class IdentityRefused(Exception):
    """The facts do not fit. Why not is kept from everybody."""


class IdentityClosed(IdentityRefused):
    """This call has no attempts left, or is already verified as somebody else."""


class IdentityCheck:
    """Who this call's caller has proved to be.

    Args:
        ledger: Knows the facts; counts failures over all calls.
        grants: Of the call; earns `Scope.CALLER_VERIFIED` on success.
        clock: Local time, without a zone.
    """

    def __init__(self, ledger: Ledger, grants: Grants, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._grants = grants
        self._clock = clock
        self._failures = 0
        self._customer: Customer | None = None
        self._facts: tuple[str, date] | None = None

    @property
    def customer(self) -> Customer | None:
        """The verified caller; None before the check."""
        return self._customer

    async def verify(self, number: str, date_of_birth: date) -> Customer:
        """Check both facts at once.

        Args:
            number: Customer number, digits.
            date_of_birth: As the caller says.

        Raises:
            IdentityRefused: they do not fit together, or the ledger no longer accepts this number.
            IdentityClosed: no attempt is left, or the call is verified as another customer.
            DatabaseError: the ledger cannot be reached; no attempt is used up.
        """
        if self._customer is not None:
            if self._facts == (number, date_of_birth):
                return self._customer
            # a verified caller must not learn whether another's facts fit: they are not looked at
            raise IdentityClosed
        if self._failures >= MAX_ATTEMPTS:
            raise IdentityClosed
        # counted before the answer, so that calls in parallel get no more attempts
        self._failures += 1
        try:
            found = await self._ledger.identify(number, date_of_birth, now=self._clock())
        except DatabaseError:
            self._failures -= 1
            raise
        if found is None:
            raise IdentityClosed if self._failures >= MAX_ATTEMPTS else IdentityRefused
        if self._customer is not None and self._customer != found:
            raise IdentityClosed
        self._failures -= 1
        self._customer, self._facts = found, (number, date_of_birth)
        self._grants.earn(Scope.CALLER_VERIFIED)
        return found
