from __future__ import annotations

import builtins

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.labels import Selector, everything, nothing, parse_selector
from handloop.apis.meta import FrozenMap
from handloop.client.errors import NotFound
from handloop.informers.indexer import NAMESPACE_INDEX, Indexer, IndexNotFound, namespace_index_func
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister, MergedCache, NamespaceNotWatched
from handloop.kinds.meta_v1 import LabelSelector
from support.builders.deployments import deployment, names
from support.checks.captured_logs import captured_logs
from support.doubles.plain_items import Keyed

OBJECTS = [
    deployment("a", namespace="one", labels={"app": "x"}),
    deployment("b", namespace="one", labels={"app": "y"}),
    deployment("c", namespace="two", labels={"app": "x"}),
    deployment("d", namespace=""),
]


def new_lister(*, indexed: bool = True) -> Lister[Deployment]:
    indexer: Indexer[Deployment] = Indexer(
        indexers={NAMESPACE_INDEX: namespace_index_func} if indexed else None
    )
    indexer.replace(OBJECTS, "1")
    return Lister(indexer, Deployment.resource)


class UnreadableIndexer(Indexer[Deployment]):
    """Fails the test when it is read."""

    def by_index(self, name: str, value: str) -> builtins.list[Deployment]:
        raise AssertionError("the store was read")

    def list(self) -> builtins.list[Deployment]:
        raise AssertionError("the store was read")


class Unlabelled:
    """An object whose labels no test should read."""

    metadata = Keyed("key")


def test_everything_does_not_look_at_labels() -> None:
    """An object without labels is listed too; only a real selector needs them."""
    indexer: Indexer[Deployment] = Indexer()
    indexer.add(Unlabelled())  # type: ignore[arg-type] # the point
    lister = Lister(indexer, Deployment.resource)
    assert len(lister.list()) == 1
    with pytest.raises(AttributeError):
        lister.list(parse_selector("app=x"))


@pytest.mark.parametrize("namespace", ["", "one"])
def test_nothing_does_not_read_the_store(namespace: str) -> None:
    """The answer is known without it."""
    lister = Lister(UnreadableIndexer(), Deployment.resource)
    assert lister.list(nothing(), namespace=namespace) == []


def test_get_by_namespace_and_name() -> None:
    """The cached object itself, by each spelling of its name; None without one, and no error of a client."""
    lister = new_lister()
    assert lister.get("a", namespace="two") is None
    assert lister.get("a", namespace="one") is OBJECTS[0]
    assert lister.get("one/a") is lister.get("one/a", namespace="one") is OBJECTS[0]
    assert lister.get(ObjectName("one", "a")) is OBJECTS[0]


def test_a_namespace_does_not_count_for_a_cluster_scoped_kind() -> None:
    """As upstream, and as in a request: code for any kind passes the namespace that it has."""
    indexer: Indexer[Deployment] = Indexer()
    indexer.replace(OBJECTS, "1")
    lister = Lister(indexer, Deployment.resource._replace(namespaced=False))
    assert lister.get("d") is lister.get(ObjectName("", "d")) is OBJECTS[3]
    assert lister.get("one/d") is lister.get("d", namespace="one") is OBJECTS[3]
    assert lister.list(namespace="one") == lister.list()


def test_a_name_that_can_be_no_objects_is_refused() -> None:
    """None would mean that the object is gone."""
    lister = new_lister()
    with pytest.raises(ValueError, match="a Deployment is in a namespace"):
        lister.get("a")
    with pytest.raises(ValueError, match="not in namespace two"):
        lister.get(ObjectName("one", "a"), namespace="two")
    with pytest.raises(ValueError, match="unexpected key format"):
        lister.get("one/two/a")


@pytest.mark.parametrize(
    "text", ["x/y", "../x", "/", "one/", "one/x/y", "a,b=c", "", "..", "x" * 60_000, "\n", "\ud800"]
)
def test_a_text_that_no_object_has_as_its_name_is_no_object(text: str) -> None:
    """A user may have written it into a spec: in every sort of cache it is not there, and that is all."""
    indexer: Indexer[Deployment] = Indexer()
    indexer.replace(OBJECTS, "1")
    for cache in (indexer, MergedCache({"one": indexer}, Deployment.resource)):
        lister = Lister(cache, Deployment.resource)
        assert lister.get(text, namespace="one") is None
        assert lister.get(ObjectName("one", text)) is None
        assert lister.get("one/a", namespace="one") is lister.get("a", namespace="one") is OBJECTS[0]


