from __future__ import annotations

import builtins

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.labels import Selector, everything, nothing, parse_selector, selector_from_set
from handloop.client.errors import NotFound
from handloop.informers.indexer import NAMESPACE_INDEX, Indexer, IndexNotFound, namespace_index_func
from handloop.informers.lister import Lister, MergedCache, NamespaceLister, NamespaceNotWatched
from support.captured_logs import captured_logs
from support.deployments import deployment, names

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
    """An object whose labels nobody should look at."""


def test_list_by_label_among_many() -> None:
    """LST-01: 10,000 labelled ones of 100,000. Follows TestListAll, as the next two."""
    indexer: Indexer[Deployment] = Indexer()
    indexer.replace(
        (
            deployment(f"d{number}", labels={"app": "x"} if number % 10 == 0 else None)
            for number in range(100_000)
        ),
        "1",
    )
    lister = Lister(indexer, Deployment.resource)
    assert len(lister.list(selector_from_set({"app": "x"}))) == 10_000


def test_list_everything() -> None:
    """LST-02: every object, whether or not it has labels."""
    assert names(new_lister().list()) == ["a", "b", "c", "d"]
    assert names(new_lister().list(everything())) == ["a", "b", "c", "d"]


def test_everything_does_not_look_at_labels() -> None:
    """LST-02: an object without metadata is listed too; only a real selector needs labels."""
    indexer: Indexer[Deployment] = Indexer(key_func=lambda _obj: "key")
    indexer.add(Unlabelled())  # type: ignore[arg-type] # the point
    lister = Lister(indexer, Deployment.resource)
    assert len(lister.list()) == 1
    with pytest.raises(AttributeError):
        lister.list(parse_selector("app=x"))


def test_list_without_a_match() -> None:
    """LST-03: nothing matches, nothing is listed."""
    assert new_lister().list(parse_selector("app=z")) == []


@pytest.mark.parametrize("namespace", [None, "", "one"])
def test_nothing_does_not_read_the_store(namespace: str | None) -> None:
    """LST-04: the answer is known without it."""
    lister = Lister(UnreadableIndexer(), Deployment.resource)
    assert (lister if namespace is None else lister.namespace(namespace)).list(nothing()) == []


def test_get_by_namespace_and_name() -> None:
    """The cached object itself; a cluster-scoped one without a namespace."""
    lister = new_lister()
    assert lister.namespace("one").get("a") is OBJECTS[0]
    assert lister.get("d") is OBJECTS[3]
    assert lister.namespace("").get("d") is OBJECTS[3]


@pytest.mark.parametrize("namespace", [None, "two"])
def test_get_of_a_missing_object(namespace: str | None) -> None:
    """LST-05: NotFound as the server would put it, with the bare name."""
    lister = new_lister()
    with pytest.raises(NotFound) as raised:
        (lister if namespace is None else lister.namespace(namespace)).get("a")
    assert raised.value.status.message == 'deployments.apps "a" not found'
    assert (raised.value.status.code, raised.value.status.reason) == (404, "NotFound")


@pytest.mark.parametrize(
    ("namespace", "selector", "expected"),
    [
        ("one", everything(), ["a", "b"]),
        ("one", parse_selector("app=x"), ["a"]),
        ("two", everything(), ["c"]),
        ("three", everything(), []),
        ("", everything(), ["a", "b", "c", "d"]),
        ("", parse_selector("app=x"), ["a", "c"]),
    ],
)
def test_list_of_a_namespace(namespace: str, selector: Selector, expected: list[str]) -> None:
    """LST-06: by index, and with the same result and a warning without one; "" stands for all namespaces."""
    assert names(new_lister().namespace(namespace).list(selector)) == expected
    with captured_logs() as entries:
        assert names(new_lister(indexed=False).namespace(namespace).list(selector)) == expected
    warnings = [(entry["event"], entry["err"]) for entry in entries]
    scan = ("Can not retrieve list of objects using index", "Index with name namespace does not exist")
    assert warnings == ([scan] if namespace else [])


def test_list_of_a_namespace_uses_the_index() -> None:
    """LST-06: other namespaces are not looked at."""

    class NoScan(Indexer[Deployment]):
        def list(self) -> list[Deployment]:
            raise AssertionError("the whole store was read")

    indexer = NoScan(indexers={NAMESPACE_INDEX: namespace_index_func})
    indexer.replace(OBJECTS, "1")
    assert names(NamespaceLister(indexer, Deployment.resource, "two").list()) == ["c"]


def test_lists_are_the_callers_own() -> None:
    """Changing the list changes nothing in the cache."""
    lister = new_lister()
    lister.list().clear()
    lister.namespace("one").list().clear()
    assert len(lister.list()) == 4
    assert len(lister.namespace("one").list()) == 2


# a cache of some namespaces


def merged() -> Lister[Deployment]:
    """The objects of the namespaces one and two, each from a store of its own."""
    stores: dict[str, Indexer[Deployment]] = {}
    for namespace in ("one", "two"):
        stores[namespace] = Indexer(indexers={NAMESPACE_INDEX: namespace_index_func})
        stores[namespace].replace([obj for obj in OBJECTS if obj.metadata.namespace == namespace], "1")
    return Lister(MergedCache(stores, Deployment.resource), Deployment.resource)


def test_watched_namespaces_are_read_as_one() -> None:
    """A list without a namespace has the objects of those that are watched; absent there is NotFound."""
    lister = merged()
    assert names(lister.list()) == names(lister.namespace("").list()) == ["a", "b", "c"]
    assert names(lister.namespace("one").list(selector_from_set({"app": "x"}))) == ["a"]
    assert lister.namespace("two").get("c").metadata.namespace == "two"
    with pytest.raises(NotFound):
        lister.namespace("two").get("a")


@pytest.mark.parametrize("namespace", ["three", ""])
def test_a_namespace_that_is_not_watched_is_not_empty(namespace: str) -> None:
    """Whether the object is there nobody knows: `except NotFound` must not take it for gone."""
    lister = merged().namespace(namespace)
    with pytest.raises(NamespaceNotWatched) as caught:
        lister.get("a")
    assert not isinstance(caught.value, NotFound)
    key = "three/a" if namespace else "a"
    assert str(caught.value) == (
        f'unable to get deployments.apps "{key}" from the cache: namespace "{namespace}" is not watched, '
        "but one, two: name it among the namespaces to watch, or ask the server with a client"
    )


def test_objects_of_a_namespace_that_is_not_watched_cannot_be_listed() -> None:
    """An empty list would say that there are none."""
    with pytest.raises(NamespaceNotWatched, match=r'unable to list deploy.*"three" is not watched'):
        merged().namespace("three").list()


def test_an_index_that_no_store_has_is_an_error() -> None:
    """As in a single store."""
    cache: MergedCache[Deployment] = MergedCache({"one": Indexer(), "two": Indexer()}, Deployment.resource)
    with pytest.raises(IndexNotFound):
        cache.by_index("none", "x")
