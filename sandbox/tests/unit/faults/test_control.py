from __future__ import annotations

import pytest

from handloop_sandbox.faults import control
from handloop_sandbox.requests.request import User
from support.servers.local_server import LocalServer

_MAPS = "/api/v1/namespaces/default/configmaps"
_FAULTS = "/sandbox/faults"


def test_faults_are_added_listed_and_cleared(server: LocalServer) -> None:
    """POST, GET and DELETE, as curl would."""
    added = server.request("POST", _FAULTS, {"fault": "error", "code": 503, "verbs": ["list"]})
    assert (added.status, added.body["id"]) == (201, "f1")
    assert server.request("GET", _MAPS).status == 503
    listed = server.request("GET", _FAULTS)
    assert listed.body == {
        "items": [{"id": "f1", "fault": "error", "code": 503, "verbs": ["list"], "hits": 1}]
    }
    server.request("POST", _FAULTS, {"fault": "deny"})
    assert server.request("DELETE", f"{_FAULTS}/f1").status == 200
    assert server.request("GET", _MAPS).status == 403
    assert server.request("DELETE", _FAULTS).body["details"] == {"cleared": 1}
    assert server.request("GET", _MAPS).status == 200


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"fault": "error", "code": 99}, "Expected `int` >= 400 - at `$.code`"),
        ({"fault": "magic"}, "Invalid value 'magic'"),
        ({"fault": "deny", "verb": "get"}, "unknown field `verb`"),
        ({}, "missing required field `fault`"),
        (b"{", "Input data was truncated"),
    ],
)
def test_nonsense_is_reported(body: object, text: str) -> None:
    """400 with the place and the reason."""
    answer = LocalServer().request("POST", _FAULTS, body)
    assert answer.status == 400
    assert text in answer.message


def test_numbers_may_come_as_text(server: LocalServer) -> None:
    """A shell script need not care."""
    assert server.request("POST", _FAULTS, {"fault": "latency", "delaySeconds": "0.5"}).status == 201


def test_compact_and_rewind(server: LocalServer) -> None:
    """Both act at once; a version that is forgotten is 400."""
    server.request("POST", _MAPS, {"metadata": {"name": "a"}})
    before = str(server.engine.version() - 1)
    rewound = server.request("POST", "/sandbox/rewind", {"changes": 1})
    assert (rewound.status, rewound.body) == (200, {"resourceVersion": before})
    assert server.request("GET", f"{_MAPS}/a").status == 404
    server.request("POST", _MAPS, {"metadata": {"name": "b"}})
    assert server.request("POST", "/sandbox/compact").status == 200
    refused = server.request("POST", "/sandbox/rewind", {"resourceVersion": before})
    assert (refused.status, "is forgotten" in refused.message) == (400, True)
    assert server.request("POST", "/sandbox/rewind", {}).status == 400
    assert server.request("POST", "/sandbox/compact", {"resourceVersion": "1"}).status == 200


def test_other_paths_and_methods(server: LocalServer) -> None:
    """404 for a missing one, 405 for a method that it does not have."""
    assert server.request("GET", "/sandbox/nonsense").status == 404
    assert server.request("GET", "/sandbox").status == 404
    assert server.request("DELETE", f"{_FAULTS}/f9").status == 404
    assert server.request("PUT", _FAULTS, {}).status == 405
    assert server.request("GET", "/sandbox/rewind").status == 405


def test_only_administrators_break_things() -> None:
    """Others get 403, strangers 401."""
    users = {"a": User("alice", ("system:masters",)), "b": User("bob", ("system:authenticated",))}
    server = LocalServer(users=users)
    assert server.request("GET", _FAULTS, authorization="Bearer a").status == 200
    assert server.request("GET", _FAULTS, authorization="Bearer b").status == 403
    assert server.request("GET", _FAULTS).status == 403
    assert server.request("GET", _FAULTS, authorization="Bearer c").status == 401
    assert server.request("GET", "/a/sandbox/faults").status == 200


def test_the_prefix_is_a_whole_word() -> None:
    """`/sandboxes` is another path."""
    assert control.concerns("/sandbox")
    assert control.concerns("/sandbox/faults")
    assert not control.concerns("/sandboxes")
    assert not control.concerns("/api/sandbox")
