"""The requests that are made of a file's objects: definitions first, then the life of each object."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from handloop_sandbox.comparison.endpoint import MANAGER, Body, Endpoint
from handloop_sandbox.grammar.yaml_text import from_yaml

_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_DEFINITION: Final = "CustomResourceDefinition"


class Ask(NamedTuple):
    """One request. makes = what follows needs its object; puts_back = its body is what a GET answers."""

    what: str
    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    accept: str = "application/json"
    makes: bool = False
    puts_back: bool = False


def objects_in(folder: Path) -> Iterator[Body]:
    """The objects of all files in a folder, lists taken apart. Raises: ValueError naming the file."""
    files = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
    for file in files:
        if file.suffix not in {".yaml", ".yml", ".json"}:
            continue
        try:
            documents = from_yaml(file.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ValueError(f"{file}: {error}") from error
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
    """Whether an object defines a kind."""
    return bool(obj["kind"] == _DEFINITION)


class Paths:
    """The paths of kinds, as a server's discovery tells them."""

    def __init__(self, server: Endpoint) -> None:
        self._server = server
        self._known: dict[str, dict[str, Body]] = {}

    def of(self, obj: Body, namespace: str) -> tuple[str, list[str]] | None:
        """The collection of an object and the subresources of its kind; None for an unknown kind."""
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


def life_of(obj: Body, collection: str, subresources: list[str]) -> Iterator[Ask]:
    """An object is checked, made, read, changed in each way, and put back."""
    name = obj.get("metadata", {}).get("name", "")
    one, what = f"{collection}/{name}", f"{obj['kind']} {name}"
    for how in ("Strict", "Warn"):
        path = f"{collection}?dryRun=All&fieldValidation={how}"
        yield Ask(f"{what}: create, dry run, {how.lower()}", "POST", path, obj)
    yield from _mistakes(obj, collection, what)
    yield Ask(f"{what}: create", "POST", collection, obj, makes=True)
    yield Ask(f"{what}: read", "GET", one)
    yield Ask(f"{what}: as a row", "GET", f"{one}?includeObject=None", accept=_TABLE)
    yield Ask(f"{what}: label", "PATCH", one, {"metadata": {"labels": {"compared": "yes"}}}, _MERGE)
    yield Ask(f"{what}: put back", "PUT", one, puts_back=True)
    applied = f"{one}?fieldManager={MANAGER}&force=true"
    yield Ask(f"{what}: apply", "PATCH", applied, obj, _APPLY)
    for subresource in subresources:
        if subresource in {"status", "scale"}:
            yield Ask(f"{what}: {subresource}", "GET", f"{one}/{subresource}")
            yield Ask(f"{what}: put {subresource} back", "PUT", f"{one}/{subresource}", puts_back=True)


def _mistakes(obj: Body, collection: str, what: str) -> Iterator[Ask]:
    """Each member of the object's parts as null, of a wrong type and not at all; and one that is unknown."""
    path = f"{collection}?dryRun=All&fieldValidation=Strict"
    for part in sorted(obj.keys() - {"apiVersion", "kind", "metadata", "status"}):
        if not isinstance(obj[part], dict):
            continue
        for name in sorted(obj[part]):
            for wrong in (None, 5, "x", [None], {"unknown": "x"}):
                yield Ask(
                    f"{what}: {part}.{name} = {json.dumps(wrong)}",
                    "POST",
                    path,
                    _with(obj, part, name, wrong),
                )
            without = copy.deepcopy(obj)
            del without[part][name]
            yield Ask(f"{what}: without {part}.{name}", "POST", path, without)
        yield Ask(f"{what}: {part}.unknown", "POST", path, _with(obj, part, "unknown", 1))


def _with(obj: Body, part: str, name: str, value: Any) -> Body:
    changed = copy.deepcopy(obj)
    changed[part][name] = value
    return changed
