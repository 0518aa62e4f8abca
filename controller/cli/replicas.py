"""Selects how replicas divide the work: Alone, Elected (defined here), or Sharing (imported only if used)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from handloop.controller.cli.alone import Alone, Process
from handloop.controller.cli.options import Options


def replicas_of(options: Options) -> Alone:
    """
    Return the mode of the program's replicas.

    If both --shards and --leader-elect are set, the `check` method of the returned mode raises an error.
    """
    if options.shards:
        from handloop.controller.cli.sharing import Sharing  # noqa: PLC0415 - few programs share

        return Sharing(options)
    return Elected(options) if options.leader_elect else Alone(options)


class Elected(Alone):
    """The mode of --leader-elect: only the Lease's holder reconciles. The others wait with warm caches."""

    flag: ClassVar[str] = "--leader-elect"

    def access(self) -> Sequence[Any]:
        """See Alone."""
        from handloop.controller.runtime.election.lease_access import leader_election_access  # noqa: PLC0415

        options = self._options
        return leader_election_access(
            options.leader_elect_resource_name, options.leader_elect_resource_namespace
        )

    def facts(self) -> str:
        """See Alone."""
        return f"leader election by lease {self.lease()}"

    def join(self, manager: Any, process: Process) -> tuple[Any, ...]:
        """See Alone."""
        from handloop.controller.cli.standby import StandbyReport, lost_lease  # noqa: PLC0415 - as Program
        from handloop.controller.runtime.election.election import Election, LeaseTerms  # noqa: PLC0415

        def lose(lost: Any) -> None:
            process.end_page(str(lost))
            process.say(lost_lease(lost))

        options = self._options
        election = Election(
            process.config,
            LeaseTerms(
                namespace=options.leader_elect_resource_namespace,
                name=options.leader_elect_resource_name,
                lease_duration_seconds=options.leader_elect_lease_duration,
                renew_deadline_seconds=options.leader_elect_renew_deadline,
                retry_period_seconds=options.leader_elect_retry_period,
            ),
            component=f"{options.operator.name}-leader-election",
            user_agent=options.operator.user_agent,
            on_waiting=StandbyReport(process.say, process.seams.clock),
            on_lost=lose,
            end_process=os._exit,
            metrics=process.services.client_metrics,
            seams=process.seams,
        )
        election.elect(manager)
        return (election,)
