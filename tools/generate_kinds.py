"""
Write handloop/kinds/*.py: complete types of the built-in kinds, generated from a server's OpenAPI documents.

    python -m tools.generate_kinds --kubeconfig K

The fields come from /openapi/v3; plurals, scopes and short names come from discovery. Descriptions of fields
are left out, because `kubectl explain` shows them.

A required field has no default. An optional scalar or struct is None by default, so that 0, "" and False can
be sent. An optional list is () by default, and an optional map is empty. A struct that Kubernetes always
writes (its default there is {}) defaults to an empty struct, if it has no required fields.
"""

from __future__ import annotations

import argparse
import keyword
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handloop.apis.declaration import plural_of, wire_name
from tools.api_reader import APIReader
from tools.steps import ROOT

KINDS = ROOT / "handloop" / "kinds"
GROUPS = {
    "api/v1": "core_v1",
    "apis/admissionregistration.k8s.io/v1": "admissionregistration_v1",
    "apis/apps/v1": "apps_v1",
    "apis/autoscaling/v2": "autoscaling_v2",
    "apis/batch/v1": "batch_v1",
    "apis/certificates.k8s.io/v1": "certificates_v1",
    "apis/coordination.k8s.io/v1": "coordination_v1",
    "apis/discovery.k8s.io/v1": "discovery_v1",
    "apis/events.k8s.io/v1": "events_v1",
    "apis/networking.k8s.io/v1": "networking_v1",
    "apis/policy/v1": "policy_v1",
    "apis/rbac.authorization.k8s.io/v1": "rbac_v1",
    "apis/storage.k8s.io/v1": "storage_v1",
}
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
# schemas that do not become classes, each with its Python type and the module of that type
_KNOWN = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("str", ""),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("int | str", ""),
    f"{_META}.Time": ("str", ""),
    f"{_META}.MicroTime": ("str", ""),
    f"{_META}.FieldsV1": ("JSON", "handloop.apis.json_value"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("JSON", "handloop.apis.json_value"),
    f"{_META}.ObjectMeta": ("ObjectMeta", "handloop.apis.meta"),
}
# classes whose methods come from a handwritten base class
_BASES = {f"{_META}.LabelSelector": ("SelectingStruct", "handloop.apis.label_selector")}
_SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}
_SAID_BY_KIND = {"apiVersion", "kind", "metadata"}

Schema = Mapping[str, Any]


class Field(NamedTuple):
    """One attribute of a class. A default of "" means that it is required."""

    name: str
    type: str
    default: str
    wire: str


def main() -> int:
    """Generate the modules and write them."""
    arguments = argparse.ArgumentParser(prog="python -m tools.generate_kinds", description=__doc__)
    arguments.add_argument("--kubeconfig", required=True)
    with APIReader(arguments.parse_args().kubeconfig) as reader:
        write(render(reader), KINDS)
    return 0


def write(modules: Mapping[str, str], folder: Path) -> None:
    """Write the modules, formatted by the project's linter."""
    for path, text in modules.items():
        (folder / path).write_text(text, encoding="utf-8")
    settings = ("--quiet", "--config", str(ROOT / "pyproject.toml"), str(folder))
    for command in (("format",), ("check", "--select=I", "--fix"), ("format",)):
        subprocess.run([sys.executable, "-m", "ruff", *command, *settings], check=True, cwd=ROOT)  # noqa: S603 - our own words


def render(reader: APIReader) -> dict[str, str]:
    """Return the text of each module, by file name."""
    documents = {path: reader.get_json(f"/openapi/v3/{path}") for path in GROUPS}
    schemas = {
        name: schema
        for document in documents.values()
        for name, schema in document["components"]["schemas"].items()
    }
    texts = _Modules(schemas)
    for path in GROUPS:
        texts.add(path, reader.get_json(f"/{path}")["resources"])
    return texts.rendered()


