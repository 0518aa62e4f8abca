"""Definitions. The scene "definitions" has what a real server makes of others."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from handloop_sandbox.custom.definition_rules import definition, selectable_causes
from support.builders.widgets import widget_definition

_GROUP = "widgets.example.com"


def _definition(**spec: Any) -> dict[str, Any]:
    found = copy.deepcopy(widget_definition(_GROUP))
    found["spec"] |= {"conversion": {"strategy": "None"}, **spec}
    names = found["spec"]["names"]
    names |= {"singular": "widget", "listKind": "WidgetList"}
    return found | {"status": {"storedVersions": ["v1"]}}


def _said(new: dict[str, Any], old: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in definition(new, old, "")]


def test_a_whole_definition_is_fine() -> None:
    """Defaults, limits, subresources, columns and selectable fields."""
    assert _said(_definition()) == []


def test_a_name_is_plural_and_group() -> None:
    """Nothing else will do, and only when it is made."""
    wrong = _definition()
    wrong["metadata"]["name"] = "others.example.com"
    problem = 'Invalid value: "others.example.com": must be spec.names.plural+"."+spec.group'
    assert _said(wrong) == [("metadata.name", problem)]
    assert _said(wrong, wrong) == []


def test_versions() -> None:
    """One of them is stored, and no two have one name."""
    twice = _definition()
    twice["spec"]["versions"] *= 2
    said = [message.rpartition(": ")[2] for _, message in _said(twice)]
    assert "must contain unique version names" in said
    assert "must have exactly one version marked as storage version" in said


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ({"name": "A", "type": "text", "jsonPath": ".a"}, "type"),
        ({"name": "A", "type": "string", "format": "odd", "jsonPath": ".a"}, "format"),
        ({"type": "string", "jsonPath": ".a"}, "name"),
        ({"name": "A", "type": "string", "jsonPath": ""}, "jsonPath"),
    ],
)
def test_columns(column: dict[str, Any], field: str) -> None:
    """A column has a name, a type that is known, and a path."""
    found = _definition()
    found["spec"]["versions"][0]["additionalPrinterColumns"] = [column]
    assert any(where.lower().endswith(field.lower()) for where, _ in _said(found))


def test_protected_groups_need_an_approval() -> None:
    """Groups of Kubernetes' own are refused without approval."""
    found = _definition(group="widgets.k8s.io")
    found["metadata"]["name"] = "widgets.widgets.k8s.io"
    field = "metadata.annotations[api-approved.kubernetes.io]"
    assert [where for where, _ in _said(found)] == [field]
    found["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/approval"}
    assert _said(found) == []


def test_few_fields_can_be_selected_by() -> None:
    """Their number is limited."""
    spec = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    fields = [{"jsonPath": ".spec.a"}] * 9
    assert selectable_causes("f", {"schema": schema, "selectableFields": fields})[0].field == "f"
