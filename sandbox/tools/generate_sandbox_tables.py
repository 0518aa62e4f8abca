"""
Write kinds.json and messages.json, the tables about built-in kinds that the sandbox reads.

    python -m tools.generate_sandbox_tables --kubeconfig K [--proto DIR]

The data comes from a real API server (discovery, /openapi/v3 and empty Table answers), and from the struct
tags and generated.proto files of the public Go modules k8s.io/api, apimachinery, apiextensions-apiserver and
kube-aggregator. `--proto` is the folder that contains these modules; the default is
`$(go env GOMODCACHE)/k8s.io`. Descriptions of fields are omitted. Descriptions of columns are included,
because every Table contains them.

kinds.json contains `resources` (in discovery order), `schemas` (OpenAPI schemas by name, without `io.k8s.`),
`columns` (the Table columns of each group/version/plural) and `texts` (the columns' descriptions). In a
schema, `$ref` is a schema's name and can have siblings; for `x-omit`, `x-shape`, `x-go` and `x-in`, see
structure.py.
messages.json contains `messages`, which maps each protobuf message's field numbers to JSON names. If the
schema does not determine the field's type and label, the value is [JSON name, type, label] instead. The JSON
name is "" for an inlined struct.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from handloop_sandbox.kinds.kind_table import type_and_label
from tools.api_reader import APIReader
from tools.go_source import (
    Messages,
    ProtoField,
    Structs,
    embedded_members,
    qualify,
    read_messages,
    read_named_types,
    read_structs,
)
from tools.named_types import NamedTypes

TABLES = Path(__file__).parents[1] / "handloop_sandbox" / "kinds"

SERVED_GROUPS = {
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
}
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
META = "apimachinery.pkg.apis.meta.v1"
ALWAYS_WANTED = (f"{META}.ObjectMeta", f"{META}.ListMeta", f"{META}.DeleteOptions", f"{META}.Status")
EXTENSIONS = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
SHAPES = {
    f"{META}.Time": "time",
    f"{META}.MicroTime": "micro-time",
    f"{META}.Duration": "duration",
    f"{META}.FieldsV1": "raw",
    "apimachinery.pkg.api.resource.Quantity": "quantity",
    "apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "apimachinery.pkg.runtime.RawExtension": "raw",
    f"{EXTENSIONS}.JSON": "raw",
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": "raw",
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": "raw",
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": "raw",
}
REF = "#/components/schemas/io.k8s."


def main() -> None:
    """Write both tables to the folder from which the sandbox reads them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kubeconfig", required=True, help="kubeconfig of a real API server")
    parser.add_argument("--proto", type=Path, help="folder with the unpacked k8s.io modules")
    arguments = parser.parse_args()
    root = arguments.proto or go_modules()
    structs, messages = read_structs(root), read_messages(root)
    with APIReader(arguments.kubeconfig) as server:
        kinds, roots = build_kinds(server, structs, NamedTypes(read_named_types(root)))
    write(TABLES / "kinds.json", kinds)
    found = build_messages(roots, structs, messages, kinds["schemas"])
    write(TABLES / "messages.json", {"messages": found})


