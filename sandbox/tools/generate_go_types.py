"""
Write go_types.json: the Go types that a pod template contains, needed to print a template as Go does.

    python -m tools.generate_go_types [--proto DIR]

The types are read from the public Go modules k8s.io/api and apimachinery. `--proto` is the folder that
contains them; the default is `$(go env GOMODCACHE)/k8s.io`.

`structs` maps the full name of each struct to its members in the order of declaration: [Go name, type, JSON
name]. The JSON name is "" if the member's own members appear in the outer object. `named` maps the full name
of each other named type to its underlying type. A type is a full name or a built-in Go type, with the
prefixes `*`, `[]` and `map[string]`.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, Final

from tools.generate_sandbox_tables import TABLES, go_modules, write
from tools.go_source import Member, Structs, read_named_types, read_structs

ROOT: Final = "api.core.v1.PodTemplateSpec"
_META: Final = "apimachinery.pkg.apis.meta.v1"
_ALIASES: Final = {
    "metav1": _META,
    "resource": "apimachinery.pkg.api.resource",
    "intstr": "apimachinery.pkg.util.intstr",
    "types": "apimachinery.pkg.types",
}
_ELSEWHERE: Final = {"apimachinery.pkg.types.UID": "string"}
"""The underlying types of named types in packages without API types."""
_PREFIX: Final = re.compile(r"(?:\*|\[\]|map\[[\w.]+\])")


def main() -> None:
    """Write the table to the folder from which the sandbox reads it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--proto", type=Path, help="folder with the unpacked k8s.io modules")
    root = parser.parse_args().proto or go_modules()
    table = build(read_structs(root), {**read_named_types(root), **_ELSEWHERE})
    write(TABLES / "go_types.json", table)


def build(structs: Structs, named: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the table of all types that a pod template contains, directly or indirectly."""
    found: dict[str, Any] = {}
    behind: dict[str, str] = {}
    pending = [ROOT]
    while pending:
        name = pending.pop()
        if name in structs and name not in found:
            found[name] = [_row(member, name) for member in structs[name]]
            pending += [_bare(row[1]) for row in found[name]]
        elif name in named and name not in behind:
            behind[name] = full_type(named[name], name)
            pending.append(_bare(behind[name]))
    return {"structs": dict(sorted(found.items())), "named": dict(sorted(behind.items()))}


def _row(member: Member, owner: str) -> list[str]:
    return [member.name, full_type(member.go_type, owner), "" if member.inline else member.json]


def full_type(go_type: str, owner: str) -> str:
    """Return a type with its full name. Args: owner is a type in the package that refers to it."""
    bare = _bare(go_type)
    prefix = go_type.removesuffix(bare)
    if "." in bare:
        alias, _, bare = bare.partition(".")
        bare = f"{_ALIASES.get(alias, alias)}.{bare}"
    elif bare[0].isupper():
        bare = f"{owner.rpartition('.')[0]}.{bare}"
    return prefix + bare


def _bare(go_type: str) -> str:
    while matched := _PREFIX.match(go_type):
        go_type = go_type[matched.end() :]
    return go_type


if __name__ == "__main__":
    main()
