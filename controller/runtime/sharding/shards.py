"""How replicas split a program's work: into how many slots, by what, and with which durations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from os import environ
from typing import Final, Literal, get_args

from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
    validate_durations,
)
from handloop.controller.runtime.election.election import LeaseTerms, lease_terms

By = Literal["namespace", "uid"]

MAX_SLOTS: Final = 256
SETTLE_SECONDS: Final = 30.0
_LEASE_NAME: Final = re.compile(r"(.+/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A name that is also valid as a label value, because members find each other by that label."""


@dataclass(frozen=True, slots=True)
class Shards:
    """
    A number of slots that the replicas of a program divide among themselves.

    All replicas need the same count and by. A replica renews one Lease for each slot that it has.
    """

    count: int
    """How many slots."""

    by: By = "namespace"
    """What decides an object's slot: its namespace or its UID."""

    _: KW_ONLY
    lease: str = ""
    """
    `namespace/name`, or in a pod just a name; "" means that it is named after the program. The names of the
    Leases of slots and members begin with it.
    """

    lease_duration_seconds: float = LEASE_DURATION_SECONDS
    """The duration of each Lease. For this and the next two, see LeaderElectionConfig."""

    renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS
    """How long a replica tries to renew a Lease before it gives up the slot."""

    retry_period_seconds: float = RETRY_PERIOD_SECONDS
    """The pause between tries."""

    settle_seconds: float = SETTLE_SECONDS
    """
    How long the members must stay the same before slots move to improve the balance. A slot that nobody has
    moves immediately.
    """

    def __post_init__(self) -> None:
        """Raises: ValueError for the first rule that is broken."""
        if not 1 <= self.count <= MAX_SLOTS:
            raise ValueError(f"shards: count is 1 to {MAX_SLOTS}, not {self.count}")
        if self.by not in get_args(By):
            raise ValueError(f'shards: by is "namespace" or "uid", not {self.by!r}')
        if self.settle_seconds < 0:
            raise ValueError(f"shards: settle_seconds is 0 or more, not {self.settle_seconds:g}")
        if self.lease and not _LEASE_NAME.fullmatch(self.lease):
            raise ValueError(
                f'shards: the lease "{self.lease}" needs a name of 1 to 63 small letters, digits and dashes'
            )
        validate_durations(
            self.lease_duration_seconds, self.renew_deadline_seconds, self.retry_period_seconds
        )

    def __str__(self) -> str:
        return f"{self.count} slots by {self.by}"

    def terms(self, program: str, environment: Mapping[str, str] = environ) -> LeaseTerms:
        """
        Return the namespace, the common name, and the durations of the Leases.

        Args: program is the name that they begin with if lease is "".
        Raises: ValueError outside a pod, if lease has no namespace.
        """
        return replace(
            lease_terms(self.lease or program, environment),
            lease_duration_seconds=self.lease_duration_seconds,
            renew_deadline_seconds=self.renew_deadline_seconds,
            retry_period_seconds=self.retry_period_seconds,
        )
