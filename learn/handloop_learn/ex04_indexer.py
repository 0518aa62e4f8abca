"""The exercise of chapter 4: an index of Deployments by the Foo that controls them."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Final

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import ObjectMeta, OwnerReference
from handloop.informers.indexer import Indexer
from handloop_learn.exercise import Exercise, Load, WrongError, expect

START: Final = '''\
"""Chapter 4: find the Deployments of a Foo without looking at all of them."""

from handloop.apis.meta import controller_of  # (deployment): its controller (.kind, .name), or None


def by_foo(deployment):
    """Return a Deployment's values in the index: "namespace/name" of the Foo that controls it, or none."""
    return []


def deployments_of(indexer, namespace, name):
    """Return the Deployments that this Foo controls. The index is called "foo"."""
    return [each for each in indexer.list() if f"{namespace}/{name}" in by_foo(each)]
'''

_LIST: Final = (
    "An index function returns a list of strings, because an object can have several values or none."
)


class _WatchedIndexer(Indexer[Deployment]):
    """Counts the scans over all objects."""

    scans = 0

    def list(self) -> builtins.list[Deployment]:
        self.scans += 1
        return super().list()

    def list_keys(self) -> builtins.list[str]:
        self.scans += 1
        return super().list_keys()


def _deployment(
    name: str, namespace: str = "default", kind: str = "", *, controller: bool = True
) -> Deployment:
    version = "samplecontroller.k8s.io/v1alpha1"
    owner = OwnerReference(api_version=version, kind=kind, name="a", uid=f"{kind}-a", controller=controller)
    owners = (owner,) if kind else ()
    return Deployment(metadata=ObjectMeta(name=name, namespace=namespace, owner_references=owners))


def check(load: Load) -> Iterator[str]:
    """See Check."""
    reader = load()
    mine, elsewhere = _deployment("mine", kind="Foo"), _deployment("elsewhere", "other", "Foo")
    nobodys, bars = _deployment("nobodys"), _deployment("bars", kind="Bar")
    loose = _deployment("loose", kind="Foo", controller=False)
    values = reader.by_foo(mine)
    expect(not isinstance(values, str), f"by_foo returned the string {values!r}", _LIST)
    expect(values, "by_foo returned nothing for a Foo's Deployment", "controller_of(...) returns it.")
    expect(list(values) == ["default/a"], f"by_foo returned {values!r}", "Return the Foo's `namespace/name`.")
    yield "a Deployment is found under its Foo"
    try:
        none = list(reader.by_foo(nobodys))
    except AttributeError as error:
        hint = "controller_of returns None for a Deployment without a controller. Return [] for it."
        raise WrongError(f"by_foo raised for a Deployment without an owner: {error}", hint) from error
    expect(not none, f"by_foo returned {none} for a Deployment without an owner", _LIST)
    for other, hint in (
        (bars, "The controller must be a Foo: check the reference's kind."),
        (loose, "The owner must be the controller. controller_of returns only that owner."),
    ):
        found = list(reader.by_foo(other))
        expect(not found, f"by_foo returned {found} for `{other.metadata.name}`, which no Foo controls", hint)
    yield "a Deployment that no Foo controls has no value in the index"
    indexer = _WatchedIndexer(indexers={"foo": reader.by_foo})
    indexer.replace([mine, elsewhere, nobodys, bars, loose])
    got = reader.deployments_of(indexer, "default", "a")
    names = sorted(each.metadata.name for each in got)
    expect(names == ["mine"], f"deployments_of found {names}", "Two namespaces can each have a Foo `a`.")
    looked = f"deployments_of scanned all {len(indexer)} Deployments"
    expect(not indexer.scans, looked, 'Use the index: indexer.by_index("foo", value).')
    expect(
        got[0] is mine,
        "deployments_of returned a copy",
        "Return the object in the cache, which all readers share.",
    )
    yield "the index finds one Foo's Deployments without scanning the others"


EXERCISE: Final = Exercise(
    "write by_foo() and deployments_of(): an index of Deployments by their Foo.", START, check
)
