from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.informers.indexer import NAMESPACE_INDEX, Indexer, namespace_index_func
from handloop.informers.keys import meta_namespace_key_func
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.served_cache import NamespaceNotServed, ServedCache
from handloop.informers.sharding.shard_scope import ShardScope
from support.builders.deployments import deployment


def test_a_namespace_of_another_replica_is_refused_and_not_empty() -> None:
    """By name and by the index of namespaces; reads over all see those that are ours."""
    held = HeldSlots(4)
    held.add(slot_of_namespace("ours", 4))
    other = next(f"n{i}" for i in range(100) if slot_of_namespace(f"n{i}", 4) not in held.slots)
    store: Indexer[Deployment] = Indexer(indexers={NAMESPACE_INDEX: namespace_index_func})
    ours = deployment("a", namespace="ours")
    store.add(ours)
    cache = ServedCache(store, Deployment.resource, ShardScope(held, "namespace"))
    assert cache.list() == cache.by_index(NAMESPACE_INDEX, "ours") == [ours]
    assert cache.get_by_key(meta_namespace_key_func(ours)) is ours
    for ask in (lambda: cache.get_by_key(f"{other}/a"), lambda: cache.by_index(NAMESPACE_INDEX, other)):
        with pytest.raises(NamespaceNotServed, match=f'namespace "{other}" is in slot . of 4'):
            ask()
