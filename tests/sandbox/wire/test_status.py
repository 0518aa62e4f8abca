from __future__ import annotations

from handloop.sandbox.wire import status
from handloop.sandbox.wire.resource import ServedResource
from handloop.sandbox.wire.status import Cause


def _resource(group: str = "example.com") -> ServedResource:
    return ServedResource(
        group=group,
        version="v1",
        plural="widgets",
        kind="Widget",
        list_kind="WidgetList",
        singular="widget",
        namespaced=True,
        verbs=(),
        storage_version="v1",
    )


def test_a_refusal_carries_its_status() -> None:
    """Code and reason can be read off the error, its text is the message."""
    error = status.not_found(_resource(), "a")
    assert (error.code, error.reason) == (404, "NotFound")
    assert str(error) == 'widgets.example.com "a" not found'
    assert error.status["details"] == {"name": "a", "group": "example.com", "kind": "widgets"}
    assert status.internal_error("x").reason == ""


def test_the_core_group_is_left_out() -> None:
    """Details name a group only where there is one."""
    assert status.already_exists(_resource(""), "a").status["details"] == {"name": "a", "kind": "widgets"}
    assert str(status.conflict(_resource(""), "a")).startswith(
        'Operation cannot be fulfilled on widgets "a": the object has been modified'
    )


def test_causes_are_joined_into_the_message() -> None:
    """One cause stands alone, several are bracketed, equal ones are said once but stay causes."""
    one = Cause("FieldValueRequired", "Required value", "spec.a")
    two = Cause("FieldValueInvalid", "Invalid value: 1: no", "spec.b")
    assert str(status.invalid(_resource(), "x", [one])) == (
        'Widget.example.com "x" is invalid: spec.a: Required value'
    )
    both = status.invalid(_resource(), "x", [one, two, two])
    assert str(both).endswith("is invalid: [spec.a: Required value, spec.b: Invalid value: 1: no]")
    assert len(both.status["details"]["causes"]) == 3


def test_hints_when_to_retry() -> None:
    """A refusal that passes says after how many seconds, in the body and in a header."""
    error = status.too_large_resource_version(9, 5)
    assert error.headers == (("Retry-After", "1"),)
    assert error.status["details"]["retryAfterSeconds"] == 1


def test_expiry_can_offer_a_continuation() -> None:
    """A 410 for an old continue token carries the token to go on with."""
    assert status.expired("old", continue_token="t").status["metadata"] == {"continue": "t"}
    assert status.expired("old").status["metadata"] == {}


def test_success() -> None:
    """A Status that says yes has details where there are any."""
    assert status.success({"name": "a"})["details"] == {"name": "a"}
    assert "details" not in status.success()
    assert status.success(code=201)["code"] == 201
