from __future__ import annotations

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.kinds.core_v1 import ConfigMap, Node, Pod
from handloop.testing import caches


def config_map(name: str, namespace: str = "default", **data: str) -> ConfigMap:
    """One with that data."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=FrozenMap(data))


def test_a_lister_has_what_was_put_in() -> None:
    """By name, by namespace, cluster-scoped; a kind of which nothing was put in is empty."""
    a, b, node = config_map("a"), config_map("b", "other"), Node(metadata=ObjectMeta(name="n"))
    filled = caches(a, b, node)
    assert filled.lister_for(ConfigMap).get("default/a") is a
    assert filled.lister_for(ConfigMap).list(namespace="other") == [b]
    assert list(filled.lister_for(Node)) == [node]
    assert filled.lister_for(Pod).list() == []


def test_a_lister_follows_changes() -> None:
    """An object that is put in takes the place of the older one; one that is taken out is gone."""
    filled = caches(config_map("a"))
    lister = filled.lister_for(ConfigMap)
    newer = config_map("a", text="new")
    filled.add(newer)
    assert list(lister) == [newer]
    filled.delete(newer)
    assert list(lister) == []


def test_a_lister_has_the_indexes_that_were_added() -> None:
    """Of the objects that are there, and of those that come later."""
    red = config_map("a", colour="red")
    filled = caches(red)
    filled.add_indexers(ConfigMap, {"colour": lambda found: (found.data["colour"],)})
    lister = filled.lister_for(ConfigMap)
    assert lister.by_index("colour", "red") == [red]
    filled.add(config_map("a", colour="blue"))
    assert lister.by_index("colour", "red") == []
