"""Reads the server's audit log of a soak, with each request's client, times and stored object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from msgspec import Struct, field

_KEPT: Final = {
    "": ["services"],
    "apps": ["deployments", "deployments/scale"],
    "autoscaling": ["horizontalpodautoscalers"],
    "coordination.k8s.io": ["leases"],
    "example.com": ["myapps"],
    "samplecontroller.k8s.io": ["foos"],
}
"""The resources for which the log contains the object that each write stored."""
_COUNTED: Final = {
    "": ["services", "events"],
    "apps": ["deployments"],
    "autoscaling": ["horizontalpodautoscalers"],
    "coordination.k8s.io": ["leases"],
    "example.com": ["myapps", "myapps/status"],
    "samplecontroller.k8s.io": ["foos", "foos/status"],
}
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
_AGENT: Final = re.compile(r"soak/\d+\.\d+")


class Metadata(Struct, rename="camel"):
    """The fields of an object's metadata that the judge uses."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    owner_references: list[dict[str, Any]] = field(default_factory=list)


class Spec(Struct, rename="camel"):
    """The fields of several kinds' specs that the judge uses."""

    replicas: int | None = None
    holder_identity: str | None = None
    auto_scaling: dict[str, Any] | None = None


class Stored(Struct):
    """The object that a write stored."""

    kind: str = ""
    metadata: Metadata = field(default_factory=Metadata)
    spec: Spec = field(default_factory=Spec)


class Reference(Struct):
    resource: str = ""
    name: str = ""
    namespace: str = ""
    subresource: str = ""


class Answer(Struct):
    code: int = 0


class Entry(Struct, rename="camel"):
    """One request. agent: the replica's process, or "" for other clients; began, ended: as time.time()."""

    verb: str
    stage: str
    request_received_timestamp: str
    stage_timestamp: str
    user_agent: str = ""
    object_ref: Reference = field(default_factory=Reference)
    response_status: Answer = field(default_factory=Answer)
    response_object: Stored = field(default_factory=Stored)
    agent: str = ""
    began: float = 0.0
    ended: float = 0.0

    @property
    def name(self) -> str:
        """The name of the object. For a create, it is the stored object's."""
        return self.object_ref.name or self.response_object.metadata.name

    @property
    def resource(self) -> str:
        """The resource's plural, with the subresource, such as `deployments/scale`."""
        return "/".join(filter(None, (self.object_ref.resource, self.object_ref.subresource)))

    @property
    def code(self) -> int:
        """The status code of the answer."""
        return self.response_status.code

    @property
    def is_write(self) -> bool:
        """Whether the request writes, even if the server refuses it."""
        return self.verb in WRITES

    @property
    def version(self) -> int:
        """The resource version that the write stored, or 0 if it is not in the log."""
        return int(self.response_object.metadata.resource_version or 0)


def policy(*namespaces: str) -> str:
    """Return the server's audit policy, for some namespaces."""
    rules = [
        {"level": "RequestResponse", "verbs": list(WRITES), "resources": _groups(_KEPT)},
        {"level": "Metadata", "resources": _groups(_COUNTED)},
    ]
    return yaml.safe_dump(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitManagedFields": True,
            "omitStages": ["RequestReceived", "ResponseStarted"],
            "rules": [*({**rule, "namespaces": list(namespaces)} for rule in rules), {"level": "None"}],
        }
    )


def _groups(resources: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [{"group": group, "resources": plurals} for group, plurals in resources.items()]


def read(path: Path) -> Iterator[Entry]:
    """Yield the log's entries, in the order in which the requests ended."""
    decoder = msgspec.json.Decoder(Entry)
    with path.open("rb") as lines:
        for line in lines:
            entry = decoder.decode(line)
            agent = _AGENT.search(entry.user_agent)
            entry.agent = agent[0] if agent else ""
            entry.began = _seconds(entry.request_received_timestamp)
            entry.ended = _seconds(entry.stage_timestamp)
            yield entry


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()
