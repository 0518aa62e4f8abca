from __future__ import annotations

from dataclasses import replace
from typing import Any

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.verbs import object_rules
from handloop_sandbox.wire.resource import ScalePaths
from support.builders.thing import served
from support.builders.widgets import widget_definition

_MAPS = next(r for r in builtin_resources() if r.plural == "configmaps")
_SECRETS = next(r for r in builtin_resources() if r.plural == "secrets")
_VERSION = widget_definition("example.com")["spec"]["versions"][0]
_WIDGETS = served(
    plural="widgets",
    kind="Widget",
    schema=_VERSION["schema"]["openAPIV3Schema"],
    scale_paths=ScalePaths(".spec.replicas", ".status.replicas", ".status.selector"),
)
_NOT_CHECKED = "some validation rules were not checked because the object was invalid"


def _widget(**parts: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "n", "uid": "u"}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": metadata,
        "spec": {"size": 3},
        **parts,
    }


def _fields(causes: list[Any]) -> list[str]:
    return [cause.field for cause in causes]


def test_everything_is_looked_at() -> None:
    """Metadata, schema, replicas and lists of a custom resource are all checked, in this order."""
    bad = _widget(metadata={"name": "A"}, spec={"size": 3, "replicas": -1, "tags": ["a", "a"]})
    assert _fields(object_rules.validate_new(_WIDGETS, bad)) == [
        "metadata.name",
        "spec.replicas",
        ".spec.replicas",
        "spec.tags[1]",
    ]
    assert object_rules.validate_new(_WIDGETS, _widget()) == []


def test_expressions_wait_for_the_rest() -> None:
    """When a type or a required member is wrong, the expressions are not asked, as the answer reports."""
    causes = object_rules.validate_new(_WIDGETS, _widget(spec={}))
    assert _fields(causes) == ["spec.size", "<nil>"]
    assert _NOT_CHECKED in causes[-1].message
    plain = replace(_WIDGETS, schema={"type": "object", "required": ["spec"]})
    assert _fields(object_rules.validate_new(plain, {"metadata": {"name": "a"}})) == ["spec"]
    assert object_rules.has_rules(_WIDGETS)
    assert not object_rules.has_rules(plain)


def test_expressions_see_the_old_object() -> None:
    """A transition rule is evaluated on update."""
    old = _widget(spec={"size": 3, "fixed": "a"})
    new = _widget(spec={"size": 3, "fixed": "b"})
    assert _fields(object_rules.validate_update(_WIDGETS, new, old).causes) == ["spec.fixed"]
    assert object_rules.validate_new(_WIDGETS, new) == []


def test_complaints_about_metadata_come_twice_on_update() -> None:
    """The generic update and the strategy both check immutable fields."""
    other = _widget(metadata={"name": "a", "namespace": "n", "uid": "z"})
    assert _fields(object_rules.validate_update(_WIDGETS, other, _widget()).causes) == ["metadata.uid"] * 2


def test_the_status_is_checked_by_itself() -> None:
    """Through /status only the status counts, with any fault in the rest."""
    bad = _widget(spec={"size": 1000}, status={"replicas": "two"})
    causes = object_rules.validate_update(_WIDGETS, bad, _widget(), "status").causes
    assert _fields(causes) == ["status.replicas", ".status.replicas", "<nil>"]
    assert causes[1].message == (
        "Invalid value: 0: .status.replicas accessor error: two is of the type string, expected int64"
    )


def test_replicas_of_a_scale() -> None:
    """Replicas are whole, not negative and fit 32 bits; the way to them leads through objects."""
    assert object_rules.scale_spec_causes(_MAPS, {}) == []
    (large,) = object_rules.scale_spec_causes(_WIDGETS, _widget(spec={"replicas": 2**31}))
    assert large.message == "Invalid value: 2147483648: should be less than or equal to 2147483647"
    (astray,) = object_rules.scale_spec_causes(_WIDGETS, _widget(spec="x"))
    assert astray.message.endswith("x is of the type string, expected map[string]interface{}")
    (selector,) = object_rules.scale_status_causes(_WIDGETS, _widget(status={"selector": 5}))
    assert selector.field == ".status.selector"


def test_string_data_becomes_data() -> None:
    """A Secret's stringData is encoded into its data."""
    secret = {"kind": "Secret", "data": {"a": "eA=="}, "stringData": {"b": "v"}}
    defaulted = object_rules.defaulted(_SECRETS, secret)
    assert defaulted["data"] == {"a": "eA==", "b": "dg=="}
    assert "stringData" not in defaulted
    assert "stringData" in secret


def test_built_in_kinds_have_rules_of_their_own() -> None:
    """Names and data of a ConfigMap are checked; a custom resource's defaults come from its schema."""
    bad = {"metadata": {"name": "A"}, "data": {"bad key!": ""}}
    assert _fields(object_rules.validate_new(_MAPS, bad)) == ["metadata.name", "data[bad key!]"]
    assert object_rules.defaulted(_WIDGETS, _widget())["spec"]["color"] == "red"


def test_wrong_kinds_and_notices() -> None:
    """The complaint about a wrong kind names the right one; only definitions draw notices."""
    assert object_rules.kind_cause("Gizmo", "Widget").message == 'Invalid value: "Gizmo": must be Widget'
    assert object_rules.notices(_MAPS, {}) == []
