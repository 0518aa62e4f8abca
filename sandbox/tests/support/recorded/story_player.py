"""Plays a story on a server, and writes the answers in words that do not depend on the server or the day."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from support.builders.widgets import CRDS, wait_until_served, widget_definition
from support.recorded.recordings import shortened
from support.recorded.stories import GROUP, NAMESPACE, Step
from support.servers.api_server import Answer, APIServer

_REFERENCE: Final = re.compile(r"\$\{(rv|first|uid|continue)(?::(\w+))?\}")
_UID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_TIME: Final = re.compile(r"\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_ADDRESS: Final = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
_CURRENT: Final = re.compile(r"(current: |record \(|precondition \()\d+")
_MISFIT: Final = "failed to create typed patch object"
_BEGINNING: Final = re.compile(r" \(\{.* \.\.\.\)$")
_VERSION: Final = re.compile(r"(resourceVersion\W+)(\d+)")
_RANDOM: Final = re.compile(r"(kube-api-access-|^x-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_PORT_NAMES: Final = frozenset({"nodePort", "healthCheckNodePort"})
_PORTS_GIVEN: Final = frozenset({0, 1, *range(30_040, 30_050)})
_AGE: Final = re.compile(r"^\d+[smhd](?:\d+[smh])?$")
_CACHED: Final = re.compile(r"(.*/namespaces/[^/]+/[^/?]+).*[?&]resourceVersion=")
_CHANGED: Final = re.compile(r"(/apis/strays\..*/namespaces/[^/]+/strays)/")
_GIVEN: Final = frozenset({"", "0", "5", "abc", "99999999999"})
_SECRETIVE: Final = {"ca.crt": "pem", "continue": "continue", "token": "token"}
_TOKEN_DOTS: Final = 2
_UNORDERED: Final = frozenset({"causes", "managedFields"})
_QUOTED: Final = 'Invalid value: "{'
_OLD: Final = "1"
_ANY: Final = "0"
"""In a path: whether a server still has a state as old as 1 depends on how long it has been running."""
_UNKNOWN_UID: Final = "00000000-0000-0000-0000-000000000000"


_SETTLED: Final = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a"},
    "spec": {
        "replicas": 0,
        "paused": True,
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
        },
    },
}
"""The changes that the stories about Deployments try; its controller has nothing more to report."""


@dataclass(frozen=True)
class StoryServer:
    """A server with the custom resource of the stories."""

    api: APIServer
    group: str

    @classmethod
    @contextmanager
    def prepared(cls, api: APIServer) -> Iterator[StoryServer]:
        """The custom resource is there for as long as the block lasts."""
        group = f"s{uuid.uuid4().hex[:8]}.stories.example.com"
        assert api.create(CRDS, widget_definition(group)).status == 201
        wait_until_served(api, group, "widgets")
        try:
            yield cls(api, group)
        finally:
            api.delete(f"{CRDS}/widgets.{group}")

    @contextmanager
    def namespace(self) -> Iterator[str]:
        """A new namespace, with the settled Deployment in it."""
        name = f"story-{uuid.uuid4().hex[:10]}"
        assert self.api.create("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
        base = f"/api/v1/namespaces/{name}"
        for made in ("configmaps/kube-root-ca.crt", "serviceaccounts/default"):
            self.api.eventually(f"{base}/{made}", lambda answer: answer.status == 200)
        deployments = f"/apis/apps/v1/namespaces/{name}/deployments"
        assert self.api.create(deployments, _SETTLED).status == 201
        self.api.eventually(f"{deployments}/a", lambda answer: _is_settled(answer.body["status"]))
        try:
            yield name
        finally:
            self.api.remove_namespace(name)


def _is_settled(status: dict[str, Any]) -> bool:
    conditions = [condition["type"] for condition in status.get("conditions") or ()]
    return status.get("observedGeneration") == 1 and "Progressing" in conditions


def digest(answer: Any) -> list[Any]:
    """The kept part of an answer: status, message or kind, and a digest of it all."""
    status, body, _ = answer
    about = (body.get("message") or body.get("kind", "")) if isinstance(body, dict) else str(body)
    whole = hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()
    return [status, shortened(about), whole[:16]]


@dataclass
class _Memory:
    """Values of the answers: versions and uids by name, first versions, the last continue token."""

    versions: dict[str, str] = field(default_factory=dict)
    firsts: dict[str, str] = field(default_factory=dict)
    uids: dict[str, str] = field(default_factory=dict)
    token: str = "none"
    seen: set[int] = field(default_factory=set)

    def learn(self, value: Any) -> None:
        if isinstance(value, list):
            for entry in value:
                self.learn(entry)
        if not isinstance(value, dict):
            return
        version = value.get("resourceVersion") if "name" in value else None
        if isinstance(version, str) and version.isdigit() and version not in _GIVEN:
            self.seen.add(int(version))
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            self._learn_about(metadata)
        for entry in value.values():
            self.learn(entry)

    def _learn_about(self, metadata: dict[str, Any]) -> None:
        name, version = metadata.get("name"), metadata.get("resourceVersion")
        if isinstance(name, str) and isinstance(version, str):
            self.versions[name] = version
            self.firsts.setdefault(name, version)
            self.uids[name] = metadata.get("uid", _UNKNOWN_UID)
        self.token = metadata.get("continue") or self.token

    def fill(self, text: str, unknown_version: str) -> str:
        def value(found: re.Match[str]) -> str:
            what, name = found[1], found[2] or ""
            if what == "continue":
                return self.token
            if what == "uid":
                return self.uids.get(name, _UNKNOWN_UID)
            return (self.versions if what == "rv" else self.firsts).get(name, unknown_version)

        return _REFERENCE.sub(value, text)


def play(server: APIServer, steps: Sequence[Step], namespace: str, group: str) -> list[Any]:
    """The answers, in words: status, body, warnings."""
    memory = _Memory()
    here = {NAMESPACE: namespace, GROUP: group}
    answers = []
    for step in steps:
        answer = _send(server, step, memory, here)
        body = answer.body
        memory.learn(body)
        answers.append([answer.status, body, sorted(answer.warnings)])
    text = json.dumps(answers)
    for name, place in ((namespace, NAMESPACE), (group, GROUP)):
        text = text.replace(name, place)
    told: list[Any] = _Words(memory.seen).walk(json.loads(text))
    return told


def _send(server: APIServer, step: Step, memory: _Memory, here: dict[str, str]) -> Answer:
    def filled(text: str, unknown_version: str = _OLD) -> str:
        for place, name in here.items():
            text = text.replace(place, name)
        return memory.fill(text, unknown_version)

    body: Any = None
    if isinstance(step.body, str):
        body = filled(step.body).encode()
    elif step.body is not None:
        body = filled(json.dumps(step.body)).encode()
    path = filled(step.path, _ANY)
    if step.method == "GET" and (collection := _CACHED.match(path)):
        _wait_for_the_cache(server, collection[1])
    if step.method == "PATCH" and server.real and (collection := _CHANGED.match(path)):
        # A server begins with the cached object: of one that is behind the rules would warn, too.
        _wait_for_the_cache(server, collection[1])

    def sent() -> Answer:
        return server.request(step.method, path, body, content_type=step.content_type, accept=step.accept)

    answer = server.repeat(sent, lambda answer: answer.status == step.until) if step.until else sent()
    for waited in step.waits:
        server.eventually(filled(waited), lambda answer: answer.status == 200)
    return answer


def _wait_for_the_cache(server: APIServer, collection: str) -> None:
    """Until the cache that answers reads of some version holds all that has been written so far."""
    listed = server.eventually(collection, lambda answer: answer.status == 200)
    newest = f"{collection}?resourceVersion={listed.rv}"
    server.eventually(newest, lambda answer: answer.status == 200)


def _in_any_order(entries: list[Any]) -> list[Any]:
    """Each once, sorted: Go's maps and the time of a write decide the order, layers of checks the repeats."""
    texts = sorted({json.dumps(entry, sort_keys=True) for entry in entries})
    return [json.loads(text) for text in texts]


