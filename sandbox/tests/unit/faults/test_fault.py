from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handloop_sandbox.faults.fault import (
    AnyFault,
    Conflict,
    Deny,
    DropWatch,
    Error,
    Expire,
    Fault,
    Lag,
    Latency,
    LoseAnswer,
    Silence,
)
from handloop_sandbox.faults.request_attributes import RequestAttributes
from handloop_sandbox.requests.authorization import Attributes
from handloop_sandbox.requests.request import User

_USER = User("alice", ("system:authenticated",))


def _asked(verb: str, **changes: Any) -> RequestAttributes:
    attributes = Attributes(verb, "apps", "deployments", "n", "web")
    given: dict[str, Any] = {
        "attributes": attributes,
        "user": _USER,
        "user_agent": "handloop/1",
        "path": "/apis/x",
    }
    return RequestAttributes(**(given | changes))


@pytest.mark.parametrize(
    "fault",
    [
        Error(),
        Error(verbs=("get", "create")),
        Error(verbs=("*",)),
        Error(resources=("pods", "deployments.apps")),
        Error(namespace="n"),
        Error(name="w*"),
        Error(user="ali*"),
        Error(user_agent="handloop/*"),
        Error(path="/apis/*"),
        Deny(verbs=("create",), resources=("deployments",), namespace="?"),
    ],
)
def test_a_fault_chooses_by_all_that_it_names(fault: Fault) -> None:
    """A criterion that is left out matches any; patterns have stars."""
    assert fault.chooses(_asked("create"))


@pytest.mark.parametrize(
    "fault",
    [
        Error(verbs=("get",)),
        Error(resources=("pods",)),
        Error(namespace="m"),
        Error(name="we"),
        Error(user="bob"),
        Error(user_agent="kubectl*"),
        Error(path="/api/*"),
        Conflict(),
        DropWatch(),
        Silence(),
        Lag(),
        Expire(),
    ],
)
def test_a_fault_spares_requests_that_differ_in_one_thing(fault: Fault) -> None:
    """One name that does not fit is enough; watch faults and conflicts have verbs of their own."""
    assert not fault.chooses(_asked("create"))


def test_each_fault_has_the_verbs_it_is_usually_wanted_for() -> None:
    """Conflicts hit updates and patches, lost answers writes, silence watches; others can be named."""
    assert [verb for verb in ("get", "create", "update", "patch") if Conflict().chooses(_asked(verb))] == [
        "update",
        "patch",
    ]
    assert Conflict(verbs=("delete",)).chooses(_asked("delete"))
    assert not Conflict(verbs=("*",)).chooses(_asked("get"))
    assert [verb for verb in ("get", "create", "delete") if LoseAnswer().chooses(_asked(verb))] == [
        "create",
        "delete",
    ]
    assert Silence().chooses(_asked("watch"))
    assert Silence(verbs=("create",)).chooses(_asked("create"))
    assert Latency(delay_seconds=1).chooses(_asked("get"))


def test_a_verb_that_no_request_has_is_refused() -> None:
    """It would hit nothing, and say nothing."""
    with pytest.raises(ValueError, match=r"'lsit' is not a verb\. The verbs are get, list, watch"):
        Error(code=503, verbs=("lsit",))
    with pytest.raises(msgspec.ValidationError, match="'LIST' is not a verb"):
        msgspec.json.decode(b'{"fault": "error", "code": 503, "verbs": ["LIST"]}', type=AnyFault)


def test_expiry_is_for_continuing() -> None:
    """The first page of a list cannot be too old."""
    assert Expire().chooses(_asked("watch"))
    assert Expire().chooses(_asked("list", continued=True))
    assert not Expire().chooses(_asked("list"))
    assert not Expire().chooses(_asked("get"))


def test_an_error_is_a_status_with_what_belongs_to_its_code() -> None:
    """Reason by code, Retry-After as header and, in seconds, in the details."""
    error = Error(code=429, retry_after=7).status(_asked("get"))
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.headers == (("Retry-After", "7"),)
    assert error.status["details"] == {"retryAfterSeconds": 7}
    text = Error(code=503, retry_after="Fri, 31 Dec 1999 23:59:59 GMT").status(_asked("get"))
    assert text.headers == (("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"),)
    assert "details" not in text.status
    own = Error(code=599, reason="Odd", message="as you like").status(_asked("get"))
    assert (own.reason, own.status["message"], own.headers) == ("Odd", "as you like", ())


def test_conflict_and_denial_read_as_the_servers_own() -> None:
    """The texts that clients show are those of a real server."""
    conflict = Conflict().status(_asked("update")).status
    assert conflict["message"].startswith(
        'Operation cannot be fulfilled on deployments.apps "web": the object'
    )
    assert conflict["details"] == {"name": "web", "group": "apps", "kind": "deployments"}
    denied = Deny().status(_asked("create")).status
    assert 'User "alice" cannot create resource "deployments" in API group "apps"' in denied["message"]


def test_what_sees_the_past() -> None:
    """Reads that name a version are answered from a watch cache, others only when that is asked for."""
    assert Lag().answers_from_the_past(_asked("list", resource_version="0"))
    assert not Lag().answers_from_the_past(_asked("list"))
    assert Lag(consistent_reads=True).answers_from_the_past(_asked("get"))


def test_a_fault_is_json() -> None:
    """The tag names the kind, names are camel case, and unknown fields and values are refused."""
    decoder = msgspec.json.Decoder(AnyFault)
    fault = decoder.decode(b'{"fault":"error","code":503,"retryAfter":2,"userAgent":"x*","count":1}')
    assert fault == Error(code=503, retry_after=2, user_agent="x*", count=1)
    assert msgspec.json.decode(msgspec.json.encode(fault)) == {
        "fault": "error",
        "code": 503,
        "retryAfter": 2,
        "userAgent": "x*",
        "count": 1,
    }
    for wrong in (
        b'{"fault":"error","code":200}',
        b'{"fault":"error","cod":500}',
        b'{"fault":"nonsense"}',
        b'{"fault":"latency"}',
        b'{"fault":"drop-watch","how":"politely"}',
        b'{"fault":"deny","count":0}',
        b'{"fault":"deny","seconds":0}',
    ):
        with pytest.raises(msgspec.ValidationError):
            decoder.decode(wrong)
