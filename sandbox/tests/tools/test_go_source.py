from __future__ import annotations

from pathlib import Path

from tools.go_source import (
    flat_members,
    package_dirs,
    parse_messages,
    parse_structs,
    qualify,
    read_messages,
    read_named_types,
    read_structs,
)

_GO = """\
package v1

type Phase string

// Thing is a thing.
type Thing struct {
\tmetav1.TypeMeta `json:",inline"`
\t// Name is the name.
\tName string `json:"name" protobuf:"bytes,1,opt,name=name"`
\tCount *int32 `json:"count,omitempty" protobuf:"varint,2,opt,name=countField"`
\tHidden string `json:"-"`
\tInner `json:",inline" protobuf:"bytes,3,opt,name=inner"`
}

type Inner struct {
\tA string `json:"a,omitempty"`
}
"""
_PROTO = """\
package k8s.io.api.things.v1;
message Thing {
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;
  repeated Inner inners = 2;
  map<string, Inner> byName = 3;
  optional string name = 4;
}
"""


def _module(root: Path) -> Path:
    folder = root / "api@v0.1.0" / "things" / "v1"
    folder.mkdir(parents=True)
    (folder / "types.go").write_text(_GO)
    (folder / "types_test.go").write_text(_GO.replace("Thing", "Tested"))
    (folder / "generated.proto").write_text(_PROTO)
    return root


def test_members_of_a_struct() -> None:
    """Names, types and tags in the order of declaration; fields without JSON are left out."""
    members = parse_structs(_GO)["Thing"]
    assert [(member.name, member.json, member.inline) for member in members] == [
        ("TypeMeta", "", True),
        ("Name", "name", False),
        ("Count", "count", False),
        ("Inner", "", True),
    ]
    count = members[2]
    assert (count.go_type, count.pointer, count.proto) == ("*int32", True, "countField")
    assert count.options == {"omitempty"}


def test_fields_of_a_message() -> None:
    """Numbers, full names of types, lists and maps."""
    fields = parse_messages(_PROTO)["api.things.v1.Thing"]
    assert [(field.number, field.name, field.type, field.label) for field in fields] == [
        (1, "metadata", "apimachinery.pkg.apis.meta.v1.ObjectMeta", ""),
        (2, "inners", "api.things.v1.Inner", "repeated"),
        (3, "byName", "api.things.v1.Inner", "map"),
        (4, "name", "string", ""),
    ]


def test_packages_below_the_modules(tmp_path: Path) -> None:
    """Every folder with generated.proto is a package; tests are no source."""
    root = _module(tmp_path)
    assert [package for package, _ in package_dirs(root)] == ["api.things.v1"]
    assert set(read_structs(root)) == {"api.things.v1.Thing", "api.things.v1.Inner"}
    assert set(read_messages(root)) == {"api.things.v1.Thing"}
    assert read_named_types(root)["api.things.v1.Phase"] == "string"


def test_inlined_structs_are_replaced_by_their_members(tmp_path: Path) -> None:
    """As JSON shows them."""
    structs = read_structs(_module(tmp_path))
    assert [member.json for member in flat_members(structs, "api.things.v1.Thing")] == ["name", "count", "a"]


def test_full_names_of_embedded_types() -> None:
    """One of the same package, or of the package of metadata."""
    assert qualify("Inner", "api.things.v1.Thing") == "api.things.v1.Inner"
    assert qualify("*Inner", "api.things.v1.Thing") == "api.things.v1.Inner"
    assert qualify("metav1.TypeMeta", "api.things.v1.Thing") == "apimachinery.pkg.apis.meta.v1.TypeMeta"
