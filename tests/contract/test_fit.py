"""What a program finds of definitions that do not fit its types, on each server."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from typing import Any, Final

import pytest

from handloop import kinds
from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.apis.resource import Resource
from handloop.client.resource_client import Client
from handloop.controller.cli.fit_check import Fit, looked_at
from handloop.testing.eventually import eventually as until
from handloop.testing.fake_clock import FakeClock
from support.builders.changed_definitions import KINDS, Changed, changes, moved, schema_of, seen
from support.builders.widgets import CRDS, defined
from support.servers.api_server import APIServer

SECONDS: Final = 60.0


def look(client: Client, *, ours: tuple[Any, ...] = (), others: tuple[Any, ...] = ()) -> list[Fit]:
    """As the program looks, without its pause."""
    return looked_at(client, ours, others, FakeClock(moves_itself=True), threading.Event())


@pytest.mark.parametrize("kind", KINDS)
def test_each_change_is_found_and_nothing_else(server: APIServer, client: Client, kind: type[Any]) -> None:
    """
    Every field taken out, renamed, narrowed, opened; what is newer is none; put right, it fits.

    A real server publishes a definition a moment after its change.
    """
    mine = moved(kind)
    definition = custom_resource_definition(mine)
    (version,) = definition["spec"]["versions"]

    def serve(served: dict[str, Any]) -> None:
        path = f"{CRDS}/{mine.resource.group_resource}"
        assert server.patch(path, {"spec": {"versions": [served]}}).status == 200, served

    def is_found(changed: Changed) -> bool:
        (fit,) = look(client, ours=(mine,))
        return (fit.unknown, seen([*fit.misfits]), fit.newer) == ("", changed.found, changed.newer)

    fits = Changed("as it is", schema_of(definition), frozenset())
    with defined(server, definition):
        until(lambda: is_found(fits), fits.name, seconds=SECONDS)
        for changed in changes(mine):
            serve({**version, "schema": {"openAPIV3Schema": changed.schema}})
            until(lambda each=changed: is_found(each), changed.name, seconds=SECONDS)  # type: ignore[misc]
        serve({key: value for key, value in version.items() if key != "subresources"})
        names = [name for name in ("status", "scale") if name in version["subresources"]]
        gone = frozenset((f"no-{name}", name) for name in names)
        until(lambda: is_found(fits._replace(found=gone)), "without subresources", seconds=SECONDS)
        serve(version)
        until(lambda: is_found(fits), "put right", seconds=SECONDS)


def test_the_kinds_of_kubernetes_fit(client: Client) -> None:
    """Those of the shipped types: nothing is invented."""
    modules = (each.name for each in pkgutil.iter_modules(kinds.__path__, "handloop.kinds."))
    found = [each for name in modules for each in vars(importlib.import_module(name)).values()]
    others = [each for each in found if isinstance(getattr(each, "resource", None), Resource)]
    fits = look(client, others=(*others, Deployment, Service, HorizontalPodAutoscaler))
    assert len(fits) > 50
    assert [(fit.kind, fit.misfits, fit.unknown) for fit in fits if fit.misfits or fit.unknown] == []
