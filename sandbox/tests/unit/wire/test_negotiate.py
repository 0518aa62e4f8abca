from __future__ import annotations

from dataclasses import replace

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.wire import negotiate
from handloop_sandbox.wire.negotiate import AnswerShape, Form
from handloop_sandbox.wire.resource import ServedResource

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


def test_yaml_is_written_as_go_writes_it() -> None:
    """Members are sorted, text that would read as something else is in double quotes."""
    value = {"b": "yes", "a": ["1", "x: y", ""], "t": "2026-01-01T00:00:00Z", "none": None, "y": "y"}
    assert Form(yaml=True).encode_value(value).decode() == (
        'a:\n- "1"\n- \'x: y\'\n- ""\nb: "yes"\nnone: null\nt: "2026-01-01T00:00:00Z"\n"y": "y"\n'
    )
    numbers = ["1e3", "-1E-3", ".5e3", "0o17", "0O17", "0B1", "08", "1_0"]
    assert Form(yaml=True).encode_value(numbers).decode().splitlines() == [f'- "{text}"' for text in numbers]