def go_modules() -> Path:
    """Return the folder in which `go` stores the unpacked k8s.io modules."""
    command = ["go", "env", "GOMODCACHE"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return Path(found.stdout.strip()) / "k8s.io"


def write(path: Path, table: Mapping[str, Any]) -> None:
    """Write a table as JSON with one entry per line, so that diffs are readable."""
    lines = []
    for key, value in table.items():
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        named = isinstance(value, dict)
        rows = [(f"{json.dumps(name)}:" if named else "") + compact(entry) for name, entry in entries]
        left, right = ("{", "}") if named else ("[", "]")
        lines.append(f"{json.dumps(key)}:{left}\n" + ",\n".join(rows) + right)
    path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    sys.stdout.write(f"{path.name}: {path.stat().st_size} bytes\n")


def compact(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def build_kinds(server: APIReader, structs: Structs, named: NamedTypes) -> tuple[dict[str, Any], set[str]]:
    """Return the content of kinds.json, and the names of the schemas of requests and answers."""
    schemas: dict[str, Any] = {}
    roots: set[str] = set(ALWAYS_WANTED)
    resources = list(served(server))
    for group, version in dict.fromkeys((entry["group"], entry["version"]) for entry in resources):
        document = server.get_json(f"/openapi/v3/{base_path(group, version)}")["components"]["schemas"]
        by_kind = {gvk: name for name, schema in document.items() for gvk in kinds_of(schema)}
        wanted = [entry for entry in resources if (entry["group"], entry["version"]) == (group, version)]
        for entry in wanted:
            roots |= attach_schemas(entry, by_kind)
        collect(schemas, document, roots, structs, named)
    columns, texts = build_columns(server, resources)
    ordered = dict(sorted(schemas.items()))
    return {"resources": resources, "columns": columns, "texts": texts, "schemas": ordered}, roots


def served(server: APIReader) -> Iterable[dict[str, Any]]:
    """Yield the discovery information about each resource that the sandbox serves, in discovery order."""
    items = [*server.get_json("/api", DISCOVERY)["items"], *server.get_json("/apis", DISCOVERY)["items"]]
    for item in items:
        group = item["metadata"].get("name", "")
        if group not in SERVED_GROUPS:
            continue
        for version in item["versions"]:
            for resource in version["resources"]:
                yield resource_entry(group, version["version"], resource)


def resource_entry(group: str, version: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return one resource in the form that kinds.py reads, without empty members."""
    entry = {
        "group": group,
        "version": version,
        "plural": found["resource"],
        "kind": found["responseKind"]["kind"],
        "singular": found["singularResource"],
        "namespaced": found["scope"] == "Namespaced",
        "verbs": found["verbs"],
        "short_names": found.get("shortNames"),
        "categories": found.get("categories"),
        "subresources": [subresource_entry(sub) for sub in found.get("subresources", ())],
    }
    return {key: value for key, value in entry.items() if value not in (None, [])}


def subresource_entry(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return one subresource. Its group and version are included only if they differ from the resource's."""
    kind = found["responseKind"]
    entry = {"name": found["subresource"], "kind": kind["kind"], "verbs": found["verbs"]}
    if kind.get("version"):
        entry |= {"group": kind["group"], "version": kind["version"]}
    return entry


def base_path(group: str, version: str) -> str:
    """Return the path of an API version. The core group is ""."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def kinds_of(schema: Mapping[str, Any]) -> Iterable[tuple[str, str, str]]:
    """Yield each (group, version, kind) that a schema describes."""
    for gvk in schema.get("x-kubernetes-group-version-kind", ()):
        yield gvk["group"], gvk["version"], gvk["kind"]


def attach_schemas(entry: dict[str, Any], by_kind: Mapping[tuple[str, str, str], str]) -> set[str]:
    """Store a resource's schema name in its entry. Return this name and the subresources' schema names."""
    group, version = entry["group"], entry["version"]
    entry["schema"] = by_kind[group, version, entry["kind"]].removeprefix("io.k8s.")
    names = {entry["schema"]}
    for sub in entry.get("subresources", ()):
        key = (sub.get("group", group), sub.get("version", version), sub["kind"])
        if key in by_kind:
            names.add(by_kind[key].removeprefix("io.k8s."))
    return names


def collect(
    schemas: dict[str, Any],
    document: Mapping[str, Any],
    roots: set[str],
    structs: Structs,
    named: NamedTypes,
) -> None:
    """Add the document's root schemas, and all schemas to which they refer, to schemas."""
    pending = [name for name in roots if f"io.k8s.{name}" in document]
    while pending:
        name = pending.pop()
        if name in schemas:
            continue
        schemas[name] = strip(document[f"io.k8s.{name}"])
        if name in SHAPES:
            schemas[name]["x-shape"] = SHAPES[name]
        mark_members(schemas[name], name, structs, named)
        pending += references(schemas[name])


def strip(schema: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a schema without descriptions and without defaults that are zero values.

    An `allOf` with one reference is replaced by the reference.
    """
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        match key:
            case "description" | "x-kubernetes-group-version-kind" | "x-kubernetes-unions":
                continue
            case "properties":
                kept[key] = {name: strip(child) for name, child in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                kept[key] = strip(value)
            case "allOf":
                kept["$ref"] = value[0]["$ref"].removeprefix(REF)
            case "$ref":
                kept[key] = value.removeprefix(REF)
            case "default" if value in ({}, "", 0, False):
                continue
            case _:
                kept[key] = value
    return kept


def references(schema: Any) -> Iterable[str]:
    """Yield the name of every schema to which a schema refers, at any depth."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)


def mark_members(schema: dict[str, Any], name: str, structs: Structs, named: NamedTypes) -> None:
    """
    Add to each property the information that OpenAPI lacks.

    The added members are `x-omit` (how Go encodes the zero value, unless Go omits it), `x-go` (the name of
    the Go type) and `x-in` (the name of the inlined struct that contains the property).
    """
    members = {member.json: (names, member) for names, member in embedded_members(structs, name)}
    for key, child in schema.get("properties", {}).items():
        if key not in members:
            continue
        names, member = members[key]
        if member.pointer:
            child["x-omit"] = "pointer"
        elif not member.options & {"omitempty", "omitzero"} or struct_by_value(child, member.options):
            child["x-omit"] = "never"
        named.mark(child, member.go_type, name)
        if names and names != ("TypeMeta",):
            child["x-in"] = ".".join(names)


def struct_by_value(child: Mapping[str, Any], options: frozenset[str]) -> bool:
    """Return whether omitempty has no effect because the member is a struct, not a pointer."""
    return "$ref" in child and "omitzero" not in options and SHAPES.get(child["$ref"]) != "raw"


def build_columns(
    server: APIReader, resources: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[str]]:
    """
    Return the Table columns of each resource that can be listed, and the columns' descriptions.

    A column is [name, type, format, priority, index of its description].
    """
    columns: dict[str, Any] = {}
    texts: list[str] = []
    for entry in resources:
        if "list" not in entry["verbs"]:
            continue
        base = base_path(entry["group"], entry["version"])
        table = server.get_json(f"/{base}/{entry['plural']}?limit=1", TABLE)
        key = "/".join((entry["group"], entry["version"], entry["plural"]))
        columns[key] = [column_row(column, texts) for column in table["columnDefinitions"]]
    return columns, texts


def column_row(column: Mapping[str, Any], texts: list[str]) -> list[Any]:
    """Return one column. Add its description to texts, unless texts already contains it."""
    if column["description"] not in texts:
        texts.append(column["description"])
    text = texts.index(column["description"])
    return [column["name"], column["type"], column["format"], column["priority"], text]


def build_messages(
    roots: Iterable[str], structs: Structs, messages: Messages, schemas: Mapping[str, Any]
) -> dict[str, Any]:
    """
    Return the protobuf messages of the root schemas, and all messages to which they refer.

    The types in SHAPES are omitted, because protobuf.py decodes them itself.
    """
    found: dict[str, Any] = {}
    pending = sorted(roots)
    while pending:
        name = pending.pop()
        if name in found or name in SHAPES or name not in messages:
            continue
        names = json_names(structs, name)
        members = schemas.get(name, {}).get("properties", {})
        found[name] = {
            str(field.number): message_field(names.get(field.name, field.name), field, members)
            for field in messages[name]
        }
        pending += [field.type for field in messages[name]]
    return dict(sorted(found.items()))


def message_field(json_name: str, field: ProtoField, members: Mapping[str, Any]) -> str | list[str]:
    """Return a field's JSON name, with its type and label unless the member's schema determines them."""
    said = (field.type, field.label)
    if json_name in members and type_and_label(members[json_name]) == said:
        return json_name
    return [json_name, field.type, field.label][: 3 if field.label else 2]


def json_names(structs: Structs, name: str) -> dict[str, str]:
    """Map a struct's protobuf field names to JSON names. The JSON name of an inlined struct is ""."""
    names = {}
    for member in structs.get(name, ()):
        embedded = qualify(member.go_type, name).rpartition(".")[2] if member.inline else ""
        proto = member.proto or (embedded[:1].lower() + embedded[1:])
        names[proto] = member.json
    return names


if __name__ == "__main__":
    main()