def _sorted_object(text: str) -> str:
    """A message that quotes an object as JSON, with the members of the object in order."""
    start = text.find(_QUOTED)
    if start < 0:
        return text
    start += len(_QUOTED) - 2
    try:
        quoted, end = json.JSONDecoder().raw_decode(text, start)
        found = json.loads(quoted)
    except ValueError:
        return text
    metadata = found.get("metadata")
    managed = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if isinstance(managed, list):
        found["metadata"]["managedFields"] = _in_any_order(managed)
    return text[:start] + json.dumps(found, sort_keys=True) + text[end:]


def _sorted_causes(text: str) -> str:
    """A message that lists several causes, with each of them once and in order."""
    head, opened, rest = text.partition("[")
    if not opened or not rest.endswith("]"):
        return text
    return f"{head}[{', '.join(sorted(set(rest[:-1].split(', '))))}]"


class _Words:
    """Replaces what differs from run to run; resource versions by their rank."""

    def __init__(self, versions: set[int]) -> None:
        self._ranks = {str(version): f"<rv:{rank}>" for rank, version in enumerate(sorted(versions))}
        self._uids: dict[str, str] = {}

    def walk(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            if isinstance(value.get("items"), list) and isinstance(value.get("metadata"), dict):
                value["metadata"].pop("resourceVersion", None)  # others write meanwhile
            return {self._text(name, ""): self.walk(entry, name) for name, entry in sorted(value.items())}
        if isinstance(value, list):
            entries = [self.walk(entry, key) for entry in value]
            return _in_any_order(entries) if key in _UNORDERED else entries
        if key in _PORT_NAMES and value not in _PORTS_GIVEN:
            return "<port>"
        return self._text(value, key) if isinstance(value, str) else value

    def _text(self, text: str, key: str) -> str:
        if key in _SECRETIVE and (key != "token" or text.count(".") == _TOKEN_DOTS):
            return f"<{_SECRETIVE[key]}>"
        if key == "message":
            if text.startswith(_MISFIT):
                return _MISFIT  # the first one in the order of Go's map is reported
            text = _BEGINNING.sub(" (<beginning>)", text)
            text = _sorted_causes(_sorted_object(text))
        if key == "cells" and _AGE.match(text):
            return "<age>"
        text = _UID.sub(lambda found: self._uids.setdefault(found[0], f"<uid:{len(self._uids)}>"), text)
        text = _RANDOM.sub(r"\1<random>", _TIME.sub("<time>", text))
        text = _ADDRESS.sub("<address>", text)
        if key == "resourceVersion":
            return self._ranks.get(text, text)
        text = _CURRENT.sub(r"\1<rv>", text)
        return _VERSION.sub(lambda found: found[1] + self._ranks.get(found[2], found[2]), text)
