"""Declared access, as it is written down and as it is merged."""

from __future__ import annotations

from dataclasses import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.coordination_v1 import Lease
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.runtime.rbac.access import (
    FOLLOWING_NAMESPACES,
    LISTING_NAMESPACES,
    PAUSING_NAMESPACES,
    Access,
    merged,
)


def test_foo_never_asks_for_what_could_destroy() -> None:
    """No delete, no wildcard, no write to Foos but their status."""
    verbs = {(entry.rule_resource, verb) for entry in FOO_ACCESS for verb in entry.verbs}
    assert not {verb for _, verb in verbs} & {"delete", "deletecollection", "*", "escalate", "bind"}
    assert {verb for resource, verb in verbs if resource == "foos"} == {"get", "list", "watch"}


def test_access_of_two_controllers_is_listed_once() -> None:
    """Verbs on the same resource come together, in the place of the first; the rest stays apart."""
    reading = Access(resource=Deployment.resource, verbs=("watch", "list"))
    writing = Access(resource=Deployment.resource, verbs=("patch", "list"))
    scale = Access(resource=Deployment.resource, verbs=("get",), subresource="scale")
    assert merged([reading, scale, writing]) == (
        Access(resource=Deployment.resource, verbs=("list", "patch", "watch")),
        scale,
    )


def test_names_places_and_purposes_keep_entries_apart() -> None:
    """One lease in one namespace is another thing than all leases everywhere."""
    entries = [
        Access(resource=Lease.resource, verbs=("get",)),
        Access(resource=Lease.resource, verbs=("update",), names=("handloop",)),
        Access(resource=Lease.resource, verbs=("get",), namespace="kube-system"),
        Access(resource=Lease.resource, verbs=("get",), purpose="leader-election"),
    ]
    assert merged([*entries, *entries]) == tuple(entries)


def test_what_is_allowed_for_all_needs_no_rule_for_some() -> None:
    """By name, or by names that only an admin knows."""
    some = Access(resource=Lease.resource, verbs=("get", "list"), names=("handloop",))
    known = Access(resource=Lease.resource, verbs=("list", "watch"), by_name=True)
    all_of_them = Access(resource=Lease.resource, verbs=("list", "watch"))
    assert merged([some, known, all_of_them]) == (replace(some, verbs=("get",)), all_of_them)


def test_what_one_needs_is_not_optional_beside_it() -> None:
    """A program whose namespaces come and go watches them anyway: its role has one rule for them."""
    assert merged([PAUSING_NAMESPACES, FOLLOWING_NAMESPACES]) == (FOLLOWING_NAMESPACES,)
    assert merged([PAUSING_NAMESPACES, LISTING_NAMESPACES])[0].verbs == ("watch",)
