"""Reads the objects in a folder, and derives the requests that `compare` sends to both servers."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from handloop_sandbox.comparison.endpoint import MANAGER, Body, Endpoint
from handloop_sandbox.comparison.noise import is_built_in
from handloop_sandbox.wire.json_documents import json_documents
from handloop_sandbox.wire.patch_types import APPLY, MERGE

_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_DEFINITION: Final = "CustomResourceDefinition"
_Place = tuple[str | int, ...]


class Ask(NamedTuple):
    """
    One request.

    makes is true if the request creates the object that later requests need. puts_back is true if the request
    sends back the object that a GET has just returned.
    """

    what: str
    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    accept: str = "application/json"
    makes: bool = False
    puts_back: bool = False


def objects_in(folder: Path, broken: list[str]) -> Iterator[Body]:
    """
    Yield the objects in a folder's files, and the items of each List.

    Args: broken receives a message about each unreadable file.
    """
    files = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
    for file in files:
        if file.suffix not in {".yaml", ".yml", ".json"} or file.is_dir():
            continue
        if file.exists() and not file.is_file():  # reading a pipe could block forever
            broken.append(f"{file} is not a regular file")
            continue
        try:
            documents = json_documents(file.read_text(encoding="utf-8"))
        except OSError as error:
            broken.append(f"{file} cannot be read: {error.strerror}")
            continue
        except ValueError as error:
            broken.append(f"{file} is not YAML: {str(error).partition(chr(10))[0]}")
            continue
        for document in documents:
            yield from _objects(document)


def _objects(document: Any) -> Iterator[Body]:
    if not isinstance(document, dict) or not isinstance(document.get("metadata", {}), dict):
        return
    if not all(isinstance(document.get(name), str) for name in ("kind", "apiVersion")):
        return
    if document["kind"] == "List":
        for item in document.get("items") or ():
            yield from _objects(item)
    else:
        yield document


def is_definition(obj: Body) -> bool:
    """Return whether an object defines a kind."""
    return bool(obj["kind"] == _DEFINITION)


class Paths:
    """Finds the URL paths of kinds in a server's discovery documents."""

    def __init__(self, server: Endpoint) -> None:
        self._server = server
        self._known: dict[str, dict[str, Body]] = {}

    def of(self, obj: Body, namespace: str) -> tuple[str, list[str]] | None:
        """Return the path of an object's collection and its kind's subresources; None for unknown kinds."""
        version = obj["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        kinds = self._known.get(root) or self._discovered(root)
        found = kinds.get(obj["kind"])
        if found is None:
            return None
        where = f"/namespaces/{namespace}" if found["namespaced"] else ""
        return f"{root}{where}/{found['name']}", found["subresources"]

    def _discovered(self, root: str) -> dict[str, Body]:
        answer = self._server.send("GET", root)
        entries = answer.body.get("resources") or () if isinstance(answer.body, dict) else ()
        kinds = {
            entry["kind"]: {**entry, "subresources": []} for entry in entries if "/" not in entry["name"]
        }
        by_name = {kind["name"]: kind for kind in kinds.values()}
        for entry in entries:
            name, _, subresource = entry["name"].partition("/")
            if subresource and name in by_name:
                by_name[name]["subresources"].append(subresource)
        if kinds:
            self._known[root] = kinds
        return kinds


def life_of(obj: Body, collection: str, subresources: list[str], depth: int = 1) -> Iterator[Ask]:
    """
    Yield the requests that validate, create, read, change and replace an object.

    Args: depth limits how deeply nested the invalid members are; 1 tests only direct members of the spec.
    """
    name = obj.get("metadata", {}).get("name", "")
    one, what = f"{collection}/{name}", f"{obj['kind']} {name}"
    for how in ("Strict", "Warn"):
        path = f"{collection}?dryRun=All&fieldValidation={how}"
        yield Ask(f"{what}: create, dry run, {how.lower()}", "POST", path, obj)
    yield from _mistakes(obj, collection, what, depth)
    row, only = f"{what}: as a row", "includeObject=None"
    if is_built_in(obj):  # later, the cells depend on what controllers write
        yield Ask(row, "POST", f"{collection}?dryRun=All&{only}", obj, accept=_TABLE)
    yield Ask(f"{what}: create", "POST", collection, obj, makes=True)
    yield Ask(f"{what}: read", "GET", one)
    if not is_built_in(obj):
        yield Ask(row, "GET", f"{one}?{only}", accept=_TABLE)
    yield from _changes(obj, one, what)
    yield Ask(f"{what}: label", "PATCH", one, {"metadata": {"labels": {"compared": "yes"}}}, MERGE)
    yield Ask(f"{what}: put back", "PUT", one, puts_back=True)
    applied = f"{one}?fieldManager={MANAGER}&force=true"
    yield Ask(f"{what}: apply", "PATCH", applied, obj, APPLY)
    for subresource in subresources:
        if subresource in {"status", "scale"}:
            yield Ask(f"{what}: {subresource}", "GET", f"{one}/{subresource}")
            yield Ask(f"{what}: put {subresource} back", "PUT", f"{one}/{subresource}", puts_back=True)


def _mistakes(obj: Body, collection: str, what: str, depth: int) -> Iterator[Ask]:
    """Yield create requests in which one member is null, of a wrong type, missing or unknown."""
    path = f"{collection}?dryRun=All&fieldValidation=Strict"
    for name in sorted(obj.keys() - {"apiVersion", "kind", "metadata", "status"}):
        for place, part in _parts((name,), obj[name], depth):
            where = ".".join(map(str, place))
            for member in sorted(part):
                for wrong in (None, 5, "x", [None], {"unknown": "x"}):
                    told = f"{what}: {where}.{member} = {json.dumps(wrong)}"
                    yield Ask(told, "POST", path, _with(obj, place, {**part, member: wrong}))
                without = {other: value for other, value in part.items() if other != member}
                yield Ask(f"{what}: without {where}.{member}", "POST", path, _with(obj, place, without))
            unknown = {**part, "unknown": 1}
            yield Ask(f"{what}: {where}.unknown", "POST", path, _with(obj, place, unknown))


def _changes(obj: Body, one: str, what: str) -> Iterator[Ask]:
    """Yield patches that remove or change one field of the object, such as a member of its spec."""
    for name in sorted(obj.keys() - {"apiVersion", "kind", "metadata", "status"}):
        part = obj[name]
        members = {f"{name}.{member}": member for member in part} if isinstance(part, dict) else {name: ""}
        for where, member in sorted(members.items()):
            value = part[member] if member else part
            for other, how in ((None, "taken away"), (_other(value), "changed")):
                if other != value:
                    body = {name: {member: other} if member else other}
                    yield Ask(f"{what}: {where} {how}", "PATCH", f"{one}?dryRun=All", body, MERGE)


def _other(value: Any) -> Any:
    """Return a copy of a value in which every string, number and boolean is different."""
    if isinstance(value, dict):
        return {name: _other(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_other(entry) for entry in value]
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x" if isinstance(value, str) else value


def _parts(place: _Place, value: Any, depth: int) -> Iterator[tuple[_Place, Body]]:
    """
    Yield the object in a value and the objects nested in it, down to depth levels, each with its place.

    Of each list, only the first element is used.
    """
    if isinstance(value, list) and value:
        place, value = (*place, 0), value[0]
    if not isinstance(value, dict) or not depth:
        return
    yield place, value
    for name in sorted(value):
        yield from _parts((*place, name), value[name], depth - 1)


def _with(value: Any, place: _Place, part: Body) -> Any:
    """Return a copy of a value in which the object at place is replaced by part."""
    if not place:
        return part
    changed = copy.copy(value)
    changed[place[0]] = _with(value[place[0]], place[1:], part)
    return changed
