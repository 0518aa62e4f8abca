from __future__ import annotations

from handloop_sandbox.kinds import protobuf
from handloop_sandbox.wire import status
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import Cause, as_protobuf, failure, not_acceptable
from support.builders.thing import served


def _resource(group: str = "example.com") -> ServedResource:
    return served(group=group, plural="widgets", kind="Widget", custom=False)


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
    """One cause stands alone, several are bracketed, equal ones are named once but stay causes."""
    one = Cause("FieldValueRequired", "Required value", "spec.a")
    two = Cause("FieldValueInvalid", "Invalid value: 1: no", "spec.b")
    assert str(status.invalid(_resource(), "x", [one])) == (
        'Widget.example.com "x" is invalid: spec.a: Required value'
    )
    both = status.invalid(_resource(), "x", [one, two, two])
    assert str(both).endswith("is invalid: [spec.a: Required value, spec.b: Invalid value: 1: no]")
    assert len(both.status["details"]["causes"]) == 3


def test_hints_when_to_retry() -> None:
    """A refusal that passes has its seconds, in the body and in a header."""
    error = status.too_large_resource_version(9, 5)
    assert error.headers == (("Retry-After", "1"),)
    assert error.status["details"]["retryAfterSeconds"] == 1


def test_expiry_can_offer_a_continuation() -> None:
    """A 410 for an old continue token carries the token to go on with."""
    assert status.expired("old", continue_token="t").status["metadata"] == {"continue": "t"}
    assert status.expired("old").status["metadata"] == {}


def test_success() -> None:
    """A Status of success has details where there are any."""
    assert status.success({"name": "a"})["details"] == {"name": "a"}
    assert "details" not in status.success()
    assert status.success(code=201)["code"] == 201


RECORDED = (
    b"k8s\0\n\f\n\x02v1\x12\x06Status\x12\x99\x01\n\x06\n\0\x12\0\x1a\0\x12\x07Failure\x1at"
    b"only the following media types are accepted: "
    b"application/json, application/yaml, application/vnd.kubernetes.protobuf"
    b'"\rNotAcceptable0\x96\x03\x1a\0"\0'
)


def test_a_refusal_as_a_real_server_wrote_it() -> None:
    """Every byte is that of a kube-apiserver, the empty texts too."""
    accepted = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
    assert as_protobuf(not_acceptable(accepted).status) == RECORDED


def test_details_and_causes() -> None:
    """A written Status can be read again, causes, retry delay and continue token included."""
    causes = [{"reason": "FieldValueInvalid", "message": "too big", "field": "spec.size"}]
    details = {
        "name": "x" * 200,
        "group": "g",
        "kind": "k",
        "causes": causes,
        "retryAfterSeconds": 300,
        "uid": "u",
    }
    status = failure(422, "Invalid", "no", details=details, metadata={"continue": "there"})
    read = protobuf.read_message(as_protobuf(status), "apimachinery.pkg.apis.meta.v1.Status")
    assert (read["message"], read["code"], read["metadata"]["continue"]) == ("no", 422, "there")
    assert read["details"] == details