class _Modules:
    """The classes of all modules. Each class is written once, after the classes that it uses."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        self._classes: dict[str, list[str]] = {}
        self._imports: dict[str, set[tuple[str, str]]] = {}
        self._places: dict[str, tuple[str, str]] = {}
        self._open_to_nothing: dict[str, bool] = {}
        self._paths: dict[str, str] = {}

    def add(self, path: str, resources: Iterable[Mapping[str, Any]]) -> None:
        """Add the kinds of one group and version, and the structs that they contain."""
        group, version = path.split("/")[1:] if path.startswith("apis/") else ("", "v1")
        self._paths[GROUPS[path]] = f"{group or 'core'}/{version}"
        by_kind = {
            schema["x-kubernetes-group-version-kind"][0]["kind"]: name
            for name, schema in self._schemas.items()
            if schema.get("x-kubernetes-group-version-kind")
            == [{"group": group, "version": version, "kind": name.rpartition(".")[2]}]
        }
        for resource in resources:
            name = by_kind.get(resource["kind"])
            if "/" not in resource["name"] and name is not None and "update" in resource["verbs"]:
                self._define(name, GROUPS[path], {**resource, "group": group, "version": version})

    def rendered(self) -> dict[str, str]:
        """Return the modules' texts."""
        return {f"{module}.py": self._module(module) for module in self._classes}

    def _module(self, module: str) -> str:
        what = self._paths.get(module, "meta/v1")
        by_home: dict[str, list[str]] = {}
        for home, name in sorted(self._imports[module]):
            by_home.setdefault(home, []).append(name)
        lines = [
            f'"""{what}, complete; made by `python -m tools.generate_kinds`."""',
            "",
            "from __future__ import annotations",
            "",
            *(f"from {home} import {', '.join(names)}" for home, names in by_home.items()),
        ]
        classes = self._classes[module]
        if any("msgspec." in text for text in classes):
            lines.insert(4, "import msgspec\n")
        return "\n".join(lines) + "\n\n\n" + "\n\n\n".join(classes) + "\n"

    def _define(self, name: str, module: str, resource: Mapping[str, Any] | None = None) -> None:
        """Write the class of a schema, after the classes of its fields."""
        if name in self._places:
            return
        class_name = name.rpartition(".")[2]
        self._places[name] = (f"handloop.kinds.{module}", class_name)
        schema = self._schemas[name]
        fields = list(self._fields(schema, class_name, module, is_kind=resource is not None))
        self._open_to_nothing[name] = not any(field.default == "" for field in fields)
        base, home = _BASES.get(name, ("Kind" if resource else "APIStruct", "handloop.apis.meta"))
        self._use(module, home, base)
        head = ", ".join([base, *(_keywords(resource) if resource else ())])
        body = [_line(field) for field in fields] or ['    """Empty."""']
        self._classes.setdefault(module, []).append("\n".join([f"class {class_name}({head}):", *body]))

    def _fields(self, schema: Schema, class_name: str, module: str, *, is_kind: bool) -> Iterator[Field]:
        required = schema.get("required", ())
        for wire, member in schema.get("properties", {}).items():
            if is_kind and wire in _SAID_BY_KIND:
                continue
            name = _snake(wire)
            kind, default = self._type(member, module)
            always = wire in required and not _is_null_when_empty(member, of=class_name)
            if always or (wire == "spec" and default == "" and "default" in member):
                default = ""
            elif default == "":
                kind, default = f"{kind} | None", "None"
            yield Field(name, kind, default, "" if wire_name(name) == wire else wire)

    def _type(self, member: Schema, module: str) -> tuple[str, str]:
        """Return a member's type, and its default, or "" if the default is None or missing."""
        reference = member.get("$ref") or next((part["$ref"] for part in member.get("allOf", ())), "")
        if reference:
            name = reference.rpartition("/")[2]
            kind = self._reference(name, module)
            empty = member.get("default") == {} and (
                self._open_to_nothing.get(name, False) or kind == "ObjectMeta"
            )
            return kind, f"{kind}()" if empty else ""
        if member["type"] == "array":
            return f"tuple[{self._type(member['items'], module)[0]}, ...]", "()"
        if member["type"] == "object":
            values = self._type(member["additionalProperties"], module)[0]
            for name in ("FrozenMap", "EMPTY_MAP") if values == "str" else ("MapOf",):
                self._use(module, "handloop.apis.meta", name)
            return ("FrozenMap", "EMPTY_MAP") if values == "str" else (f"MapOf[{values}]", "MapOf()")
        return _SCALARS[member["type"]], ""

    def _reference(self, name: str, module: str) -> str:
        if name in _KNOWN:
            kind, home = _KNOWN[name]
            if home:
                self._use(module, home, kind)
            return kind
        home_module = _module_of(name)
        self._define(name, home_module)
        home, kind = self._places[name]
        if home_module != module:
            self._use(module, home, kind)
        return kind

    def _use(self, module: str, home: str, name: str) -> None:
        self._imports.setdefault(module, set()).add((home, name))


def _is_null_when_empty(member: Schema, *, of: str) -> bool:
    """Return whether Go can write null: for a time that is not set, and for an empty list in a status."""
    is_time = any(part.get("$ref", "").endswith("Time") for part in member.get("allOf", ()))
    return is_time or (of.endswith("Status") and member.get("type") == "array")


def _module_of(name: str) -> str:
    """Return the module of a schema, such as rbac_v1 for `io.k8s.api.rbac.v1.Role`."""
    group, version = name.split(".")[-3:-1]
    return f"{group}_{version}"


def _keywords(resource: Mapping[str, Any]) -> Iterator[str]:
    kind = resource["kind"]
    yield f'group="{resource["group"]}"'
    yield f'version="{resource["version"]}"'
    if resource["name"] != plural_of(kind):
        yield f'plural="{resource["name"]}"'
    if not resource["namespaced"]:
        yield 'scope="Cluster"'
    if resource.get("shortNames"):
        yield f"short_names={tuple(resource['shortNames'])!r}".replace("'", '"')
    yield "partial=False"


def _line(field: Field) -> str:
    name, default = field.name, field.default
    if field.wire:
        given = f"default={default}, " if default else ""
        return f'    {name}: {field.type} = msgspec.field({given}name="{field.wire}")'
    return f"    {name}: {field.type} = {default}" if default else f"    {name}: {field.type}"


def _snake(wire: str) -> str:
    """`podCIDRs` is `pod_cidrs`, and `from` `from_`."""
    words = re.sub(r"([A-Z]+s?)(?=[A-Z][a-z]|$)|[A-Z]", lambda found: "_" + found[0].lower(), wire)
    name = words.lstrip("_")
    return f"{name}_" if keyword.iskeyword(name) else name


if __name__ == "__main__":
    sys.exit(main())
