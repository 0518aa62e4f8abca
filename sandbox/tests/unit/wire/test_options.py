from __future__ import annotations

import pytest

from handloop_sandbox.wire import options
from handloop_sandbox.wire.query import Query
from handloop_sandbox.wire.status import StatusError


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, False), ("false", False), ("False", False), ("0", False), ("", True), ("1", True), ("yes", True)],
)
def test_booleans_are_generous(value: str | None, expected: bool) -> None:
    """Everything but absence, `false` and `0` is true."""
    assert options.boolean(value) is expected


def test_numbers_are_not() -> None:
    """A number that does not parse or does not fit is 400 with Go's words."""
    assert options.integer("5") == 5
    assert options.integer(None) is None
    with pytest.raises(StatusError, match='parsing "": invalid syntax'):
        options.integer("")
    with pytest.raises(StatusError, match='parsing "abc": invalid syntax'):
        options.integer("abc")
    with pytest.raises(StatusError, match="value out of range"):
        options.integer("9" * 30)


@pytest.mark.parametrize(
    ("query", "kind", "apply", "message"),
    [
        ("fieldValidation=Nope", "CreateOptions", False, 'fieldValidation: Unsupported value: "Nope"'),
        (
            "dryRun=Some",
            "UpdateOptions",
            False,
            'dryRun: Unsupported value: ["Some"]: supported values: "All"',
        ),
        (f"fieldManager={'f' * 129}", "CreateOptions", False, "Too long: may not be more than 128 bytes"),
        ("fieldManager=a%0ab", "CreateOptions", False, "invalid character U+000A (at position 1)"),
        ("", "PatchOptions", True, "fieldManager: Required value: is required for apply patch"),
        ("force=true", "PatchOptions", False, "force: Forbidden: may not be specified for non-apply patch"),
    ],
)
def test_wrong_write_options(query: str, kind: str, apply: bool, message: str) -> None:
    """Write options are checked by the rules of their verb."""
    with pytest.raises(StatusError) as raised:
        options.write_options(Query.parse(query), kind, apply=apply)
    assert str(raised.value).startswith(f'{kind}.meta.k8s.io "" is invalid: ')
    assert message in str(raised.value)
