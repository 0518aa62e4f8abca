"""Finds the custom kinds of the chosen controllers, and all the access that the program will use."""

from __future__ import annotations

from typing import Any, Final

from handloop.controller.cli.options import Options
from handloop.controller.cli.replicas import replicas_of
from handloop.controller.runtime.rbac.access import FOLLOWING_NAMESPACES, Access, merged
from handloop.controller.runtime.serving.access import METRICS_AUTH_ACCESS

_CHANGES: Final = frozenset({"create", "update", "patch", "*"})


def declared_kinds(options: Options) -> tuple[type[Any], ...]:
    """Return the kinds that need a CRD."""
    return tuple(dict.fromkeys(kind for setup in options.setups() for kind in setup.kinds))


def written_kinds(options: Options) -> tuple[type[Any], ...]:
    """Return the kinds that the controllers create or change, except those that this program defines."""
    ours = {kind.resource for kind in declared_kinds(options)}
    changed = {one.resource for one in declared_access(options) if not _CHANGES.isdisjoint(one.verbs)}
    kinds = dict.fromkeys(kind for setup in options.setups() for kind in setup.written)
    return tuple(kind for kind in kinds if kind.resource in changed - ours)


def declared_access(options: Options) -> tuple[Access, ...]:
    """Return all access that the program will use. The namespace for Leases is "" if it is unknown."""
    whole = not options.namespaces
    return (
        *merged(
            [
                # A role in a namespace cannot grant optional cluster-wide access.
                *(each for setup in options.setups() for each in setup.access if whole or not each.optional),
                *_conversion_access(options),
            ]
        ),
        *((FOLLOWING_NAMESPACES,) if options.namespace_labels else ()),
        *replicas_of(options).access(),
        *(METRICS_AUTH_ACCESS if options.metrics_auth else ()),
    )


def _conversion_access(options: Options) -> tuple[Access, ...]:
    kinds = [kind for kind in declared_kinds(options) if kind.previous is not None]
    if not kinds:
        return ()
    from handloop.controller.cli.webhook import conversion_access  # noqa: PLC0415 - most convert nothing

    return conversion_access(kinds, options)
