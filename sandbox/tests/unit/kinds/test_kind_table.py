from __future__ import annotations

from handloop_sandbox.kinds.kind_table import (
    builtin_columns,
    message,
    named_schema,
    resource_entries,
    schema_names,
)


def test_every_resource_names_a_schema_and_has_columns() -> None:
    """Each kind of discovery is described, and each kind that can be listed can be shown."""
    names = set(schema_names())
    for entry in resource_entries():
        assert entry.schema in names
        if "list" in entry.verbs:
            columns = builtin_columns(entry.group, entry.version, entry.plural)
            assert columns[0].priority == 0


def test_columns_of_pods() -> None:
    """As kubectl get and get -o wide print them."""
    columns = builtin_columns("", "v1", "pods")
    assert [column.name for column in columns if column.priority == 0] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    assert [column.name for column in columns if column.priority == 1] == [
        "IP",
        "Node",
        "Nominated Node",
        "Readiness Gates",
    ]
    assert (columns[0].type, columns[0].format) == ("string", "name")
    assert columns[0].description.startswith("Name must be unique within a namespace.")


def test_schemas_refer_to_schemas_that_are_there() -> None:
    """No reference leads nowhere."""

    def references(value: object) -> set[str]:
        if isinstance(value, dict):
            here = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return here.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    names = set(schema_names())
    for name in names:
        assert references(named_schema(name)) <= names
    assert named_schema("api.core.v1.NoSuch") is None


def test_messages_of_protobuf() -> None:
    """Fields by number, with their JSON names; the schema tells type and label, where it can."""
    fields = message("api.core.v1.ConfigMap")
    assert fields == {
        1: ("metadata", "apimachinery.pkg.apis.meta.v1.ObjectMeta", ""),
        2: ("data", "string", "map"),
        3: ("binaryData", "bytes", "map"),
        4: ("immutable", "bool", ""),
    }
    volume, autoscaler = message("api.core.v1.Volume"), message("api.autoscaling.v1.ScaleSpec")
    assert volume == {1: ("name", "string", ""), 2: ("", "api.core.v1.VolumeSource", "")}
    assert autoscaler == {1: ("replicas", "int32", "")}
    assert message("api.core.v1.NoSuch") is None
