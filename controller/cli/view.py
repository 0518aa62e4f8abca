"""
Writes a view of another program's kind from its definition. The view is a Kind with only the fields to read.

A view accepts more than the definition does: each field may be absent, an enum is read as any string, and a
part without a schema is read as JSON. For this reason, the view can also read objects from a newer version of
the other program. Only names are copied from the definition into the code; a name that is not an identifier
becomes a string literal.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from handloop.apis.declaration import plural_of, wire_name

Schema = Mapping[str, Any]

_MOST_FIELDS: Final = 60
"""
A part with more fields becomes JSON. A pod template, for example, has thousands, and no program reads them
all.
"""
_SCALARS: Final = {
    "string": ("str", '""'),
    "boolean": ("bool | None", "None"),
    "integer": ("int | None", "None"),
    "number": ("float | None", "None"),
}
_IMPORTED: Final = ("APIStruct", "ForeignCondition", "FrozenMap", "JSON", "Kind", "MapOf")
_OF_MSGSPEC: Final = "field"
_WORD: Final = re.compile("[A-Z]{2,}s(?![a-z])|[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_UNREADABLE: Final = re.compile(r'[\\"\x00-\x1f]')
"""A view cannot have a field whose name contains one of these characters."""
_DNS: Final = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_NAME: Final = re.compile(r"[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?")
_ENVELOPE: Final = ("apiVersion", "kind", "metadata")
_OF_CONDITIONS: Final = frozenset({"type", "status"})


class ViewError(Exception):
    """
    The view cannot be written.

    The message is the reason; fix is what to type, or "" if there is no fix.
    """

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def view_of(definition: Mapping[str, Any], paths: Sequence[str], *, version: str = "") -> str:
    """
    Return the source code of a module with a view.

    Args: definition is a CustomResourceDefinition. paths are fields such as `spec.secretName`, or () for spec
    and status. version is the version to read, or "" for the storage version.
    Raises: ViewError for a path or a version that the definition does not have.
    """
    spec = _checked(definition)
    chosen = _version(spec, version)
    schema = (chosen.get("schema") or {}).get("openAPIV3Schema") or {}
    wanted = paths or [part for part in ("spec", "status") if part in (schema.get("properties") or {})]
    tree = _Tree.of(wanted, schema)
    module = _Module()
    name = class_of(definition)
    module.taken.add(name)
    fields = [module.field(name, part, below, _part(schema, part)) for part, below in tree.below.items()]
    return module.text(_head(spec, chosen["name"], name), fields)


def class_of(definition: Mapping[str, Any]) -> str:
    """
    Return the name of the view's class: the kind's name, if Python allows it.

    Raises: ViewError for a name that no server would accept.
    """
    return _unlike(_class_name(_checked(definition)["names"]["kind"]), {*_IMPORTED})


def _checked(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Check the names in a definition, because they become code, and return its spec.

    Raises: ViewError for a name that no server would accept.
    """
    try:
        spec: Mapping[str, Any] = definition["spec"]
        names = [spec["group"], spec["names"]["plural"], *(each["name"] for each in spec["versions"])]
        if not all(map(_DNS.fullmatch, names)) or not _NAME.fullmatch(spec["names"]["kind"]):
            raise ViewError("it has names that no server accepts")
    except (KeyError, TypeError) as error:
        raise ViewError(f"not a definition of apiextensions.k8s.io/v1: it lacks {error}") from error
    return spec


def _version(spec: Mapping[str, Any], wanted: str) -> Mapping[str, Any]:
    versions: Sequence[Mapping[str, Any]] = spec["versions"]
    served = {each["name"]: each for each in versions if each.get("served")}
    if wanted and wanted not in served:
        raise ViewError(f"version {wanted} is not served", f"--version with one of {', '.join(served)}")
    stored = next((each for each in served.values() if each.get("storage")), None)
    chosen = served.get(wanted) or stored or next(iter(served.values()), None)
    if chosen is None:
        raise ViewError("no version of it is served")
    return chosen


def _part(schema: Schema, name: str) -> Schema:
    found: Schema = (schema.get("properties") or {}).get(name, {})
    return found


