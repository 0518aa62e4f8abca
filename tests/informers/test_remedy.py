"""What to do about a list or watch that fails."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import ConnectionRefused
from handloop.informers.listing import ListFailed
from handloop.informers.outage import fix_for
from support.fake_lister_watcher import api_error, expired, internal_error, too_many_requests


def wrapped(error: Exception) -> ListFailed:
    failed = ListFailed(f"failed to list: {error}")
    failed.__cause__ = error
    return failed


@pytest.mark.parametrize("wrap", [False, True], ids=["as it is", "wrapped"])
@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (
            api_error(404, "NotFound"),
            ["deployments.apps/v1", "manifests crd | kubectl apply -f -", "starts by itself"],
        ),
        (
            api_error(403, "Forbidden"),
            ["list and watch of deployments.apps at cluster scope", "manifests rbac", "starts by itself"],
        ),
        (api_error(401, "Unauthorized"), ["log in again"]),
    ],
    ids=["E07", "E09", "E06"],
)
def test_message_contains_the_fix(error: Exception, parts: list[str], wrap: bool) -> None:
    """E06, E07, E09, T20: where somebody has to do something, the line says what."""
    fix = fix_for(wrapped(error) if wrap else error, Deployment.resource)
    assert [part for part in parts if part not in fix] == []


def test_fix_names_the_namespace() -> None:
    """E09: in a namespaced controller the missing permission is the namespace's."""
    assert 'in namespace "demo"' in fix_for(api_error(403, "Forbidden"), Deployment.resource, "demo")


def test_there_is_no_fix_for_what_passes() -> None:
    """A server that is down or busy needs patience only."""
    for error in (ConnectionRefused("refused"), internal_error(), too_many_requests(), expired()):
        assert fix_for(error, Deployment.resource) == ""
