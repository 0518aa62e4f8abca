"""MyApps and their children for tests, as the server would have stored them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment, DeploymentStatus
from handloop.apis.meta import decode_hook
from handloop.controller.myapp.children import new_deployment
from handloop.controller.myapp.types import MyApp, MyAppStatus
from handloop.controller.runtime.children.owner_references import with_controller


def new_app(
    name: str = "a", /, *, generation: int = 1, uid: str = "", status: MyAppStatus | None = None, **spec: Any
) -> MyApp:
    """A MyApp of nginx:1; its spec is written as on the wire."""
    wire = {
        "apiVersion": "example.com/v1",
        "kind": "MyApp",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid or f"uid-of-{name}",
            "generation": generation,
        },
        "spec": {"image": "nginx:1", **spec},
    }
    app = msgspec.convert(wire, MyApp, dec_hook=decode_hook)
    return app if status is None else replace(app, status=status)


def deployment_of(
    app: MyApp, *, scaled_to: int | None = None, generation: int = 1, **status: Any
) -> Deployment:
    """Its Deployment, scaled by its spec by default; all are ready unless status differs."""
    deployment = with_controller(new_deployment(app), app)
    wanted = app.spec.replicas if scaled_to is None else scaled_to
    counts = dict.fromkeys(("replicas", "updated_replicas", "ready_replicas", "available_replicas"), wanted)
    return replace(
        deployment,
        metadata=replace(
            deployment.metadata,
            uid=f"uid-of-child-{deployment.metadata.name}",
            resource_version="7",
            generation=generation,
        ),
        spec=replace(deployment.spec, replicas=wanted),
        status=DeploymentStatus(**{"observed_generation": generation, **counts, **status}),
    )
