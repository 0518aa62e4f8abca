from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from handloop.controller.cli.declarations import declared_access
from handloop.testing.request_trace import no_streaming_lists
from handloop.testing.role_grants import grants, refused, unused
from support.builders.options import new_options
from support.rigs.foo_story import tell_story, wait_event
from support.rigs.myapp_story import MyApps
from support.rigs.program import Run, wait_ready_page
from support.servers.cluster import NAMESPACES, RBAC, Cluster, Object, Objects, SandboxCluster
from support.servers.service_account import printed_roles, role_name, service_account


def tell_myapp_life(cluster: Cluster, name: str = "app") -> None:
    """
    Report it, and check what can be seen.

    Created, it becomes ready; another image, another type of Service and back; a Service that was deleted is
    made again; an autoscaler comes, changes and goes; with the MyApp everything goes.
    """
    apps = MyApps(cluster)
    apps.create(name, replicas=2)
    apps.wait_ready(name, 2)
    wait_event(cluster, name, "DeploymentReady")

    apps.change(name, image="nginx:2")
    apps.wait_container(name, lambda container: container["image"] == "nginx:2", "another image")
    for kind in ("NodePort", "ClusterIP"):
        apps.change(name, serviceType=kind)
        apps.wait_service(name, partial(_has, "type", kind), kind)
    wait_event(cluster, name, "ServiceReady", count=3)

    before = cluster.get(apps.services, name)["metadata"]["uid"]
    cluster.delete(apps.services, name)
    cluster.wait(
        apps.services, lambda found: name in found and found[name]["metadata"]["uid"] != before, "another"
    )

    for most in (3, 4):
        apps.change(name, autoScaling={"enabled": True, "maxReplicas": most})
        _wait_autoscaler(apps, name, most)
    apps.change(name, autoScaling={"enabled": False, "maxReplicas": 4})
    cluster.wait(apps.autoscalers, lambda found: name not in found, "without an autoscaler")

    cluster.delete(apps.apps, name)
    for collection in (apps.apps, cluster.deployments, apps.services):
        cluster.wait(collection, lambda found: name not in found, f"{collection} rid of {name}")


def _has(field: str, wanted: str, spec: Object) -> bool:
    return bool(spec[field] == wanted)


def _wait_autoscaler(apps: MyApps, name: str, most: int) -> None:
    def is_so(found: Objects) -> bool:
        return name in found and found[name]["spec"]["maxReplicas"] == most

    apps.cluster.wait(apps.autoscalers, is_so, f"an autoscaler up to {most}")


PERMISSIONS = sum(len(access.verbs) for access in declared_access(new_options()) if not access.optional)


def test_a_service_account_with_the_printed_role_is_enough(
    cluster: Cluster, run: Run, tmp_path: Path
) -> None:
    """With exactly that role everything works, and nothing is refused on the way."""
    MyApps(cluster).install()
    with (
        service_account(cluster, tmp_path) as kubeconfig,
        run("--controllers=*", kubeconfig=kubeconfig) as program,
    ):
        wait_ready_page(program)
        program.wait_line(f"identity=.system:serviceaccount:{cluster.namespace}:handloop")
        program.wait_line(f"RBAC {PERMISSIONS}/{PERMISSIONS}")
        tell_story(cluster)
        tell_myapp_life(cluster)
        assert 'code="403"' not in program.page("metrics", "/metrics")[1]
        assert program.stop() == 0
        assert not program.lines_with(r"[Ff]orbidden|errors E09")


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
        assert not program.lines_with(r"[Ff]orbidden|errors E09")


def test_the_role_without_a_verb_is_not_enough(sandbox: SandboxCluster, run: Run, tmp_path: Path) -> None:
    """The refusal that the test above looks for does show: in the checks, the log and the metrics."""
    with service_account(sandbox, tmp_path) as kubeconfig:
        name = role_name(sandbox, "handloop")
        role = sandbox.get(f"{RBAC}/clusterroles", name)
        rules = [rule for rule in role["rules"] if "deployments" not in rule["resources"]]
        sandbox.change(f"{RBAC}/clusterroles", name, {"rules": rules})
        with run(kubeconfig=kubeconfig) as program:
            program.wait_line("handloop errors E09")
            program.wait_line('Failed to (list|watch)".*deployments.* cannot .*403')
            assert 'code="403"' in program.page("metrics", "/metrics")[1]
            sandbox.change(f"{RBAC}/clusterroles", name, {"rules": role["rules"]})
            program.wait_ready()


