"""
The resource requests and limits of a pod, per container and in total.

Follows: kubernetes component-helpers resource/helpers.go (PodRequests, PodLimits).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.quantity import canonical

_KIBI: Final = 1024

Amounts = Mapping[str, str]
"""Quantities by resource name."""


class Resources(NamedTuple):
    """The requests and limits of a container, a pod or a claim."""

    requests: Amounts
    limits: Amounts

    @classmethod
    def of(cls, container: Mapping[str, Any]) -> Resources:
        """Return the requests and limits in an object's `resources` field."""
        found = container.get("resources") or {}
        return cls(found.get("requests") or {}, found.get("limits") or {})


def of_pod(spec: Object) -> Resources:
    """
    Return the totals of a pod: the sums over its containers, replaced by any pod-level amounts.

    A restartable init container keeps running, so its amounts are part of the sums. Another init container
    runs only with the restartable ones before it. If such a group requests more of a resource than all
    containers together, the group's amount is the total.
    """
    own = Resources.of(spec)
    return Resources(*({**_total(spec, member), **own[member]} for member in range(len(own))))


def _total(spec: Object, member: int) -> Amounts:
    beside: Amounts = {}
    most: list[Amounts] = []
    for container in spec.get("initContainers") or ():
        asked = Resources.of(container)[member]
        if container.get("restartPolicy") == "Always":
            beside = added((beside, asked))
        else:
            most.append(added((beside, asked)))
    usual = [Resources.of(container)[member] for container in spec.get("containers") or ()]
    total = dict(added((*usual, beside)))
    for amounts in most:
        for name, amount in amounts.items():
            total[name] = max(total.get(name, "0"), amount, key=parse_quantity)
    return total


def added(each: Iterable[Amounts]) -> Amounts:
    """Add up the amounts of each resource. A sum uses binary suffixes if its first nonzero amount does."""
    total: dict[str, str] = {}
    for amounts in each:
        for name, amount in amounts.items():
            total[name] = _sum(total[name], amount) if name in total else amount
    return total


def _sum(one: str, other: str) -> str:
    total = parse_quantity(one) + parse_quantity(other)
    if (one if parse_quantity(one) else other).endswith("i"):
        return canonical(f"{total / _KIBI}Ki") if total % _KIBI == 0 else str(total)
    return canonical(f"{int(total * 10**9)}n")
