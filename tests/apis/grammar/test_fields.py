from __future__ import annotations

import pytest

from handloop.apis.grammar import fields
from handloop.apis.grammar.labels import SelectorError

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
        ("status.successful=0", True),
        (r"metadata.name=a\,b", False),
    ],
)
def test_what_a_selector_chooses(text: str, expected: bool) -> None:
    """Fields compare as text; absent ones are empty, or what the kind shows for absence."""
    chosen = fields.matcher(fields.parse_fields(text))
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
    with pytest.raises(SelectorError) as raised:
        fields.parse_fields(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("own", "kind", "custom", "message"),
    [
        (("spec.nodeName",), "Pod", False, "field label not supported: spec.x"),
        ((), "Foo", True, "field label not supported: spec.x"),
        ((), "Job", False, 'field label "spec.x" not supported for Job'),
        (
            (),
            "Pod",
            False,
            '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_fields_a_kind_does_not_offer(own: tuple[str, ...], kind: str, custom: bool, message: str) -> None:
    """How an unknown field is refused depends on the kind."""
    with pytest.raises(SelectorError) as raised:
        fields.check_offered(fields.parse_fields("spec.x=1"), own, kind=kind, namespaced=True, custom=custom)
    assert str(raised.value) == message


def test_cluster_scoped_kinds_have_no_namespace_to_select() -> None:
    """A custom resource without namespaces offers its name only."""
    assert fields.offered_fields((), namespaced=False, custom=True) == ("metadata.name",)
    assert "metadata.namespace" in fields.offered_fields((), namespaced=True, custom=False)


@pytest.mark.parametrize("text", ["metadata.name=a", "spec.x!=b", r"metadata.name=a\,b\=c\\d"])
def test_a_term_prints_what_it_was_read_from(text: str) -> None:
    """So a canonical selector can be sent."""
    assert ",".join(map(str, fields.parse_fields(text))) == text


def test_a_pinned_name_is_found() -> None:
    """The value a field must equal is known, that of an inequality is not."""
    terms = fields.parse_fields("metadata.name=a,spec.x!=b")
    assert fields.exact(terms, "metadata.name") == "a"
    assert fields.exact(terms, "spec.x") is None


def test_an_events_source_has_two_homes() -> None:
    """The source of an event is its component, else its reporting controller."""
    terms = fields.parse_fields("source=kubelet")
    chosen = fields.matcher(terms)
    assert chosen is not None
    assert chosen({"source": {"component": "kubelet"}})
    assert chosen({"source": {}, "reportingComponent": "kubelet"})
    assert not chosen({})