@dataclass
class _Tree:
    """A node in the tree of requested fields. whole means that all fields below the node are requested."""

    below: dict[str, _Tree] = field(default_factory=dict)
    whole: bool = False

    @classmethod
    def of(cls, paths: Sequence[str], schema: Schema) -> _Tree:
        root = cls()
        for path in paths:
            words = _words(path)
            if words[0] in _ENVELOPE:
                raise ViewError(f"remove {path}: every view contains {words[0]}")
            node, at = root, schema
            for depth, word in enumerate(words):
                at = _into(at, word, ".".join(words[:depth]), path)
                node = node.below.setdefault(word, cls())
            node.whole = True
        return root


def _words(path: str) -> list[str]:
    words = [word.removesuffix("[]") for word in path.strip().lstrip(".").split(".")]
    if not all(words) or _UNREADABLE.search(path):
        raise ViewError(
            f"{path!r} is not the path of a field", "such as spec.secretName, or status.conditions"
        )
    return words


def _into(schema: Schema, word: str, above: str, path: str) -> Schema:
    """
    Return the schema of a field.

    A path does not name a list's items or a map's values: in `spec.containers.image`, containers is a list.
    """
    schema = _items(schema)
    fields = schema.get("properties") or {}
    if word in fields:
        found: Schema = fields[word]
        return found
    if not fields and _is_free(schema):
        if not above:
            raise ViewError(f"{path}: the kind has no schema", "read its objects as Unstructured")
        raise ViewError(f"{path}: {above} has no schema", f"request the whole {above}, as JSON")
    near = get_close_matches(word, fields, 1) or sorted(fields)[:9]
    where = f"{above}." if above else ""
    raise ViewError(
        f"{path}: there is no field {where}{word}", f"such as {', '.join(where + n for n in near)}"
    )


def _items(schema: Schema) -> Schema:
    while True:
        inner = schema.get("items") if schema.get("type") == "array" else schema.get("additionalProperties")
        if not isinstance(inner, Mapping) or schema.get("properties"):
            return schema
        schema = inner


def _is_free(schema: Schema) -> bool:
    return (
        bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        or "type" not in schema
        or (schema.get("type") == "object" and not schema.get("properties"))
    )


@dataclass
class _Module:
    """The contents of a view's module: its structs, innermost first, and the names that it imports."""

    structs: list[str] = field(default_factory=list)
    imported: set[str] = field(default_factory=lambda: {"Kind"})
    taken: set[str] = field(default_factory=lambda: {*_IMPORTED})
    fields_by_name: bool = False

    def field(self, owner: str, name: str, tree: _Tree, schema: Schema) -> _Line:
        kind, default = self.type_of(owner, name, tree, schema)
        return _Line(name, kind, default)

    def type_of(self, owner: str, name: str, tree: _Tree, schema: Schema) -> tuple[str, str]:
        """Return a field's annotation and its default."""
        if schema.get("x-kubernetes-int-or-string"):
            return "int | str | None", "None"
        kind = schema.get("type")
        if kind in _SCALARS:
            annotation, default = _SCALARS[kind]
            is_null = schema.get("nullable") and kind == "string"
            return ("str | None", "None") if is_null else (annotation, default)
        if kind == "array":
            return f"tuple[{self._item(owner, name, tree, schema.get('items') or {})}, ...]", "()"
        values = schema.get("additionalProperties")
        if kind == "object" and not schema.get("properties") and isinstance(values, Mapping):
            return self._map(owner, name, tree, values)
        if kind == "object" and schema.get("properties") and not _is_too_long(schema, tree):
            struct = self._struct(owner, name, tree, schema)
            return (f"{struct} | None", "None") if schema.get("nullable") else (struct, f"{struct}()")
        self.imported.add("JSON")
        return "JSON", "JSON()"

    def _item(self, owner: str, name: str, tree: _Tree, schema: Schema) -> str:
        """
        Return the annotation for a list's items or a map's values.

        It includes None only if null is allowed.
        """
        if name == "conditions" and set(schema.get("properties") or ()) >= _OF_CONDITIONS:
            self.imported.add("ForeignCondition")
            return "ForeignCondition"
        annotation, _ = self.type_of(owner, _singular(name), tree, schema)
        bare = annotation.removesuffix(" | None")
        return f"{bare} | None" if schema.get("nullable") and bare != "JSON" else bare

    def _map(self, owner: str, name: str, tree: _Tree, values: Schema) -> tuple[str, str]:
        item = self._item(owner, name, tree, values)
        if item == "str":
            self.imported |= {"FrozenMap", "EMPTY_MAP"}
            return "FrozenMap", "EMPTY_MAP"
        self.imported.add("MapOf")
        return f"MapOf[{item}]", "MapOf()"

    def _struct(self, owner: str, name: str, tree: _Tree, schema: Schema) -> str:
        """Write a struct with the requested fields, and return its name."""
        self.imported.add("APIStruct")
        struct = _unlike(owner + _class_name(name), self.taken)
        self.taken.add(struct)
        readable = [part for part in schema["properties"] if not _UNREADABLE.search(part)]
        below = tree.below or dict.fromkeys(readable, _Tree(whole=True))
        lines = [self.field(struct, part, inner, _part(schema, part)) for part, inner in below.items()]
        body = "".join(_written(lines, self))
        self.structs.append(f'class {struct}(APIStruct):\n    """A part of the view."""\n\n{body}')
        return struct

    def text(self, head: str, lines: Sequence[_Line]) -> str:
        """Return the whole module."""
        body = "".join(_written(lines, self))
        parts = [*self.structs, f"{head}\n{body}"]
        by_name = "from msgspec import field\n\n" if self.fields_by_name else ""
        names = ", ".join(sorted(self.imported))
        imports = f"from __future__ import annotations\n\n{by_name}from handloop import {names}\n"
        return f"{imports}\n\n" + "\n\n".join(parts)


