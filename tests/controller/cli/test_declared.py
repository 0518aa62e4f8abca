"""From options to what is needed of a cluster."""

from __future__ import annotations

from handloop.controller.cli.declared import declared_access, declared_kinds, rbac_command, watched_namespaces
from handloop.controller.cli.flags import parse_options
from handloop.controller.cli.options import Options
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo


def test_by_default_it_is_everything_every_controller_needs() -> None:
    """Each verb that some controller declares is in it."""
    wanted = {(entry.rule_resource, verb) for entry in declared_access(Options()) for verb in entry.verbs}
    assert {(entry.rule_resource, verb) for entry in FOO_ACCESS for verb in entry.verbs} <= wanted
    assert Foo in declared_kinds(Options())


def test_nothing_is_declared_twice() -> None:
    """What two controllers share is one rule."""
    entries = [(entry.resource, entry.subresource, entry.purpose) for entry in declared_access(Options())]
    assert len(entries) == len(set(entries))


def test_no_namespace_means_all_of_them() -> None:
    """As -A says; an empty name beside others, or a name twice, adds nothing."""
    assert watched_namespaces(Options()) == ()
    assert watched_namespaces(Options(namespace="demo")) == ("demo",)
    assert watched_namespaces(Options(namespace=",a,,b, a")) == ("a", "b")


def test_the_command_of_e09_prints_the_roles_for_the_same_options() -> None:
    """Read back it asks for the same; what changes no role is left out, and the shell is minded."""
    assert rbac_command(Options(workers=7)) == "python -m controller manifests rbac"
    options = Options(namespace="a b", kubeconfig="/k")
    command = rbac_command(options)
    assert command == "python -m controller manifests rbac -n 'a b'"
    again = parse_options(["manifests", "rbac", "-n", "a b"], {})
    assert declared_access(again) == declared_access(options)
    assert watched_namespaces(again) == watched_namespaces(options)
