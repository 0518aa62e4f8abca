"""How replicas split a program's work: the number of slots, what decides a slot, and the Lease durations."""

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
"""The pattern of Shards.lease. The name must be a valid label value, as members find each other by it."""


@dataclass(frozen=True, slots=True)
class Shards:
    """
    How many slots the replicas of a program divide among themselves, and how they divide them.

    All replicas must have the same values of count and by. A replica holds one Lease for each of its slots.
    """

    count: int
    """The number of slots."""

    by: By = "namespace"
    """What decides an object's slot: its namespace or its UID."""

    _: KW_ONLY
    lease: str = ""
    """
    The name with which the names of all Leases start, as `namespace/name` or, in a pod, only the name. ""
    means the name of the program.
    """

    lease_duration_seconds: float = LEASE_DURATION_SECONDS
    """The duration of each Lease. For the three durations, see LeaderElectionConfig."""

    renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS
    """How long a replica tries to renew a Lease before it gives up the slot."""

    retry_period_seconds: float = RETRY_PERIOD_SECONDS
    """The pause between attempts to acquire or renew a Lease."""

    settle_seconds: float = SETTLE_SECONDS
    """
    How long the members must stay the same before slots move to improve the balance. A slot without a holder
    moves immediately.
    """

    def __post_init__(self) -> None:
        """Raises: ValueError for the first value that is not allowed."""
        if not 1 <= self.count <= MAX_SLOTS:
            raise ValueError(f"shards: count must be 1 to {MAX_SLOTS}, not {self.count}")
        if self.by not in get_args(By):
            raise ValueError(f'shards: by must be "namespace" or "uid", not {self.by!r}')
        if self.settle_seconds < 0:
            raise ValueError(f"shards: settle_seconds must be 0 or more, not {self.settle_seconds:g}")
        if self.lease and not _LEASE_NAME.fullmatch(self.lease):
            raise ValueError(
                f'shards: the name in lease "{self.lease}" needs 1 to 63 lowercase letters, digits and dashes'
            )
        validate_durations(
            self.lease_duration_seconds, self.renew_deadline_seconds, self.retry_period_seconds
        )

    def __str__(self) -> str:
        return f"{self.count} slots by {self.by}"

    def terms(self, program: str, environment: Mapping[str, str] = environ) -> LeaseTerms:
        """
        Return the Leases' namespace, common name, and durations.

        Args: program is the common name to use if lease is "".
        Raises: ValueError if lease has no namespace and the program does not run in a pod.
        """
        return replace(
            lease_terms(self.lease or program, environment),
            lease_duration_seconds=self.lease_duration_seconds,
            renew_deadline_seconds=self.renew_deadline_seconds,
            retry_period_seconds=self.retry_period_seconds,
        )