@dataclass(frozen=True)
class _Line:
    name: str
    annotation: str
    default: str


def _is_too_long(schema: Schema, tree: _Tree) -> bool:
    return not tree.below and sum(1 for _ in _all_fields(schema)) > _MOST_FIELDS


def _all_fields(schema: Schema) -> Iterator[str]:
    for name, part in (schema.get("properties") or {}).items():
        yield name
        yield from _all_fields(part)
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), Mapping):
            yield from _all_fields(inner)


def _written(lines: Sequence[_Line], module: _Module) -> Iterator[str]:
    """
    Yield the lines of a class.

    If Python's name for a field differs from the server's, the field's line contains both names.
    """
    taken: set[str] = set()
    for line in lines:
        name = _unlike(_field_name(line.name), taken)
        taken.add(name)
        default = line.default
        if wire_name(name) != line.name:
            module.fields_by_name = True
            made = line.default.removesuffix("()") if line.default.endswith("()") else ""
            how = f"default_factory={made}" if made and made != "(" else f"default={line.default}"
            default = f"field({how}, name={line.name!r})"
        yield f"    {name}: {line.annotation} = {default}\n"


def _head(spec: Mapping[str, Any], version: str, name: str) -> str:
    names, group = spec["names"], spec["group"]
    kind = names["kind"]
    keywords = [f'group="{group}"', f'version="{version}"']
    keywords += [f'kind="{kind}"'] if kind != name else []
    keywords += [f'plural="{names["plural"]}"'] if names["plural"] != plural_of(kind) else []
    keywords += ['scope="Cluster"'] if spec["scope"] == "Cluster" else []
    docstring = f'    """A view of {names["plural"]}.{group}: the fields that are read here."""\n'
    return f"class {name}(Kind, {', '.join(keywords)}, partial=True):\n{docstring}"


def _field_name(name: str) -> str:
    """Return `secret_name` for secretName, `pod_cidrs` for podCIDRs."""
    words = [word.lower() for word in _WORD.findall(name)]
    found = "_".join(words) or _OF_MSGSPEC
    found = found if not found[0].isdigit() else f"{_OF_MSGSPEC}_{found}"
    return f"{found}_" if keyword.iskeyword(found) or found == _OF_MSGSPEC else found


def _class_name(name: str) -> str:
    found = "".join(word[:1].upper() + word[1:] for word in _WORD.findall(name)) or "Part"
    found = found if not found[0].isdigit() else f"Part{found}"
    return f"{found}_" if keyword.iskeyword(found) else found


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _unlike(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}{number}"
    return found
