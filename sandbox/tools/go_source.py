"""
Reads information about API types that OpenAPI lacks from Go modules: JSON options and protobuf field numbers.

Only struct tags (in `*.go`) and message declarations (in `generated.proto`) are read, line by line. This
works because the modules' files are generated or formatted by tools, with one declaration per line.
The type `Pod` in the Go package `k8s.io/api/core/v1` has the full name `api.core.v1.Pod` here. OpenAPI adds
the prefix `io.k8s.`, and protobuf adds `k8s.io.`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")

_STRUCT = re.compile(r"^type (\w+) struct \{")
_NAMED = re.compile(r"^type (\w+) (string|bool|u?int\d*|map\S+|\[\]\S+)$", re.MULTILINE)
_MEMBER = re.compile(r"^\t(?:(\w+)\s+)?([*\w.\[\]]+)\s+`(.*)`")
_JSON_TAG = re.compile(r'json:"([^",]*)((?:,\w+)*)"')
_PROTO_NAME = re.compile(r'protobuf:"[^"]*?name=(\w+)')
_PACKAGE = re.compile(r"^package ([\w.-]+);")
_MESSAGE = re.compile(r"^message (\w+) \{")
_FIELD = re.compile(r"^\s+(optional|repeated) ([\w.-]+) (\w+) = (\d+);")
_MAP = re.compile(r"^\s+map<\w+, ([\w.-]+)> (\w+) = (\d+);")


class Member(NamedTuple):
    """
    One member of a Go struct.

    json is its JSON name, or "" for an inlined struct, whose members appear in the outer struct's JSON.
    """

    name: str
    go_type: str
    json: str
    proto: str
    options: frozenset[str]

    @property
    def inline(self) -> bool:
        """Whether the member is a struct whose members appear in the outer struct's JSON."""
        return "inline" in self.options

    @property
    def pointer(self) -> bool:
        """Whether the member is a pointer, so that an absent value differs from zero."""
        return self.go_type.startswith("*")


class ProtoField(NamedTuple):
    """One field of a protobuf message. label is "", "repeated" or "map"; a map's type is its value type."""

    number: int
    name: str
    type: str
    label: str


Structs = Mapping[str, list[Member]]
Messages = Mapping[str, list[ProtoField]]


def package_dirs(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name (such as `api.core.v1`) and folder of every package with API types below root."""
    for module in MODULES:
        for versioned in sorted(root.glob(f"{module}@*"))[-1:] or [root / module]:
            for proto in sorted(versioned.rglob("generated.proto")):
                relative = proto.parent.relative_to(versioned)
                yield ".".join((module, *relative.parts)), proto.parent


def read_structs(root: Path) -> dict[str, list[Member]]:
    """Map the full name of every struct to its members, in the order of declaration."""
    found: dict[str, list[Member]] = {}
    for package, folder in package_dirs(root):
        for path in sorted(folder.glob("*.go")):
            if not path.name.endswith("_test.go") and not path.name.startswith(("generated", "zz_")):
                for name, members in parse_structs(path.read_text(encoding="utf-8")).items():
                    found[f"{package}.{name}"] = members
    return found


def parse_structs(source: str) -> dict[str, list[Member]]:
    """Map the names of the structs in a Go file to their members."""
    found: dict[str, list[Member]] = {}
    current: list[Member] | None = None
    for line in source.splitlines():
        if opened := _STRUCT.match(line):
            current = found[opened[1]] = []
        elif line == "}":
            current = None
        elif current is not None and (member := _parse_member(line)):
            current.append(member)
    return found


def read_named_types(root: Path) -> dict[str, str]:
    """Map each named type, except structs, to its underlying type (`api.core.v1.PullPolicy` to `string`)."""
    found: dict[str, str] = {}
    for package, folder in package_dirs(root):
        for path in sorted(folder.glob("*.go")):
            for name, behind in _NAMED.findall(path.read_text(encoding="utf-8")):
                found[f"{package}.{name}"] = behind
    return found


def _parse_member(line: str) -> Member | None:
    matched = _MEMBER.match(line)
    tag = matched and _JSON_TAG.search(matched[3])
    if not matched or not tag or tag[1] == "-":
        return None
    proto = _PROTO_NAME.search(matched[3])
    options = frozenset(option for option in tag[2].split(",") if option)
    if not tag[1] and not matched[1]:
        options |= {"inline"}
    name = matched[1] or matched[2].lstrip("*").rpartition(".")[2]
    return Member(name, matched[2], tag[1], proto[1] if proto else "", options)


def read_messages(root: Path) -> dict[str, list[ProtoField]]:
    """Map the full name of every protobuf message to its fields, whose types are full names or scalars."""
    found: dict[str, list[ProtoField]] = {}
    for _, folder in package_dirs(root):
        found.update(parse_messages((folder / "generated.proto").read_text(encoding="utf-8")))
    return found


def parse_messages(source: str) -> dict[str, list[ProtoField]]:
    """Map the full names of the messages in a generated.proto file to their fields."""
    found: dict[str, list[ProtoField]] = {}
    package = ""
    current: list[ProtoField] = []
    for line in source.splitlines():
        if declared := _PACKAGE.match(line):
            package = _with_hyphens(declared[1].removeprefix("k8s.io."))
        elif opened := _MESSAGE.match(line):
            current = found[f"{package}.{opened[1]}"] = []
        elif entry := _MAP.match(line):
            current.append(ProtoField(int(entry[3]), entry[2], _full_name(entry[1], package), "map"))
        elif field := _FIELD.match(line):
            label = "repeated" if field[1] == "repeated" else ""
            current.append(ProtoField(int(field[4]), field[3], _full_name(field[2], package), label))
    return found


def _full_name(name: str, package: str) -> str:
    if name.startswith(".k8s.io."):
        return _with_hyphens(name.removeprefix(".k8s.io."))
    return f"{package}.{name}" if name[0].isupper() else name


def _with_hyphens(name: str) -> str:
    """Restore the hyphens that folders and OpenAPI names contain, but protobuf package names cannot."""
    name = name.replace("apiextensions_apiserver", "apiextensions-apiserver", 1)
    return name.replace("kube_aggregator", "kube-aggregator", 1)


def flat_members(structs: Structs, name: str) -> Iterator[Member]:
    """Yield the members that a struct has in JSON. Inlined structs are replaced by their members."""
    for _, member in embedded_members(structs, name):
        yield member


def embedded_members(structs: Structs, name: str) -> Iterator[tuple[tuple[str, ...], Member]]:
    """Yield the members that a struct has in JSON, each with the names of the inlined structs around it."""
    for member in structs.get(name, ()):
        if member.inline:
            for names, inner in embedded_members(structs, qualify(member.go_type, name)):
                yield (member.name, *names), inner
        else:
            yield (), member


def qualify(go_type: str, owner: str) -> str:
    """Return the full name of a type. Args: owner is the full name of the struct that embeds it."""
    bare = go_type.lstrip("*")
    if "." in bare:
        alias, bare = bare.split(".")
        return f"apimachinery.pkg.apis.meta.v1.{bare}" if alias in {"metav1", "v1"} else f"{alias}.{bare}"
    return f"{owner.rpartition('.')[0]}.{bare}"
