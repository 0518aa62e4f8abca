"""Schemas of types, each changed in one place as an older, newer or other release has it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final, NamedTuple

from examples.appcluster.types import AppCluster
from examples.memcached.types import Memcached
from handloop.apis.compatibility.finding import Finding
from handloop.apis.crd import custom_resource_definition
from handloop.apis.declaration import KindType
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

Schema = dict[str, Any]
Found = frozenset[tuple[str, str]]
"""Rules and paths."""

KINDS: Final = (Foo, MyApp, AppCluster, Memcached)
RULES: Final = "x-kubernetes-validations"
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_ENVELOPE: Final = ("apiVersion", "kind", "metadata")


class Changed(NamedTuple):
    """What was changed, the whole schema, and what is to be found; newer are fields that it has beside."""

    name: str
    schema: Schema
    found: Found
    newer: tuple[str, ...] = ()


def moved(kind: type[Any]) -> type[Any]:
    """The kind in a group that no other test has."""
    its, group = kind.resource, f"fit{uuid.uuid4().hex[:8]}.contract.example.com"
    names = {"version": its.version, "kind": its.kind, "plural": its.plural, "singular": its.singular}
    made: type[Any] = KindType(kind.__name__, (kind,), {"__module__": __name__}, group=group, **names)
    return made


def schema_of(definition: Schema) -> Schema:
    """The schema of the newest version."""
    found: Schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def changes(kind: type[Any]) -> Iterator[Changed]:
    """Each field taken out, renamed, of another type, narrowed, with another default; and what is newer."""
    whole = schema_of(custom_resource_definition(kind))
    for steps in _places(whole):
        for change in _CHANGES if steps[-1][1] else _OF_ITEMS:
            schema = deepcopy(whole)
            path = _path(steps)
            changed = change(_parents(schema, steps), steps[-1], path)
            if changed is not None:
                found, newer = changed
                yield Changed(
                    f"{kind.__name__} {path} {change.__name__[1:]}", schema, frozenset(found), newer
                )


def seen(found: list[Finding]) -> Found:
    """Rules and paths of findings."""
    return frozenset((each.rule, each.path) for each in found)


_Steps = tuple[tuple[str, str], ...]
_Result = tuple[set[tuple[str, str]], tuple[str, ...]] | None


def _places(schema: Schema, above: _Steps = ()) -> Iterator[_Steps]:
    for name, inner in schema.get("properties", {}).items():
        if above or name not in _ENVELOPE:
            yield (*above, ("properties", name))
            yield from _places(inner, (*above, ("properties", name)))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _places(schema[key], (*above, (key, "")))


def _path(steps: _Steps) -> str:
    marks = {"items": "[]", "additionalProperties": "{}"}
    return "".join(marks.get(key, f".{name}") for key, name in steps).lstrip(".")


def _parents(schema: Schema, steps: _Steps) -> list[Schema]:
    """The schemas on the way, the outermost first; the last is that of the place."""
    found = [schema]
    for key, name in steps:
        found.append(found[-1][key][name] if name else found[-1][key])
    return found


def _forget_rules(parents: list[Schema]) -> None:
    """A rule about a field that is gone would be refused; one rule less is no misfit."""
    for schema in parents:
        schema.pop(RULES, None)
        if schema.get("x-kubernetes-list-type") == "map":
            del schema["x-kubernetes-list-type"], schema["x-kubernetes-list-map-keys"]


def _out(parents: list[Schema], step: tuple[str, str], path: str) -> _Result:
    _forget_rules(parents)
    holder, name = parents[-2], step[1]
    del holder["properties"][name]
    if name in holder.get("required", ()):
        holder["required"].remove(name)
    found = {("field", path)}
    above, _, _ = path.rpartition(".")
    if name in (holder.get("default") or {}):
        del holder["default"]
        found.add(("default", above))
    return found, ()


def _renamed(parents: list[Schema], step: tuple[str, str], path: str) -> _Result:
    schema = parents[-1]
    result = _out(parents, step, path)
    parents[-2]["properties"][f"{step[1]}Other"] = schema
    assert result is not None
    return result[0], (f"{path}Other",)


def _of_another_type(parents: list[Schema], _step: tuple[str, str], path: str) -> _Result:
    schema = parents[-1]
    if schema.get("type") not in ("integer", "number", "string", "boolean"):
        return None
    _forget_rules(parents)
    other = "boolean" if schema["type"] == "string" else "string"
    found = {("type", path)} | ({("default", path)} if "default" in schema else set())
    holder = parents[-2]
    if "default" in holder:
        del holder["default"]
        found.add(("default", path.rpartition(".")[0]))
    schema.clear()
    schema["type"] = other
    return found, ()


def _narrower(parents: list[Schema], _step: tuple[str, str], path: str) -> _Result:
    schema = parents[-1]
    default = schema.get("default")
    if schema.get(PRESERVE):
        del schema[PRESERVE]
        schema.pop("nullable", None)
        was_any, schema["type"] = schema.get("type") is None, "object"
        found = {("preserve-unknown-fields", path)} | (
            {("type", path), ("nullable", path)} if was_any else set()
        )
        return found, ()
    if "enum" in schema:
        left = [value for value in schema["enum"] if value == default] or schema["enum"][:1]
        if left == schema["enum"]:
            return None
        schema["enum"] = left
        return {("enum", path)}, ()
    key, most = {
        "integer": ("maximum", 2**31 - 1),
        "number": ("maximum", 1000),
        "string": ("maxLength", 1000),
        "array": ("maxItems", 100),
        "object": ("maxProperties", 100),
    }.get(schema.get("type", ""), ("enum", None))
    schema[key] = [True if default is None else default] if most is None else schema.get(key, most) - 1
    return {(key, path)}, ()


def _of_another_pattern(parents: list[Schema], _step: tuple[str, str], path: str) -> _Result:
    schema = parents[-1]
    if schema.get("type") != "string" or "enum" in schema or "default" in schema:
        return None
    schema["pattern"] = "^[a-f]*$"
    return {("pattern", path)}, ()


def _of_another_format(parents: list[Schema], _step: tuple[str, str], path: str) -> _Result:
    schema = parents[-1]
    if schema.get("format") not in ("int64", "date-time"):
        return None
    schema["format"] = {"int64": "int32", "date-time": "date"}[schema["format"]]
    return {("format", path)}, ()


def _with_another_default(parents: list[Schema], _step: tuple[str, str], path: str) -> _Result:
    schema = parents[-1]
    if path.startswith("status") or schema.get("type") not in ("integer", "boolean"):
        return None
    default = schema.get("default")
    other = (
        (not default) if schema["type"] == "boolean" else max(schema.get("minimum", 1), (default or 1) + 1)
    )
    if other > schema.get("maximum", other):
        return None
    _forget_rules(parents)
    name = path.rpartition(".")[2]
    if name in parents[-2].get("required", ()):
        parents[-2]["required"].remove(name)
    schema["default"] = other
    return {("default", path)}, ()


def _demanding(parents: list[Schema], _step: tuple[str, str], path: str) -> _Result:
    """A field more that must be given."""
    schema = parents[-1]
    if "properties" not in schema or "default" in schema:
        return None
    schema["properties"]["newer"] = {"type": "string"}
    schema.setdefault("required", []).append("newer")
    return {("required", path)}, (f"{path}.newer",)


def _newer(parents: list[Schema], _step: tuple[str, str], path: str) -> _Result:
    """A field more, and more values of those there are."""
    schema = parents[-1]
    if "properties" not in schema:
        return None
    schema["properties"]["newer"] = {"type": "string"}
    return set(), (f"{path}.newer",)


def _open(parents: list[Schema], _step: tuple[str, str], _path: str) -> _Result:
    """Whatever is below."""
    schema = parents[-1]
    if "properties" not in schema or "default" in schema:
        return None
    _forget_rules(parents)
    for key in ("properties", "required"):
        schema.pop(key, None)
    schema[PRESERVE] = True
    return set(), ()


_Change = Callable[[list[Schema], tuple[str, str], str], _Result]
_OF_ITEMS: Final[tuple[_Change, ...]] = (
    *(_of_another_type, _narrower, _of_another_pattern, _of_another_format),
    *(_demanding, _newer, _open),
)
_CHANGES: Final[tuple[_Change, ...]] = (*_OF_ITEMS, _out, _renamed, _with_another_default)
