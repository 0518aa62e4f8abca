from __future__ import annotations

import copy
from typing import Any

import pytest

from handloop.apis.compatibility.definition_changes import NotADefinitionError, definition_changes
from handloop.apis.crd import custom_resource_definition
from handloop.controller.myapp.types import MyApp


def version(name: str, *, stored: bool = False, served: bool = True, **fields: Any) -> dict[str, Any]:
    """A version whose spec has these fields."""
    spec = {"type": "object", "properties": fields}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": served, "storage": stored, "schema": {"openAPIV3Schema": schema}}


def definition(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A definition of Sites."""
    names = {"kind": "Site", "plural": "sites", "singular": "site", "listKind": "SiteList"}
    whole = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [*versions], **spec}
    return {"metadata": {"name": "sites.example.org"}, "spec": whole}


_TEXT = {"type": "string"}
_V1 = version("v1", stored=True, a=_TEXT)
_BASE = definition(_V1)


def _found(old: Any, new: Any) -> list[tuple[str, str, str, str]]:
    return [(each.rule, each.severity, each.version, each.path) for each in definition_changes(old, new)]


def _with(**parts: Any) -> dict[str, Any]:
    return definition({**_V1, **parts})


def _named(**names: Any) -> dict[str, Any]:
    changed = copy.deepcopy(_BASE)
    changed["spec"]["names"] |= names
    return changed


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (_BASE, _BASE, []),
        (_BASE, definition(_V1, scope="Cluster"), [("scope", "breaks", "", "")]),
        (_BASE, definition(_V1, group="example.com"), [("group", "breaks", "", "")]),
        (_BASE, _named(plural="pages"), [("names", "breaks", "", "")]),
        (_named(shortNames=["s", "t"]), _named(shortNames=["t"]), [("names", "warns", "", "")]),
        (_BASE, _named(shortNames=["s"], categories=["all"]), []),
        (_BASE, definition(version("v1", stored=True)), [("field", "breaks", "v1", "spec.a")]),
        (_BASE, definition(version("v1", stored=True, a=_TEXT, b=_TEXT)), []),
        (_BASE, _with(subresources={"status": {}}), [("status", "breaks", "v1", "status")]),
        (_with(subresources={"status": {}}), _BASE, [("status", "breaks", "v1", "status")]),
        (_with(subresources={"scale": {"a": 1}}), _BASE, [("scale", "breaks", "v1", "")]),
        (_BASE, _with(subresources={"scale": {"a": 1}}), []),
        (_with(subresources={"scale": {"a": 1}}), _with(subresources={"scale": {"a": 1, "b": 2}}), []),
        (
            _with(selectableFields=[{"jsonPath": ".spec.a"}]),
            _BASE,
            [("selectable-fields", "breaks", "v1", "")],
        ),
        (_with(additionalPrinterColumns=[{"name": "A"}]), _BASE, [("columns", "warns", "v1", "")]),
        (_BASE, _with(deprecated=True), [("deprecated", "warns", "v1", "")]),
    ],
)
def test_the_verdict_on_a_definition(old: Any, new: Any, found: list[tuple[str, str, str, str]]) -> None:
    """Names, scope, subresources, columns: what clients would meet."""
    assert _found(old, new) == found


def test_a_new_version_that_renames_a_field_erases_it() -> None:
    """With the strategy None nothing is copied; a webhook would do that."""
    old = definition(version("v1alpha1", stored=True, size=_TEXT))
    both = (version("v1alpha1", size=_TEXT), version("v1", stored=True, replicas=_TEXT))
    assert _found(old, definition(*both)) == [
        ("erased", "breaks", "v1alpha1", "spec.size"),
        ("storage-version", "warns", "", ""),
        ("unseen", "warns", "v1alpha1", "spec.replicas"),
    ]
    webhook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
    assert _found(old, definition(*both, conversion=webhook)) == [
        ("conversion", "warns", "", ""),
        ("storage-version", "warns", "", ""),
    ]


def test_what_was_so_before_is_not_told_again() -> None:
    """Only the change is judged, also between served versions."""
    both = (version("v1alpha1", size=_TEXT, a={"type": "integer"}), version("v1", stored=True, a=_TEXT))
    assert _found(definition(*both), definition(*both)) == []
    tighter = version("v1", stored=True, a={**_TEXT, "maxLength": 5})
    assert _found(definition(*both), definition(both[0], tighter)) == [
        ("maxLength", "breaks", "v1", "spec.a"),
        ("versions-maxLength", "warns", "v1alpha1 -> v1", "spec.a"),
    ]


def test_versions_go_when_nothing_is_stored_in_them() -> None:
    """A cluster says what is stored; a file says in which version its objects would be."""
    old = definition(version("v1alpha1", stored=True), version("v1"))
    new = definition(version("v1", stored=True))
    gone = [("served-version", "breaks", "v1alpha1", ""), ("stored-version", "breaks", "v1alpha1", "")]
    assert _found(old, new) == [*gone, ("storage-version", "warns", "", "")]
    migrated = {**definition(version("v1alpha1", served=False), version("v1", stored=True))}
    # nor does it say whether the objects of an earlier release were migrated
    assert _found(migrated, new) == [("stored-version", "warns", "v1alpha1", "")]
    assert _found({**migrated, "status": {"storedVersions": ["v1"]}}, new) == []
    left = {**migrated, "status": {"storedVersions": ["v1alpha1", "v1"]}}
    assert _found(left, new) == [("stored-version", "breaks", "v1alpha1", "")]


def test_what_breaks_comes_first() -> None:
    """Then by version and path."""
    new = definition(version("v1", stored=True, a={"type": "string", "default": "x", "maxLength": 3}))
    assert _found(_BASE, new) == [
        ("maxLength", "breaks", "v1", "spec.a"),
        ("default", "warns", "v1", "spec.a"),
    ]


def test_a_kind_of_ours_is_like_itself() -> None:
    """The whole of a generated definition is walked."""
    definition_of_myapp = custom_resource_definition(MyApp)
    assert definition_changes(definition_of_myapp, definition_of_myapp) == []


@pytest.mark.parametrize(
    "document", [{}, {"spec": None}, {"spec": {"group": "a", "names": {"kind": "A"}, "versions": []}}]
)
def test_what_is_no_definition_is_refused(document: Any) -> None:
    """With what it lacks."""
    with pytest.raises(NotADefinitionError, match="it "):
        definition_changes(document, _BASE)
