"""
Checks how a new definition would affect the objects in a cluster.

Each object is sent to a sandbox that has the new definition. The answer shows whether the server would accept
the object, and which fields it would keep. Since Kubernetes 1.33, a server tolerates a field that was invalid
before the write. If the sandbox refuses an object, such a server therefore refuses it only when somebody
changes the invalid field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from handloop.apis.compatibility.finding import BREAKS, Finding
from handloop.client.config import ClientConfig
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.definition_source import DEFINITIONS_PATH, SourceError
from handloop.controller.cli.extensions import extension

Object = dict[str, Any]

_PAGE: Final = 500
_OK, _CREATED = 200, 201
_EXPIRED: Final = 410
_KEPT: Final = ("labels", "annotations")


@dataclass
class _Tally:
    """The number of affected objects, and the name of the first one."""

    count: int = 0
    first: str = ""
    message: str = ""

    def add(self, name: str, message: str = "") -> None:
        if not self.count:
            self.first, self.message = name, message
        self.count += 1


@dataclass
class Judgement:
    """The findings about a kind's objects, counted by rule and path."""

    seen: int = 0
    tallies: dict[tuple[str, str], _Tally] = field(default_factory=dict)

    def add(self, rule: str, path: str, name: str, message: str = "") -> None:
        """Count one object."""
        self.tallies.setdefault((rule, path), _Tally()).add(name, message)

    def findings(self, version: str) -> Iterator[Finding]:
        """Yield a finding for each rule and path, with the number of objects."""
        for (rule, path), tally in sorted(self.tallies.items()):
            text = f"{tally.count} of {self.seen} objects {_TEXTS[rule]}; the first is {tally.first}"
            more = f": {tally.message}" if tally.message else ""
            yield Finding(rule, BREAKS, path, tally.count, None, f"{text}{more}", version=version)


_TEXTS: Final = {
    "stored-refused": "would be refused when this field is written",
    "stored-erased": "lose this field's value at their next write",
    "stored-unreadable": "would be kept out of this program's cache",
}


def judge(
    config: ClientConfig,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    reads: Callable[[bytes], object] | None,
    progress: Callable[[int], None] = lambda _seen: None,
) -> list[Finding]:
    """
    Read a kind's objects in pages, and check each against the new definition.

    Args: old is the definition in the cluster. reads decodes an object as the program would, and raises an
    error if it cannot. progress is called after each page, with the number of objects so far.
    Raises: SourceError if the objects cannot be listed or the new definition is invalid; NotInstalledError
    without the sandbox; TransportError if the cluster does not answer.
    Blocks: until all objects are read.
    """
    served = [each["name"] for each in old["spec"]["versions"] if each.get("served")]
    known = {each["name"]: each for each in new["spec"]["versions"] if each.get("served")}
    stored = next(each["name"] for each in new["spec"]["versions"] if each.get("storage"))
    asked = next((name for name in served if name in known), served[0])
    target = asked if asked in known else stored
    judged = Judgement()
    with closing(HTTPTransport(config)) as transport, _Bench(new, target) as bench:
        for page in _pages(transport, new["spec"], asked):
            for obj in page:
                judged.seen += 1
                bench.judge(obj, judged, reads)
            progress(judged.seen)
    return list(judged.findings(target))


def _pages(transport: HTTPTransport, spec: Mapping[str, Any], version: str) -> Iterator[list[Object]]:
    path = f"/apis/{quote(spec['group'])}/{quote(version)}/{quote(spec['names']['plural'])}"
    query = {"limit": str(_PAGE)}
    while True:
        answer = transport.request("GET", path, query=query)
        if answer.status == _EXPIRED:
            raise SourceError("the objects changed too much while they were read: try again")
        if answer.status != _OK:
            raise SourceError(f"the cluster does not list {spec['names']['plural']}: {answer.status}")
        document = json.loads(answer.body)
        yield document.get("items") or []
        token = (document.get("metadata") or {}).get("continue")
        if not token:
            return
        query = {"limit": str(_PAGE), "continue": token}


class _Bench:
    """A sandbox with one version of one definition, in which nothing is ever stored."""

    def __init__(self, definition: Mapping[str, Any], version: str) -> None:
        spec, metadata = definition["spec"], definition["metadata"]
        (chosen,) = (each for each in spec["versions"] if each["name"] == version)
        alone = {
            key: value for key, value in spec.items() if key not in ("conversion", "preserveUnknownFields")
        }
        alone["versions"] = [{**chosen, "served": True, "storage": True}]
        self._definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {key: metadata[key] for key in ("name", "annotations") if key in metadata},
            "spec": alone,
        }
        self._kind, self._api_version = spec["names"]["kind"], f"{spec['group']}/{version}"
        where = "/namespaces/default" if spec.get("scope") == "Namespaced" else ""
        self._path = f"/apis/{self._api_version}{where}/{spec['names']['plural']}"

    def __enter__(self) -> _Bench:
        sandbox = extension("sandbox").Sandbox(controllers=())
        self._transport = sandbox.transport()
        answer = self._asked("POST", DEFINITIONS_PATH, self._definition)
        if answer.status != _CREATED:
            raise SourceError(
                f"a server would refuse the new definition: {json.loads(answer.body)['message']}"
            )
        sandbox.tick()
        return self

    def __exit__(self, *_: object) -> None:
        self._transport = None

    def judge(self, obj: Object, judged: Judgement, reads: Callable[[bytes], object] | None) -> None:
        """Check one object."""
        metadata = obj["metadata"]
        name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        kept = {key: metadata[key] for key in _KEPT if key in metadata}
        parts = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
        names = {"apiVersion": self._api_version, "kind": self._kind}
        shown = {**parts, **names, "metadata": {"name": metadata["name"], **kept}}
        answer = self._asked("POST", f"{self._path}?dryRun=All&fieldValidation=Ignore", shown)
        document = json.loads(answer.body)
        if answer.status != _CREATED:
            causes = (document.get("details") or {}).get("causes") or [{}]
            for cause in causes:
                judged.add("stored-refused", cause.get("field", ""), name, cause.get("message", ""))
            return
        for path in dict.fromkeys(_lost(parts, document)):
            judged.add("stored-erased", path, name)
        if reads is not None:
            try:
                reads(
                    json.dumps({**document, "metadata": metadata, "status": obj.get("status", {})}).encode()
                )
            except Exception as error:  # noqa: BLE001 - any error from a reader keeps the object out
                judged.add("stored-unreadable", "", name, str(error))

    def _asked(self, method: str, path: str, body: Object) -> Any:
        headers = {"Content-Type": "application/json"}
        return self._transport.request(method, path, headers=headers, body=json.dumps(body).encode())


def _lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the outermost paths that exist in `before`, but not in `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            step = f"{path}.{key}" if path else key
            if key in after:
                yield from _lost(value, after[key], step)
            elif value is not None:
                yield step
    elif isinstance(before, list) and isinstance(after, list):
        for one, other in zip(before, after, strict=False):
            yield from _lost(one, other, f"{path}[]")
