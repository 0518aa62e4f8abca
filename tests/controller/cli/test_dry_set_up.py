"""What an operator needs, from a set-up that sends nothing."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.coordination_v1 import Lease
from handloop.apis.meta import Kind
from handloop.apis.unstructured import Unstructured
from handloop.client.resource_client import Client
from handloop.controller.cli.declarations import written_kinds
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.controller.foo.types import Foo
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.kinds.core_v1 import ConfigMap
from support.builders.options import new_options
from support.doubles.scripted_transport import ScriptedTransport
from support.rigs.greeter import Greeting, set_up


class Certificate(Kind, group="cert-manager.io", version="v1", partial=True):
    """A view of a foreign kind."""


CronTab = Unstructured.of("stable.example.com/v1", "CronTab")


@pytest.mark.parametrize(
    ("kind", "is_own", "is_foreign"),
    [
        (Greeting, True, False),
        (Foo, True, False),
        (Certificate, False, True),
        (CronTab, False, True),
        (ConfigMap, False, False),
        (Deployment, False, False),
        (HorizontalPodAutoscaler, False, False),
        (Lease, False, False),
    ],
)
def test_only_kinds_of_its_own_need_definitions(kind: type[Kind], *, is_own: bool, is_foreign: bool) -> None:
    """
    A server has its own kinds; `*.k8s.io` is not enough to be one of them.

    CRDs of other programs are not ours to print or to install: a view would overwrite the definition, and an
    Unstructured knows no fields.
    """

    def watching(manager: Manager) -> None:
        controller_for(manager, "x").for_(kind).complete(lambda _obj, _context: None)

    (setup,) = DrySetUp((watching,), None).setups()
    assert (setup.kinds, setup.foreign) == ((kind,) * is_own, (kind,) * is_foreign)


def test_the_types_by_which_it_writes_are_known() -> None:
    """What only reads or deletes, and what has no shape, is none; a subresource is not the object."""

    def writing(manager: Manager) -> None:
        builder = controller_for(manager, "x").for_(Greeting).owns(Lease)
        builder.writes(ConfigMap, "create", "patch").writes(Deployment, "delete").writes(CronTab, "create")
        builder.writes(Certificate, "patch", subresource="status").writes(Greeting, "patch")
        builder.complete(lambda _obj, _context: None)

    (setup,) = DrySetUp((writing,), None).setups()
    assert setup.written == (ConfigMap, Deployment, Greeting)
    options = new_options(operator=replace(PROGRAM, setups=lambda: (setup,)), controllers=("x",))
    assert written_kinds(options) == (ConfigMap,)


def test_a_set_up_is_tried_once() -> None:
    """However often it is asked; what it tried leaves no thread behind."""
    managers: list[Manager] = []

    def noting(manager: Manager) -> None:
        managers.append(manager)
        set_up(manager)

    dry, before = DrySetUp((noting,), None), threading.active_count()
    assert dry.setups() is dry.setups()
    assert (len(managers), dry.names(), threading.active_count()) == (1, (), before)


def test_the_chosen_set_ups_are_called() -> None:
    """With the manager that runs: all of one, the named ones of several."""

    def second(manager: Manager) -> None:
        set_up(manager, name="second")

    one, two = DrySetUp((set_up,), None), DrySetUp((set_up, second), None)
    manager, other = Manager(Client(ScriptedTransport())), Manager(Client(ScriptedTransport()))
    one.set_up(manager, ())
    two.set_up(other, ("second",))
    assert (list(manager.runnables()), list(other.runnables())) == (["greeter"], ["second"])
