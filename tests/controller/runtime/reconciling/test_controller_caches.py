"""What reads, applies and own writes make of a controller's selections, on a sandbox without sockets."""

from __future__ import annotations

import pytest

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.errors import NotFound
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.lister import Lister
from handloop.informers.selection import OutsideSelection, SeveralSelections
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox

LABELS = {"app": "web"}


class Keeper:
    """Gives every Foo a ConfigMap of its name, with these labels."""

    def __init__(self, labels: dict[str, str]) -> None:
        self.labels = labels
        self.contexts: list[Context] = []
        self.failures: list[Exception] = []

    def reconcile(self, foo: Foo, context: Context) -> None:
        self.contexts.append(context)
        metadata = ObjectMeta(
            name=foo.metadata.name, namespace=foo.metadata.namespace, labels=FrozenMap(self.labels)
        )
        context.apply(ConfigMap(metadata=metadata, data=FrozenMap({"kept": "yes"})), owner=foo)


def keeper(manager: Manager, labels: dict[str, str]) -> Keeper:
    """Of a controller that watches the ConfigMaps with app=web."""
    made = Keeper(labels)
    builder = controller_for(manager, "keeper").for_(Foo).owns(ConfigMap, labels="app=web")
    builder.writes(ConfigMap, "create", "patch").complete(made)
    return made


def live(cluster: ManagedSandbox, name: str) -> ConfigMap | None:
    """The ConfigMap as the server has it."""
    try:
        found: ConfigMap = cluster.client.resource(ConfigMap).get(name, namespace="default")
    except NotFound:
        return None
    return found


def relabel(cluster: ManagedSandbox, name: str, app: str | None) -> None:
    """Another client changes the label."""
    patch = {"metadata": {"labels": {"app": app}}}
    cluster.client.resource(ConfigMap).patch(name, patch, namespace="default")


def test_a_child_that_lost_its_label_is_mended_and_made_no_second_time() -> None:
    """It looks deleted; the apply asks the server, and finds it."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    kept = keeper(manager, LABELS)
    cluster.foo("a")
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: live(cluster, "a") is not None, "made")
        made = live(cluster, "a")
        assert made is not None
        relabel(cluster, "a", None)
        eventually(
            lambda: (now := live(cluster, "a")) is not None and now.metadata.labels == LABELS, "mended"
        )
        now = live(cluster, "a")
        assert now is not None
        assert now.metadata.uid == made.metadata.uid
        # a reconcile that the creation led to may have mended it before
        eventually(
            lambda: any("ConfigMap default/a deleted" in each.causes for each in kept.contexts),
            "looks deleted",
        )
    assert not [line for line in logs if line["log_level"] in ("warning", "error")]


def test_a_child_without_the_label_is_applied_once_and_reported() -> None:
    """Its changes wake nobody; the reconciles go on, wait for no watch event, and write nothing more."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    kept = keeper(manager, {"app": "other"})
    cluster.foo("a")
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: live(cluster, "a") is not None, "made")
        before = live(cluster, "a")
        cluster.client.resource(Foo).patch("a", {"spec": {"replicas": 3}}, namespace="default")
        eventually(lambda: len(kept.contexts) > 1, "not parked")
        eventually(
            lambda: (
                cluster.metric("controller_runtime_reconcile_total", controller="keeper", result="success")
                > 1
            ),
            "ended",
        )
    assert live(cluster, "a") == before
    warnings = [line for line in logs if line["event"].startswith("Applied without the labels")]
    assert {(line["labels"], line["object"]) for line in warnings} == {("app=web", "configmaps default/a")}


def test_each_controller_reads_its_own_selection() -> None:
    """One watch for each selection; a read that can hold nothing of it raises."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    read: dict[str, Lister[ConfigMap]] = {}

    for name, labels, fields in (("one", "app=web", ""), ("two", "", "metadata.name=settings")):

        def reconcile(_foo: Foo, context: Context, name: str = name) -> None:
            read[name] = context.lister_for(ConfigMap)

        builder = controller_for(manager, name).for_(Foo)
        builder.watches(ConfigMap, lambda _map: (), labels=labels, fields=fields).complete(reconcile)
    cluster.config_map("settings")
    cluster.config_map("page", labels=LABELS)
    cluster.foo("a")
    with cluster.running(manager):
        eventually(lambda: len(read) == 2, "both")
        web, settings = read["one"], read["two"]
        assert [each.metadata.name for each in web] == ["page"]
        assert [each.metadata.name for each in settings] == ["settings"]
        assert web.get("default/settings") is None
        with pytest.raises(
            OutsideSelection, match=r'get configmaps "default/page".* metadata\.name=settings'
        ):
            settings.get("default/page")
        with pytest.raises(OutsideSelection, match=r"list configmaps .* labels app=web"):
            web.list("app=db")
    names = [informer.name for informer in manager.informers()]
    assert sorted(names)[:2] == ["configmaps[.metadata.name=settings]", "configmaps[app=web]"]


def test_a_controller_of_several_selections_names_one() -> None:
    """Applying needs none: the server answers in place of the caches."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    contexts: list[Context] = []

    def reconcile(foo: Foo, context: Context) -> None:
        metadata = ObjectMeta(name="b", namespace="default")
        context.apply(ConfigMap(metadata=metadata), owner=foo)
        contexts.append(context)

    builder = controller_for(manager, "both").for_(Foo)
    for name in ("a", "b"):
        builder.watches(ConfigMap, lambda _map: (), fields=f"metadata.name={name}")
    builder.writes(ConfigMap, "create", "patch").complete(reconcile)
    cluster.foo("a")
    cluster.config_map("a")
    with cluster.running(manager):
        eventually(lambda: bool(contexts), "reconciled")
        assert contexts[0].lister_for(ConfigMap, fields="metadata.name=a").get("default/a") is not None
        with pytest.raises(SeveralSelections, match=r"fields metadata\.name=a, or fields metadata\.name=b"):
            contexts[0].lister_for(ConfigMap)
        cluster.client.resource(Foo).patch("a", {"spec": {"replicas": 3}}, namespace="default")
        eventually(lambda: len(contexts) > 1, "the write came back, in one of the caches")


def test_a_name_needs_a_role_for_that_name_only() -> None:
    """Declared access follows the selection; a selection by labels needs the whole kind."""
    manager = ManagedSandbox(Foo).manager()
    builder = controller_for(manager, "keeper").for_(Foo)
    builder.watches(ConfigMap, lambda _map: (), fields="metadata.name=settings")
    builder.complete(lambda _foo, _context: None)
    rules = [rule for role in roles(manager.access(), namespaces=["demo"]) for rule in role["rules"]]
    assert {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["settings"],
        "verbs": ["list", "watch"],
    } in rules
