from __future__ import annotations

from dataclasses import replace

import pytest

from handloop.sandbox.kinds.kinds import builtin_resources
from handloop.sandbox.wire import negotiate
from handloop.sandbox.wire.negotiate import AnswerShape, Form
from handloop.sandbox.wire.resource import ServedResource
from handloop.sandbox.wire.status import StatusError

_PODS = next(r for r in builtin_resources() if r.plural == "pods")
_CUSTOM = replace(_PODS, custom=True)
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def _form(accept: str, *, watch: bool = False, resource: ServedResource = _CUSTOM) -> Form:
    return negotiate.negotiate(accept, pretty=None, watch=watch, resource=resource)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json;charset=utf-8", Form()),
        ("application/yaml", Form(yaml=True)),
        ("application/json;q=0.5, application/yaml;q=0.9", Form(yaml=True)),
        ("application/vnd.kubernetes.protobuf,application/json", Form()),
        (_TABLE, Form(shape=AnswerShape.TABLE)),
        (
            f"application/json;as=Table;v=v9;g=meta.k8s.io,{_TABLE.replace('v1', 'v1beta1')}",
            Form(AnswerShape.TABLE, "v1beta1"),
        ),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form(shape=AnswerShape.PARTIAL)),
        ("application/json;pretty=1", Form(pretty=True)),
    ],
)
def test_the_form_that_is_chosen(accept: str, form: Form) -> None:
    """The best clause that can be satisfied decides."""
    assert _form(accept) == form


@pytest.mark.parametrize(
    "accept",
    ["text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Table;v=v1;g=other"],
)
def test_forms_that_cannot_be_had(accept: str) -> None:
    """Nothing that fits is 406 with what there is."""
    with pytest.raises(StatusError) as raised:
        _form(accept)
    assert str(raised.value) == (
        "only the following media types are accepted: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_watches_stream_json_only() -> None:
    """A watch is not offered as YAML; indentation is ignored."""
    with pytest.raises(StatusError, match="application/json;stream=watch"):
        _form("application/yaml", watch=True)
    assert not _form("application/json;pretty=1", watch=True).pretty


def test_built_in_routes_have_a_check_of_their_own() -> None:
    """For built-in kinds an impossible type is refused by the router, in its words."""
    with pytest.raises(StatusError, match="406: Not Acceptable\n\nAvailable representations: "):
        _form("text/html", resource=_PODS)


def test_aggregated_discovery_is_asked_for() -> None:
    """Only version 2 of the aggregated document is offered."""
    wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert negotiate.wants_aggregated(f"{wanted},application/json") == "v2"
    assert negotiate.wants_aggregated(wanted.replace("v2;", "v2beta1;") + ",application/json") is None
    assert negotiate.wants_aggregated("application/json") is None
    assert negotiate.wants_aggregated("") is None


def test_documents_that_exist_in_one_form() -> None:
    """A document asked for in another form is 406."""
    negotiate.check_document("*/*", ("application/json",))
    negotiate.check_document("", ("application/json",))
    with pytest.raises(StatusError, match="Available representations: application/json"):
        negotiate.check_document("application/yaml", ("application/json",))


def test_yaml_is_written_as_go_writes_it() -> None:
    """Members are sorted, text that would read as something else is in double quotes."""
    value = {"b": "yes", "a": ["1", "x: y", ""], "t": "2026-01-01T00:00:00Z", "none": None, "y": "y"}
    assert Form(yaml=True).encode_value(value).decode() == (
        'a:\n- "1"\n- \'x: y\'\n- ""\nb: "yes"\nnone: null\nt: "2026-01-01T00:00:00Z"\n"y": "y"\n'
    )


def test_json_is_compact_or_indented() -> None:
    """JSON goes out compact, or indented when that was asked for."""
    assert Form().encode_value({"a": 1}) == b'{"a":1}\n'
    assert Form(pretty=True).encode_value({"a": 1}) == b'{\n  "a": 1\n}'
    assert Form().encode(b"as it is") == b"as it is"
    assert Form(pretty=True).encode(b'{"a":1}') == b'{\n  "a": 1\n}'


def test_errors_are_written_in_the_form_of_the_answer() -> None:
    """An error is YAML for who wants YAML, else JSON."""
    assert negotiate.error_form("application/yaml").yaml
    assert not negotiate.error_form("text/html").yaml
    assert negotiate.error_form("application/json", "true").pretty