class Choice(NamedTuple):
    """The choices of a user for a run; namespaces () = all of them."""

    controllers: str
    namespaces: tuple[str, ...] = ()
    elects: bool = False

    def flags(self) -> tuple[str, ...]:
        """As it is typed, for `run` and for `manifests rbac`."""
        scope = (f"--namespace={','.join(self.namespaces)}",) if self.namespaces else ()
        lease = ("--leader-elect", "--leader-elect-resource-namespace=home") if self.elects else ()
        return (f"--controllers={self.controllers}", *scope, *lease)


STORIES: Mapping[str, Callable[[Cluster], None]] = {"foo": tell_story, "myapp": tell_myapp_life}
CHOICES = (
    Choice("*", elects=True),
    Choice("foo", ("default",), elects=True),
    Choice("*", ("default", "other")),
)
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/home/leases"
FORMER: Final = {"holderIdentity": "former", "leaseDurationSeconds": 2}
FURTHER = (Choice("foo"), Choice("myapp"), Choice("myapp", ("default", "other"), elects=True))


def tell_everything(sandbox: SandboxCluster, choice: Choice) -> None:
    """The lives of what the chosen controllers are about, in each namespace that they watch."""
    names = [name for name in STORIES if choice.controllers in (name, "*")]
    for namespace in choice.namespaces or ("default",):
        with closing_transport(Cluster(sandbox.kubeconfig, namespace, seconds=sandbox.seconds)) as there:
            for name in names:
                STORIES[name](there)


@contextmanager
def closing_transport(cluster: Cluster) -> Iterator[Cluster]:
    """A second view of a cluster, which goes without taking its namespace along."""
    try:
        yield cluster
    finally:
        cluster.transport.close()


@pytest.mark.parametrize(
    "choice",
    [*CHOICES, *(pytest.param(choice, marks=pytest.mark.nightly) for choice in FURTHER)],
    ids=lambda choice: " ".join(choice.flags()),
)
def test_the_printed_roles_are_what_is_asked_for_and_nothing_else(
    sandbox: SandboxCluster, run: Run, choice: Choice, tmp_path: Path
) -> None:
    """Both ways: no request of a whole run lacks a rule, and no rule but one is without a request."""
    MyApps(sandbox).install()
    for namespace in ("home", "other"):
        sandbox.create(NAMESPACES, {"metadata": {"name": namespace}})
    if choice.elects:
        # only who waits for the lease watches it, and only if it goes then is another made
        sandbox.create(LEASES, {"metadata": {"name": "handloop"}, "spec": FORMER})
    # lists and watches are used one by one then, and not as one request that is allowed by either
    sandbox.trace.refuse = no_streaming_lists
    with (
        service_account(sandbox, tmp_path, *choice.flags()) as kubeconfig,
        run(*choice.flags(), kubeconfig=kubeconfig) as program,
    ):
        if choice.elects:
            program.wait_line("standby: lease")
            sandbox.delete(LEASES, "handloop")
        wait_ready_page(program)
        tell_everything(sandbox, choice)
        assert 'code="403"' not in program.page("metrics", "/metrics")[1]
        assert program.stop() == 0
    asked = [one for one in sandbox.trace.asked() if not one.streaming_list]
    # an apply that makes its object needs both verbs
    asked += [one._replace(verb="create", name="") for one in asked if one.creates]
    granted = list(grants(printed_roles(*choice.flags())))
    assert refused(asked, granted) == set()
    # looked up only when a cache has lagged for five seconds, or an earlier process has applied the object
    children = ("apps", "deployments"), ("", "services"), ("autoscaling", "horizontalpodautoscalers")
    spare = {one[:3] for one in unused(asked, granted)}
    assert spare <= {("get", *child) for child in children}
