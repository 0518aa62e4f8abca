"""The kind Memcached."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from handloop import LIST_SET, APIStruct, Condition, Kind, Rule, list_map


class MemcachedSpec(APIStruct):
    """What a user asks for."""

    size: Annotated[int, Meta(ge=0, le=2**31 - 1)]


class MemcachedStatus(APIStruct):
    """What the controller sees: the names of the Pods, sorted, and whether all of them are available."""

    observed_generation: int = 0
    nodes: Annotated[tuple[str, ...], LIST_SET] = ()
    conditions: Annotated[tuple[Condition, ...], list_map("type")] = ()


class Memcached(Kind, group="cache.example.com", version="v1"):
    """Some memcached servers. Its name is a label of its Pods."""

    crd_rules = (Rule(expression="size(self.metadata.name) <= 63", message="a name has 63 characters"),)

    spec: MemcachedSpec
    status: MemcachedStatus = MemcachedStatus()
