"""What the MyApp controller may ask for."""

from __future__ import annotations

from handloop import Manager
from handloop.client.resource_client import Client
from handloop.controller.bundled import MYAPP_ACCESS, SETUPS
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.runtime.rbac.access import merged
from support.doubles.scripted_transport import ScriptedTransport


def test_it_deletes_autoscalers_only() -> None:
    """No wildcard, no read of Secrets, no write to MyApps but their status."""
    verbs = {(entry.rule_resource, verb) for entry in MYAPP_ACCESS for verb in entry.verbs}
    assert {resource for resource, verb in verbs if verb == "delete"} == {"horizontalpodautoscalers"}
    assert not {verb for _, verb in verbs} & {"deletecollection", "*", "escalate", "bind"}
    assert {verb for resource, verb in verbs if resource == "myapps"} == {"get", "list", "watch"}
    assert not {resource for resource, _ in verbs} & {"secrets", "configmaps"}


def test_it_is_what_the_controller_declares() -> None:
    """The program's checks and roles know it before the controller is imported."""
    manager = Manager(Client(ScriptedTransport()))
    add_myapp(manager)
    assert set(merged(manager.access())) == set(merged(MYAPP_ACCESS))
    (setup,) = [each for each in SETUPS if each.name == "myapp"]
    assert set(manager.written_kinds()) == set(setup.written)
