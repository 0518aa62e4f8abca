from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.wire import field_selector
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError


def _resource(**fields: Any) -> ServedResource:
    given = {
        "group": "",
        "version": "v1",
        "plural": "pods",
        "kind": "Pod",
        "list_kind": "PodList",
        "singular": "pod",
        "namespaced": True,
        "verbs": ("list",),
        "storage_version": "v1",
    }
    return ServedResource(**{**given, **fields})


_POD = {"metadata": {"name": "p"}, "spec": {"nodeName": "n1", "count": 3, "on": True}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        (",", True),
        ("metadata.name=p", True),
        ("metadata.name==p,", True),
        ("metadata.name!=p", False),
        ("spec.nodeName=n1,spec.count=3", True),
        ("spec.on=true", True),
        ("spec.missing=", True),
        ("spec.unschedulable=false", True),
        (r"metadata.name=a\,b", False),
    ],
)
def test_what_a_selector_chooses(text: str, expected: bool) -> None:
    """Fields compare as text; absent ones are empty, or what the kind shows for absence."""
    chosen = field_selector.predicate(field_selector.parse(text))
    assert (chosen is None or chosen(_POD)) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
    ],
)
def test_the_servers_words_for_what_does_not_parse(text: str, message: str) -> None:
    """Errors have the texts of the real server's parser."""
    with pytest.raises(StatusError) as raised:
        field_selector.parse(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (_resource(selectable_fields=("spec.nodeName",)), "field label not supported: spec.x"),
        (_resource(custom=True), "field label not supported: spec.x"),
        (_resource(kind="Job"), 'field label "spec.x" not supported for Job'),
        (
            _resource(),
            '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_fields_a_kind_does_not_offer(resource: ServedResource, message: str) -> None:
    """How an unknown field is refused depends on the kind."""
    with pytest.raises(StatusError) as raised:
        field_selector.check_supported(field_selector.parse("spec.x=1"), resource)
    assert str(raised.value) == message


def test_cluster_scoped_kinds_have_no_namespace_to_select() -> None:
    """A custom resource without namespaces offers its name only."""
    assert field_selector.supported_fields(_resource(custom=True, namespaced=False)) == ("metadata.name",)
    assert "metadata.namespace" in field_selector.supported_fields(_resource())


def test_a_pinned_name_is_found() -> None:
    """The value a field must equal is known, that of an inequality is not."""
    terms = field_selector.parse("metadata.name=a,spec.x!=b")
    assert field_selector.exact(terms, "metadata.name") == "a"
    assert field_selector.exact(terms, "spec.x") is None


def test_an_events_source_has_two_homes() -> None:
    """The source of an event is its component, else its reporting controller."""
    terms = field_selector.parse("source=kubelet")
    chosen = field_selector.predicate(terms)
    assert chosen is not None
    assert chosen({"source": {"component": "kubelet"}})
    assert chosen({"source": {}, "reportingComponent": "kubelet"})
    assert not chosen({})
