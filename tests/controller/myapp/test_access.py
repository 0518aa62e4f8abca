"""What the MyApp controller may ask for."""

from __future__ import annotations

from handloop.controller.myapp.types import MYAPP_ACCESS


def test_it_deletes_autoscalers_only() -> None:
    """No wildcard, no read of Secrets, no write to MyApps but their status."""
    verbs = {(entry.rule_resource, verb) for entry in MYAPP_ACCESS for verb in entry.verbs}
    assert {resource for resource, verb in verbs if verb == "delete"} == {"horizontalpodautoscalers"}
    assert not {verb for _, verb in verbs} & {"deletecollection", "*", "escalate", "bind"}
    assert {verb for resource, verb in verbs if resource == "myapps"} == {"get", "list", "watch"}
    assert not {resource for resource, _ in verbs} & {"secrets", "configmaps"}
