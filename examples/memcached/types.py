"""The kind Memcached."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from handloop import LIST_SET, APIStruct, Condition, Kind, Rule, list_map


class MemcachedSpec(APIStruct):
    """What a user asks for."""

    size: Annotated[int, Meta(ge=0, le=2**31 - 1)]


class MemcachedStatus(APIStruct):
    """What the controller observes: the sorted names of the Pods, and whether all are available."""

    observed_generation: int = 0
    nodes: Annotated[tuple[str, ...], LIST_SET] = ()
    conditions: Annotated[tuple[Condition, ...], list_map("type")] = ()


class Memcached(Kind, group="cache.example.com", version="v1"):
    """A set of memcached servers. A label of their Pods contains the Memcached's name."""

    crd_rules = (Rule(expression="size(self.metadata.name) <= 63", message="the name exceeds 63 characters"),)

    spec: MemcachedSpec
    status: MemcachedStatus = MemcachedStatus()
