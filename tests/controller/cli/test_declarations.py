"""What the chosen controllers declare, and what the program needs besides."""

from __future__ import annotations

from handloop.controller.cli.declarations import declared_access, declared_kinds
from handloop.controller.foo.types import Foo
from support.builders.options import new_options


def test_the_lease_and_the_readers_of_metrics_are_asked_for_only_where_they_are_on() -> None:
    """--leader-elect and --metrics-auth add their access to that of the controllers."""
    plain = declared_access(new_options(controllers=("foo",)))
    more = declared_access(new_options(controllers=("foo",), leader_elect=True, metrics_auth=True))
    assert more[: len(plain)] == plain
    added = {entry.rule_resource for entry in more[len(plain) :]}
    assert added == {"leases", "events", "tokenreviews", "subjectaccessreviews"}


def test_shards_need_leases_and_by_namespace_the_names_of_namespaces() -> None:
    """By uid nothing of Namespaces is read; the Leases are where --leader-elect's would be."""
    plain = declared_access(new_options(controllers=("foo",)))
    for by, names in (("namespace", ["namespaces"]), ("uid", [])):
        options = new_options(
            controllers=("foo",), shards=16, shards_by=by, leader_elect_resource_namespace="home"
        )
        added = declared_access(options)[len(plain) :]
        assert [entry.rule_resource for entry in added] == [*names, "leases"]
        assert {entry.namespace for entry in added if entry.resource.namespaced} == {"home"}


def test_only_the_chosen_kinds_count() -> None:
    """Others need no definition."""
    assert declared_kinds(new_options(controllers=("foo",))) == (Foo,)
