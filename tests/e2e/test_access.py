from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from controller.cli.declared import declared_access
from controller.cli.flags import parse_options
from controller.cli.options import Options
from support.cluster import NAMESPACES, RBAC, Cluster, SandboxCluster
from support.foo_story import tell_story
from support.myapp_life import install_myapp, tell_myapp_life
from support.program import Run, wait_ready_page
from support.request_trace import Asked, no_streaming_lists
from support.service_account import printed_roles, role_name, service_account

PERMISSIONS = sum(len(access.verbs) for access in declared_access(Options()))


def test_a_service_account_with_the_printed_role_is_enough(
    cluster: Cluster, run: Run, tmp_path: Path
) -> None:
    """With exactly that role everything works, and nothing is refused on the way."""
    install_myapp(cluster)
    with (
        service_account(cluster, tmp_path) as kubeconfig,
        run("--controllers=*", kubeconfig=kubeconfig) as program,
    ):
        wait_ready_page(program)
        assert program.lines_with(f"identity=.system:serviceaccount:{cluster.namespace}:handloop")
        assert program.lines_with(f"RBAC {PERMISSIONS}/{PERMISSIONS}")
        tell_story(cluster)
        tell_myapp_life(cluster)
        assert 'code="403"' not in program.page("metrics", "/metrics")[1]
        assert program.stop() == 0
        assert not program.lines_with(r"[Ff]orbidden|errors\.md#e09")


def test_roles_of_one_namespace_are_enough_there(cluster: Cluster, run: Run, tmp_path: Path) -> None:
    """`manifests rbac -n --leader-elect` prints Roles only, and with them nothing is refused."""
    flags = (
        "--namespace",
        cluster.namespace,
        "--controllers=foo",
        "--leader-elect",
        f"--leader-elect-resource-namespace={cluster.namespace}",
    )
    assert {role["kind"] for role in printed_roles(*flags)} == {"Role"}
    with (
        service_account(cluster, tmp_path, *flags) as kubeconfig,
        run(*flags, kubeconfig=kubeconfig) as program,
    ):
        program.wait_ready()
        tell_story(cluster)
        assert 'code="403"' not in program.page("metrics", "/metrics")[1]
        assert program.stop() == 0
        assert not program.lines_with(r"[Ff]orbidden|errors\.md#e09")


def test_the_role_without_a_verb_is_not_enough(sandbox: SandboxCluster, run: Run, tmp_path: Path) -> None:
    """The refusal that the test above looks for does show: in the checks, the log and the metrics."""
    with service_account(sandbox, tmp_path) as kubeconfig:
        name = role_name(sandbox, "handloop")
        role = sandbox.get(f"{RBAC}/clusterroles", name)
        rules = [rule for rule in role["rules"] if "deployments" not in rule["resources"]]
        sandbox.change(f"{RBAC}/clusterroles", name, {"rules": rules})
        with run(kubeconfig=kubeconfig) as program:
            program.wait_line("docs/errors.md#e09")
            program.wait_line('Failed to (list|watch)".*deployments.* cannot .*403')
            assert 'code="403"' in program.page("metrics", "/metrics")[1]
            sandbox.change(f"{RBAC}/clusterroles", name, {"rules": role["rules"]})
            program.wait_ready()


class Use(NamedTuple):
    """A verb on a resource; place "" = where the controllers work, else the namespace of the lease."""

    verb: str
    resource: str
    group: str
    place: str = ""


def declared_uses(options: Options) -> set[Use]:
    """What RBAC manifests, preflight and doctor go by."""
    return {
        Use(verb, entry.rule_resource, entry.resource.group, entry.namespace or "")
        for entry in declared_access(options)
        for verb in entry.verbs
    }


def made_uses(asked: Iterable[Asked], lease_namespace: str = "") -> set[Use]:
    """What was really asked for."""
    return {
        Use(one.verb, one.resource, one.group, one.namespace if one.namespace == lease_namespace else "")
        for one in asked
    }


@pytest.mark.parametrize(
    ("name", "tell"), [("foo", tell_story), ("myapp", tell_myapp_life)], ids=["foo", "myapp"]
)
def test_the_declared_verbs_are_those_that_are_used(
    sandbox: SandboxCluster, run: Run, name: str, tell: Callable[[SandboxCluster], None]
) -> None:
    """Over a life with streaming lists and one without, every declared verb is used and no other."""
    install_myapp(sandbox)
    with run(f"--controllers={name}") as program:
        wait_ready_page(program)
        tell(sandbox)
        assert program.stop() == 0
    streaming = sandbox.trace.asked()
    assert any(asked.streaming_list for asked in streaming)
    sandbox.trace.refuse = no_streaming_lists
    with run(f"--controllers={name}") as program:
        wait_ready_page(program)
        assert program.stop() == 0
    assert made_uses(sandbox.trace.asked()) == declared_uses(Options(controllers=(name,)))


def test_leader_election_uses_what_it_declares(sandbox: SandboxCluster, run: Run) -> None:
    """A first leader and its successor: the lease is made, read and written, by its name, and no other."""
    home = "home"
    sandbox.create(NAMESPACES, {"metadata": {"name": home}})
    flags = ("--controllers=foo", "--leader-elect", f"--leader-elect-resource-namespace={home}")
    for _ in range(2):
        with run(*flags) as program:
            program.wait_ready()
            sandbox.wait(f"{NAMESPACES}/{home}/events", bool, "told who leads")
            assert program.stop() == 0
    options = parse_options(flags, {})
    there = [asked for asked in sandbox.trace.asked() if asked.namespace == home]
    wanted = {use for use in declared_uses(options) if use.place == home}
    assert wanted
    assert made_uses(there, home) == wanted
    named = {asked.name for asked in there if asked.resource == "leases" and asked.verb != "create"}
    assert named == {options.leader_elect_resource_name}
