from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.tables.table import CELLS, cells_of, columns_of, custom_cells, custom_columns, render
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError
from support.builders.builtin import builtin
from support.builders.thing import THINGS

_NOW = 1_700_000_060.0
_OBJECT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "creationTimestamp": "2023-11-14T22:13:20Z"},
    "data": {"x": "1"},
}
_LISTED = [resource for resource in builtin_resources() if "list" in resource.verbs]


@pytest.mark.parametrize("resource", _LISTED, ids=lambda resource: f"{resource.group}/{resource.plural}")
def test_a_row_has_a_cell_for_every_column(resource: ServedResource) -> None:
    """For every built-in kind, even for an object that is a name alone; IPAddresses have one more."""
    cells = cells_of(resource, {"metadata": {"name": "a"}}, _NOW)
    assert len(cells) == len(columns_of(resource)) + (resource.plural == "ipaddresses")
    assert cells[-1 if resource.plural == "events" else 0] == "a"


def test_every_entry_is_a_kind_that_is_served() -> None:
    """No function of cells is left over."""
    assert CELLS.keys() <= {tuple(resource.group_resource) for resource in builtin_resources()}


def test_kinds_without_columns_of_their_own() -> None:
    """Their tables have a name and the time of creation, as those of many kinds in a cluster."""
    table = render(builtin("storage.k8s.io", "csistoragecapacities"), [_OBJECT], now=_NOW)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Created At"]
    assert table["rows"][0]["cells"] == ["a", "2023-11-14T22:13:20Z"]


def test_a_table() -> None:
    """Columns, rows and the list's own metadata."""
    table = render(builtin("", "configmaps"), [_OBJECT], now=_NOW, metadata={"resourceVersion": "5"})
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": "5"}
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"] == ["a", 1, "60s"]


@pytest.mark.parametrize(
    ("include", "shown"),
    [
        ("Object", _OBJECT),
        ("None", None),
        (
            "Metadata",
            {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": _OBJECT["metadata"],
            },
        ),
    ],
)
def test_what_a_row_includes(include: str, shown: Any) -> None:
    """The object, its metadata or nothing."""
    table = render(builtin("", "configmaps"), [_OBJECT], now=_NOW, include=include)
    assert table["rows"][0]["object"] == shown


def test_another_include_is_refused() -> None:
    """400, with the real server's words."""
    with pytest.raises(StatusError) as caught:
        render(builtin("", "configmaps"), [_OBJECT], now=_NOW, include="All")
    assert caught.value.status["message"] == 'unrecognized includeObject value: "All"'


def test_later_tables_of_a_watch_have_no_columns() -> None:
    """They are sent once; the requested version is that of the rows' metadata too."""
    table = render(THINGS, [_OBJECT], now=_NOW, with_columns=False, version="v1beta1")
    assert table["columnDefinitions"] is None
    assert table["apiVersion"] == table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


_LATER = 1_700_000_060.0
_STAMP = "2023-11-14T22:13:20Z"


def _cell(kind: str, value: Any, path: str = ".spec.x") -> Any:
    resource = replace(THINGS, printer_columns=({"name": "X", "type": kind, "jsonPath": path},))
    return custom_cells(resource, {"metadata": {"name": "a"}, "spec": {"x": value}}, _LATER)[1]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("string", "a", "a"),
        ("string", 5, "5"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("string", {"b": "<", "a": [1]}, '{"a":[1],"b":"\\u003c"}'),
        ("integer", 5, 5),
        ("integer", 5.7, 5),
        ("integer", "5", None),
        ("integer", True, None),
        ("number", 1.5, 1.5),
        ("number", 2.0, 2),
        ("boolean", False, False),
        ("boolean", "false", None),
        ("date", _STAMP, "60s"),
        ("date", "soon", "<invalid>"),
        ("date", 5, None),
        ("integer", None, None),
    ],
)
def test_a_column_shows_values_of_its_type(kind: str, value: Any, shown: Any) -> None:
    """Another type is null; only a string column shows anything as text."""
    assert _cell(kind, value) == shown


def test_what_a_path_does_not_find_is_null() -> None:
    """Missing members, and paths that do not parse."""
    assert _cell("string", 1, ".spec.y") is None
    assert _cell("string", 1, ".spec[") is None


def test_without_columns_there_is_the_age() -> None:
    """Name and Age, described like those of built-in kinds."""
    columns = custom_columns(THINGS)
    assert [(column.name, column.type, column.priority) for column in columns] == [
        ("Name", "string", 0),
        ("Age", "date", 0),
    ]
    assert columns[1].description.startswith("CreationTimestamp is a timestamp")
    obj = {"metadata": {"name": "a", "creationTimestamp": _STAMP}}
    assert custom_cells(THINGS, obj, _LATER) == ["a", "60s"]


def test_declared_columns_keep_what_was_declared() -> None:
    """Format, priority and description; without a description the path is named."""
    declared = (
        {
            "name": "A",
            "type": "integer",
            "jsonPath": ".a",
            "format": "int32",
            "priority": 1,
            "description": "d",
        },
        {"name": "B", "type": "string", "jsonPath": ".b"},
    )
    _, first, second = custom_columns(replace(THINGS, printer_columns=declared))
    assert (first.name, first.type, first.format, first.priority, first.description) == (
        "A",
        "integer",
        "int32",
        1,
        "d",
    )
    assert second.description == "Custom resource definition column (in JSONPath format): .b"
