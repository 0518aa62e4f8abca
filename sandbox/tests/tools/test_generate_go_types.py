from __future__ import annotations

import json

import pytest

from tools.generate_go_types import ROOT, build, full_type
from tools.generate_sandbox_tables import TABLES
from tools.go_source import Member

_TABLE = TABLES / "go_types.json"


def _member(name: str, go_type: str, json_name: str, *options: str) -> Member:
    return Member(name, go_type, json_name, "", frozenset(options))


@pytest.mark.parametrize(
    ("go_type", "full"),
    [
        ("string", "string"),
        ("*PodSpec", "*api.core.v1.PodSpec"),
        ("[]Container", "[]api.core.v1.Container"),
        ("map[string]resource.Quantity", "map[string]apimachinery.pkg.api.resource.Quantity"),
        ("*metav1.Time", "*apimachinery.pkg.apis.meta.v1.Time"),
        ("*[]intstr.IntOrString", "*[]apimachinery.pkg.util.intstr.IntOrString"),
    ],
)
def test_types_get_their_full_names(go_type: str, full: str) -> None:
    """A name without a package is one of the owner's, an alias is its package."""
    assert full_type(go_type, "api.core.v1.Pod") == full


def test_everything_that_a_pod_template_reaches() -> None:
    """Structs and named types, and nothing else; members of an inlined struct have no name of their own."""
    structs = {
        ROOT: [_member("ObjectMeta", "Meta", "", "inline"), _member("Spec", "PodSpec", "spec")],
        "api.core.v1.Meta": [_member("Name", "string", "name")],
        "api.core.v1.PodSpec": [_member("Policy", "RestartPolicy", "policy")],
        "api.core.v1.Node": [_member("Name", "string", "name")],
    }
    table = build(structs, {"api.core.v1.RestartPolicy": "string", "api.core.v1.Unused": "string"})
    assert table["structs"] == {
        "api.core.v1.Meta": [["Name", "string", "name"]],
        "api.core.v1.PodSpec": [["Policy", "api.core.v1.RestartPolicy", "policy"]],
        ROOT: [["ObjectMeta", "api.core.v1.Meta", ""], ["Spec", "api.core.v1.PodSpec", "spec"]],
    }
    assert table["named"] == {"api.core.v1.RestartPolicy": "string"}


def test_the_table_in_the_package_is_closed() -> None:
    """Every type that a member of the generated table has is in the table or of the language."""
    table = json.loads(_TABLE.read_text(encoding="utf-8"))
    known = {*table["structs"], *table["named"]}
    used = {row[1] for rows in table["structs"].values() for row in rows}
    names = {name.rpartition("]")[2].lstrip("*") for name in used}
    assert {name for name in names if name.startswith("api.core.v1.")} <= known
    assert ROOT in table["structs"]
