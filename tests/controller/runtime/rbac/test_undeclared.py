"""Writes that no role allows are logged, even if this server allows them."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.http.response import Response
from handloop.client.rest_client import Call
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.rbac.undeclared import UndeclaredWrites
from support.checks.captured_logs import captured_logs

WEB = "/apis/apps/v1/namespaces/default/deployments/web"


def told(
    *writes: tuple[str, str, int], declared: tuple[str, ...] = (), kind: str = "Deployment"
) -> list[Any]:
    """The lines about accepted writes (method, path, status)."""
    access = [Access(resource=Deployment.resource, verbs=declared)]
    undeclared = UndeclaredWrites("web", lambda: access)
    with captured_logs() as lines:
        for method, path, status in writes:
            call = Call("", method, path, resource="deployments.apps", kind=kind, name="web")
            undeclared.accepted(call, Response(status, {}, b"{}"))
    return lines


@pytest.mark.parametrize("declared", [("create", "patch"), ("*",)])
def test_a_declared_write_is_not_logged(declared: tuple[str, ...]) -> None:
    """Each verb on the resource itself; a subresource needs a rule of its own."""
    assert told(("PATCH", WEB, 201), declared=declared) == []
    (line,) = told(("PATCH", f"{WEB}/status", 200), declared=declared)
    assert line["resource"] == "deployments.apps/status"
    assert '.writes(Deployment, "patch", subresource="status")' in line["fix"]


def test_each_verb_is_reported_once() -> None:
    """A patch that made its object needs both verbs."""
    fixes = [
        line["fix"] for line in told(*[("PATCH", WEB, 201), ("DELETE", WEB, 200), ("PATCH", WEB, 200)] * 2)
    ]
    assert ['"create", "patch"' in fix for fix in fixes] == [True, False]
    assert '"delete"' in fixes[1]


def test_a_request_about_no_kind_is_not_reported() -> None:
    """No `.writes(...)` would declare it, such as an eviction by hand."""
    assert told(("POST", "/x", 201), kind="") == []
