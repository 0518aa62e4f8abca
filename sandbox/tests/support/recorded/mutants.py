"""Samples with one thing wrong, or at least changed, and a server's answers to them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from handloop_sandbox.kinds.typed import Report, decode
from handloop_sandbox.rules.validation import RULES
from handloop_sandbox.verbs import object_rules, service_addresses
from handloop_sandbox.verbs.strategy import prepare_update
from handloop_sandbox.wire.resource import ServedResource
from support.builders.builtin import builtin_kind
from support.builders.kind_samples import NAMESPACE, SAMPLES, sample, sample_id
from support.recorded.recordings import shortened
from support.servers.real_server import RealServer, collection

Object = dict[str, Any]
Path = Sequence[str | int]

GONE: Final = "<gone>"
LONG: Final = "<long>"
"""Stands for a text longer than any name may be."""
_LONG_TEXT: Final = "a" * 300
EVERY: Final = 8
"""So many accepted mutants stand for one that is kept."""
_IDENTITY: Final = (("apiVersion",), ("kind",), ("metadata",), ("metadata", "namespace"))
_LEFT_OUT: Final = (
    "Job metadata name",
    "LimitRange metadata name",
    "CronJob metadata name",
    "ReplicationController metadata name",
    "ControllerRevision data",
    "Service spec ports",
)
"""Rules about names, ports and data that other parts keep, or that are not kept here."""
_NO_RULES: Final = re.compile(
    r"(RoleBinding (roleRef|subjects)|StatefulSet spec volumeClaimTemplates"
    r"|.* volumes \d+ (downwardAPI|hostPath|projected|\w+ (items|defaultMode)))"
)
"""Members that the sandbox stores as they come, of kinds that it has rules for."""
_NOT_IN_UPDATES: Final = (
    "metadata",
    "status",
    "Pod spec tolerations",
    "Pod spec preemptionPolicy",
)
"""Metadata belongs to no kind, status does not change there, admission gives back what a pod loses."""
_STRUCT: Final = re.compile(r"Invalid value: \{\"(labels|metadata|Spec|spec|creationTimestamp)\".*\}: ")
"""What Go prints of a template or claim: all its fields, absent ones too."""
_EMPTY: Final = re.compile(r"value: (\{\}|\[\]|null)")


def mutants(obj: Object) -> Iterator[tuple[Path, Any]]:
    """Changes of every member: gone, and some values for each type."""
    for path in _paths(obj, ()):
        if path and path not in _IDENTITY:
            yield path, GONE
            for value in _values(_at(obj, path)):
                yield path, value


def _paths(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _paths(entry, (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _paths(entry, (*path, index))


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _values(value: Any) -> Sequence[Any]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, str):
        return ("", "Bad_Value!", LONG)
    if isinstance(value, int):
        return (-1, 0, 70000)
    if isinstance(value, list):
        return ([], [*value, *value[-1:]])
    return ({},)


def mutated(obj: Object, path: Path, value: Any) -> Object:
    """The object with one change."""
    changed = copy.deepcopy(obj)
    parent = _at(changed, path[:-1])
    if value == GONE:
        del parent[path[-1]]
    else:
        parent[path[-1]] = _LONG_TEXT if value == LONG else value
    return changed


def ask_create(server: RealServer) -> Iterator[Object]:
    """Answers to the creation of mutants of the samples: complaints of each sort once, and some that pass."""
    seen: set[str] = set()
    for found in _judged():
        path = f"{collection(builtin_kind(found['apiVersion'], found['kind']))}?dryRun=All"
        lines = (
            {"sample": sample_id(found), **line}
            for line in _said(server, "POST", path, found)
            if not _is_in(_LEFT_OUT, found, line["path"])
        )
        yield from _different(lines, found["kind"], seen)


def _judged() -> Iterator[Object]:
    """The samples of kinds that the sandbox has rules for."""
    for found in SAMPLES:
        if tuple(builtin_kind(found["apiVersion"], found["kind"]).group_resource) in RULES:
            yield found


def ask_update(server: RealServer) -> Iterator[Object]:
    """Answers to mutants of objects that exist: first the object, then its mutants."""
    seen: set[str] = set()
    for found in _judged():
        resource = builtin_kind(found["apiVersion"], found["kind"])
        path = f"{collection(resource)}/{found['metadata']['name']}"
        answer = server.request("GET", path)
        if answer.status == 200:
            old = answer.json()
            old["metadata"].pop("managedFields", None)
            yield {"sample": sample_id(found), "old": old}
            lines = _said(server, "PUT", f"{path}?dryRun=All", old)
            yield from _different(lines, found["kind"], seen)


def _said(server: RealServer, method: str, path: str, obj: Object) -> Iterator[Object]:
    for where, value in mutants(obj):
        if method == "PUT" and _is_in(_NOT_IN_UPDATES, obj, where):
            continue
        if _NO_RULES.search(f"{obj['kind']} {' '.join(map(str, where))}"):
            continue
        answer = server.request(method, path, mutated(obj, where, value))
        if answer.status in {200, 201, 422}:
            causes = answer.json().get("details", {}).get("causes", []) if answer.status == 422 else []
            said = [[cause["reason"], _comparable(cause["message"]), cause["field"]] for cause in causes]
            yield {"path": where, "value": value, "causes": said}


def _is_in(prefixes: tuple[str, ...], found: Object, path: Path) -> bool:
    steps = " ".join(map(str, path))
    return f"{found['kind']} {steps}".startswith(prefixes) or steps.startswith(prefixes)


def _different(lines: Iterator[Object], kind: str, seen: set[str]) -> Iterator[Object]:
    passed = 0
    for line in lines:
        sort = _sort(kind, line["causes"])
        passed += not line["causes"]
        if sort not in seen or (not line["causes"] and passed % EVERY == 0):
            seen.add(sort)
            yield line


def _sort(kind: str, causes: list[list[str]]) -> str:
    """The common part of complaints; those about the pods of a template are the same for every kind."""
    found = {(re.sub(r"\d+", "", field), message[:40]) for _, message, field in causes}
    if all("template.spec." in field for field, _ in found):
        return str(sorted((field.partition("template.spec.")[2], message) for field, message in found))
    return kind + str(sorted(found))


def check_create(line: Object) -> None:
    """The sandbox answers a mutant as the real server did."""
    found = sample(line["sample"])
    resource = builtin_kind(found["apiVersion"], found["kind"])
    obj = _prepared(resource, mutated(found, line["path"], line["value"]))
    _same(object_rules.validate_new(resource, obj), line)


def check_update(old: Object, line: Object) -> None:
    """The same for a change of an object that exists."""
    resource = builtin_kind(old["apiVersion"], old["kind"])
    new = _decoded(resource, mutated(old, line["path"], line["value"]))
    if resource.kind == "Service":
        new = {**new, "spec": service_addresses.kept(new["spec"], old["spec"])}
    new = prepare_update(resource, new, old, "")
    _same(object_rules.validate_update(resource, new, old).causes, line)


def _same(causes: Sequence[Sequence[str]], line: Object) -> None:
    mine = [[reason, _comparable(message), field] for reason, message, field in causes]
    assert mine == line["causes"], line


def _comparable(message: str) -> str:
    """A message without whole Go structs or their differences, and with one word for all that is empty."""
    short = _STRUCT.sub("Invalid value: <struct>: ", message.partition("\n")[0])
    return shortened(_EMPTY.sub("value: <empty>", short).replace(_LONG_TEXT, LONG))


def _decoded(resource: ServedResource, obj: Object) -> Object:
    return object_rules.defaulted(resource, decode(resource.schema or {}, obj, Report()))


def _prepared(resource: ServedResource, obj: Object) -> Object:
    """An object as it is when its rules are asked: with what admission and the strategy of its kind add."""
    decoded = _decoded(resource, obj)
    if resource.namespaced:
        decoded["metadata"].setdefault("namespace", NAMESPACE)
    if resource.kind == "Pod":
        return {**decoded, "spec": {"serviceAccountName": "default", **decoded["spec"]}}
    if resource.kind == "Job" and not decoded["spec"].get("manualSelector"):
        return {**decoded, "spec": _job_spec(decoded)}
    return decoded


def _job_spec(job: Object) -> Object:
    spec, uid = job["spec"], {"batch.kubernetes.io/controller-uid": "u"}
    named = {"batch.kubernetes.io/job-name": job["metadata"].get("name", "")}
    about = spec["template"]["metadata"]
    labels = {**(about.get("labels") or {}), **uid, **named}
    template = {**spec["template"], "metadata": {**about, "labels": labels}}
    return {**spec, "selector": {"matchLabels": uid}, "template": template}
