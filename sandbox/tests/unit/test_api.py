from __future__ import annotations

import random

import pytest

from handloop_sandbox import api
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests.documents import Site
from handloop_sandbox.requests.request import Context, Outcome, Request, Response, User
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from support.servers.local_server import LocalServer, widget, with_widgets

_MASTER = User("root", ("system:masters",))


def _outcome(request: Request, store: Store) -> Outcome:
    context = Context(0.0, _MASTER, random.Random(1), lambda: "uid")
    site = Site(store, Catalog(builtin_resources()), "127.0.0.1", lambda: "")
    return api.handle(site, request, context)


def _content(outcome: Outcome) -> bytes:
    assert isinstance(outcome.response, Response)
    return outcome.response.content()


def test_the_api_is_a_function(store: Store) -> None:
    """The same state, request and context give the same answer and the same changes; the state stays."""
    request = Request("POST", "/api/v1/namespaces", body=b'{"metadata":{"generateName":"n-"}}')
    first, second = _outcome(request, store), _outcome(request, store)
    assert _content(first) == _content(second)
    assert [(c.type, c.key, c.new.tail) for c in first.changes] == [
        (c.type, c.key, c.new.tail) for c in second.changes
    ]
    assert store.count(first.changes[0].group_resource) == 0
    store.commit(first.changes)
    assert store.count(first.changes[0].group_resource) == 1


def test_refusals_are_answers(store: Store) -> None:
    """Whatever is refused is an answer without changes."""
    for path, status in (("/api/v1/namespaces/x", 404), ("/nowhere", 404), ("/api/v1/things", 404)):
        outcome = _outcome(Request("GET", path), store)
        assert isinstance(outcome.response, Response)
        assert (outcome.response.status, outcome.changes) == (status, ())


def test_bodies_are_bounded() -> None:
    """A body over the limit is 413."""
    body = b"x" * (api.MAX_BODY_BYTES + 1)
    outcome = _outcome(Request("POST", "/api/v1/namespaces", body=body), Store())
    assert isinstance(outcome.response, Response)
    assert outcome.response.status == 413


@pytest.mark.parametrize(
    ("method", "suffix", "status"),
    [
        ("GET", "/a/nosuch", 404),
        ("POST", "/a/status", 405),
        ("DELETE", "/a/status", 405),
        ("PUT", "", 400),
        ("PATCH", "", 400),
        ("GET", "/a/scale/more", 200),
        ("GET", "/a/status", 200),
    ],
)
def test_paths_of_custom_resources(server: LocalServer, method: str, suffix: str, status: int) -> None:
    """Custom resources answer wrong subresources and methods in ways of their own."""
    path = with_widgets(server)
    server.request("POST", path, widget("a"))
    assert server.request(method, f"{path}{suffix}", {} if method != "GET" else None).status == status


def test_warnings_go_with_refusals(server: LocalServer) -> None:
    """Warnings from before a refusal are still sent."""
    path = with_widgets(server)
    refused = server.request("POST", path, widget("A", bogus=1))
    assert refused.status == 422
    assert ("Warning", '299 - "unknown field \\"spec.bogus\\""') in refused.headers


def test_a_user_without_access_is_refused_first() -> None:
    """Access is checked before the path, so that nothing is revealed."""
    server = LocalServer(users={"a": User("alice", ("system:authenticated",))})
    refused = server.request("GET", "/apis/nosuch.example.com/v1/things", authorization="Bearer a")
    assert refused.message.startswith('things.nosuch.example.com is forbidden: User "alice" cannot list')
    watching = server.request("GET", "/api/v1/pods?watch=1", authorization="Bearer a")
    assert "cannot watch resource" in watching.message


def test_head_is_get() -> None:
    """HEAD is answered like GET where it is answered at all, which for built-in resources it is not."""
    assert LocalServer().request("HEAD", "/apis").status == 200
    assert LocalServer().request("HEAD", "/api/v1/namespaces").status == 405


def test_methods_that_have_no_verb(server: LocalServer) -> None:
    """OPTIONS on a custom resource is 405, as for every other."""
    path = with_widgets(server)
    answer = server.request("OPTIONS", f"{path}/a")
    assert (answer.status, answer.message.partition(" on ")[0]) == (405, " is not supported")