def test_a_lister_is_a_collection() -> None:
    """Names are in it or not, and it is iterated over."""
    lister = new_lister()
    assert "one/a" in lister
    assert ObjectName("two", "a") not in lister
    assert names(list(lister)) == ["a", "b", "c", "d"]
    assert repr(lister) == "<Lister of deployments.apps/v1>"


def test_objects_are_found_by_an_index() -> None:
    """As in the store."""
    assert names(new_lister().by_index(NAMESPACE_INDEX, "one")) == ["a", "b"]
    with pytest.raises(IndexNotFound):
        new_lister().by_index("none", "x")


@pytest.mark.parametrize(
    ("namespace", "selector", "expected"),
    [
        ("one", everything(), ["a", "b"]),
        ("one", parse_selector("app=x"), ["a"]),
        ("one", "app in (x, z)", ["a"]),
        ("two", everything(), ["c"]),
        ("three", everything(), []),
        ("", everything(), ["a", "b", "c", "d"]),
        ("", parse_selector("app=x"), ["a", "c"]),
        ("", parse_selector("app=z"), []),
    ],
)
def test_list_of_a_namespace(namespace: str, selector: Selector | str, expected: list[str]) -> None:
    """
    By index, and with the same result and a warning without one; "" stands for all namespaces.

    Follows TestListAll.
    """
    assert names(new_lister().list(selector, namespace=namespace)) == expected
    with captured_logs() as entries:
        assert names(new_lister(indexed=False).list(selector, namespace=namespace)) == expected
    warnings = [(entry["event"], entry["err"]) for entry in entries]
    scan = (
        "Can not retrieve list of objects using index",
        "Index with name namespace does not exist (known: none): add it with add_indexers",
    )
    assert warnings == ([scan] if namespace else [])


def test_list_of_a_namespace_uses_the_index() -> None:
    """Other namespaces are not looked at."""

    class NoScan(Indexer[Deployment]):
        def list(self) -> list[Deployment]:
            raise AssertionError("the whole store was read")

    indexer = NoScan(indexers={NAMESPACE_INDEX: namespace_index_func})
    indexer.replace(OBJECTS, "1")
    assert names(Lister(indexer, Deployment.resource).list(namespace="two")) == ["c"]


def test_lists_are_the_callers_own() -> None:
    """Changing the list changes nothing in the cache."""
    lister = new_lister()
    lister.list().clear()
    lister.list(namespace="one").clear()
    assert len(lister.list()) == 4
    assert len(lister.list(namespace="one")) == 2


# a cache of some namespaces


def merged() -> Lister[Deployment]:
    """The objects of the namespaces one and two, each from a store of its own."""
    stores: dict[str, Indexer[Deployment]] = {}
    for namespace in ("one", "two"):
        stores[namespace] = Indexer(indexers={NAMESPACE_INDEX: namespace_index_func})
        stores[namespace].replace([obj for obj in OBJECTS if obj.metadata.namespace == namespace], "1")
    return Lister(MergedCache(stores, Deployment.resource), Deployment.resource)


def test_watched_namespaces_are_read_as_one() -> None:
    """A list without a namespace has the objects of those that are watched; absent there is None."""
    lister = merged()
    assert names(lister.list()) == ["a", "b", "c"]
    assert names(lister.list(parse_selector("app=x"), namespace="one")) == ["a"]
    assert lister.get("two/c") is OBJECTS[2]
    assert lister.get("two/a") is None


def test_a_namespace_that_is_not_watched_is_not_empty() -> None:
    """Whether the object is there is unknown: it must not be taken for gone."""
    with pytest.raises(NamespaceNotWatched) as caught:
        merged().get("three/a")
    assert not isinstance(caught.value, NotFound)
    assert str(caught.value) == (
        'unable to get deployments.apps "three/a" from the cache: namespace "three" is not watched '
        "(watched: one, two): watch it as well, or read from the server with a client"
    )


def test_objects_of_a_namespace_that_is_not_watched_cannot_be_listed() -> None:
    """An empty list would mean that there are none."""
    with pytest.raises(NamespaceNotWatched, match=r'unable to list deploy.*"three" is not watched'):
        merged().list(namespace="three")


def test_an_index_that_no_store_has_is_an_error() -> None:
    """As in a single store."""
    cache: MergedCache[Deployment] = MergedCache({"one": Indexer(), "two": Indexer()}, Deployment.resource)
    with pytest.raises(IndexNotFound):
        cache.by_index("none", "x")


def test_a_label_selector_of_an_object_chooses_too() -> None:
    """As written in spec.selector."""
    lister = new_lister()
    chosen = LabelSelector(match_labels=FrozenMap({"app": "x"}))
    assert lister.list(chosen) == lister.list("app=x") != []
