"""A sandbox without sockets that lives while the test lets time pass."""

from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.lifecycle import default_controllers
from support.servers.local_server import LocalServer

Object = dict[str, Any]

CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default"
_MERGE = "application/merge-patch+json"


class LivingServer(LocalServer):
    """All controllers, and the namespace default."""

    def __init__(self, *, speed: float = 100.0, **options: Any) -> None:
        super().__init__(controllers=default_controllers(speed=speed, **options))
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
        self.wait(1)

    def wait(self, seconds: float) -> None:
        """Let time pass, step by step."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            wake = self.engine.tick()
            self.clock.now = min(end, max(self.clock.now, wake or end))
        self.engine.tick()

    def make(self, collection: str, name: str, spec: Object, **metadata: Any) -> Object:
        """Create an object."""
        answer = self.request("POST", collection, {"metadata": {"name": name, **metadata}, "spec": spec})
        assert answer.status == 201, answer
        return dict(answer.body)

    def change(self, path: str, **spec: Any) -> None:
        """Change the spec of an object."""
        assert self.request("PATCH", path, {"spec": spec}, content_type=_MERGE).status == 200

    def status(self, path: str) -> Object:
        """The status of an object."""
        return dict(self.request("GET", path).body.get("status", {}))

    def items(self, collection: str) -> dict[str, Object]:
        """The objects of a collection by name."""
        return {each["metadata"]["name"]: each for each in self.request("GET", collection).body["items"]}

    def told(self, kind: str, reason: str) -> list[str]:
        """What Events with a reason say about objects of a kind."""
        events = self.items(f"{CORE}/events").values()
        about = [event for event in events if event["involvedObject"]["kind"] == kind]
        return [event["message"] for event in about if event["reason"] == reason]


def template(image: str = "nginx:1", *, policy: str = "Always", **annotations: str) -> Object:
    """A pod template with the label app=x."""
    spec = {"restartPolicy": policy, "containers": [{"name": "main", "image": image}]}
    return {"metadata": {"labels": {"app": "x"}, "annotations": annotations}, "spec": spec}


def selecting(**spec: Any) -> Object:
    """The spec of a workload whose pods have that label."""
    return {"selector": {"matchLabels": {"app": "x"}}, "template": template(), **spec}
