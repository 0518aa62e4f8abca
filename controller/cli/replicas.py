"""The mode that the options select: Alone, Elected or Sharing."""

from __future__ import annotations

from handloop.controller.cli.alone import Alone
from handloop.controller.cli.options import Options


def replicas_of(options: Options) -> Alone:
    """Return the mode of the program's replicas. If both flags are set, its `check` raises."""
    if options.shards:
        from handloop.controller.cli.sharing import Sharing  # noqa: PLC0415 - few programs share

        return Sharing(options)
    if options.leader_elect:
        from handloop.controller.cli.elected import Elected  # noqa: PLC0415 - a laptop needs none

        return Elected(options)
    return Alone(options)
