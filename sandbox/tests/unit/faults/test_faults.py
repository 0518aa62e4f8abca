from __future__ import annotations

import json
from typing import Any, cast

import pytest

from handloop_sandbox.engine import Stream
from handloop_sandbox.faults.fault import Error
from handloop_sandbox.faults.faults import LostAnswerError, NoAnswerError, Where
from handloop_sandbox.requests.request import Request, User
from support.servers.local_server import LocalServer, with_widgets

_MAPS = "/api/v1/namespaces/default/configmaps"


def _create(server: LocalServer, name: str) -> int:
    answer = server.request("POST", _MAPS, {"metadata": {"name": name}})
    assert answer.status == 201, answer
    return int(answer.body["metadata"]["resourceVersion"])


def _names(server: LocalServer, query: str = "") -> list[str]:
    return [item["metadata"]["name"] for item in server.request("GET", f"{_MAPS}{query}").body["items"]]


def test_errors_come_instead_of_answers(server: LocalServer) -> None:
    """The request is not carried out; after count requests all is well again, and nothing is listed."""
    faults = server.engine.faults
    error = faults.error(503, retry_after=2, verbs=["create"], count=2)
    for _ in range(2):
        refused = server.request("POST", _MAPS, {"metadata": {"name": "a"}})
        assert (refused.status, refused.body["reason"]) == (503, "ServiceUnavailable")
        assert ("Retry-After", "2") in refused.headers
    assert _names(server) == []
    assert error.hits == 2
    assert faults.list() == []
    _create(server, "a")


def test_the_first_fault_that_refuses_answers(server: LocalServer) -> None:
    """Later ones are not used up by it."""
    first, second = server.engine.faults.error(500, count=1), server.engine.faults.deny(count=1)
    assert server.request("GET", _MAPS).status == 500
    assert second.hits == 0
    assert server.request("GET", _MAPS).status == 403
    assert (first.hits, second.hits) == (1, 1)
    assert server.request("GET", _MAPS).status == 200


def test_conflicts_and_denials(server: LocalServer) -> None:
    """An update is refused as too late, a user as without a right; reading goes on."""
    _create(server, "a")
    with server.engine.faults.conflict(resources=["configmaps"]):
        refused = server.request("PUT", f"{_MAPS}/a", {"metadata": {"name": "a"}})
        assert (refused.status, refused.body["reason"]) == (409, "Conflict")
        assert server.request("GET", f"{_MAPS}/a").status == 200
    assert server.request("PUT", f"{_MAPS}/a", {"metadata": {"name": "a"}}).status == 200
    server.engine.faults.deny(verbs=["list"], user="sandbox-*")
    assert 'User "sandbox-admin" cannot list resource "configmaps"' in server.request("GET", _MAPS).message


def test_a_fault_ends_with_its_time(server: LocalServer) -> None:
    """After seconds of the clock it is over, and the engine knows when that is."""
    error = server.engine.faults.error(seconds=5)
    assert server.engine.tick() == server.clock.now + 5
    assert server.request("GET", _MAPS).status == 500
    server.clock.now += 5
    assert server.request("GET", _MAPS).status == 200
    assert error.over
    assert server.engine.tick() is None


def test_faults_are_listed_and_cleared(server: LocalServer) -> None:
    """One by one or all together; clearing once more does nothing."""
    faults = server.engine.faults
    first, second = faults.deny(), faults.inject(Error(code=500))
    assert [injection.id for injection in faults.list()] == [first.id, second.id] == ["f1", "f2"]
    first.clear()
    first.clear()
    assert [injection.id for injection in faults.list()] == ["f2"]
    assert server.request("GET", _MAPS).status == 500
    assert faults.clear() == 1
    assert faults.clear("f2") == 0
    assert server.request("GET", _MAPS).status == 200


@pytest.mark.parametrize("name", ["verbs", "resources"])
def test_one_name_is_a_list_of_one(name: str) -> None:
    """A str is refused: none of its letters would be met."""
    faults, where = LocalServer().engine.faults, cast("Where", {name: "get"})
    with pytest.raises(TypeError, match=rf"{name} must be a list of names, such as \['get'\], not a str"):
        faults.error(500, **where)
    assert faults.list() == []


def test_lost_answers(server: LocalServer) -> None:
    """The write happens, or does not, and no answer comes either way."""
    heard: list[int] = []
    server.engine.listen(lambda: heard.append(1))
    server.engine.faults.lose_answer(count=1)
    heard.clear()
    with pytest.raises(LostAnswerError):
        server.request("POST", _MAPS, {"metadata": {"name": "a"}})
    assert _names(server) == ["a"]
    assert heard == [1]
    server.engine.faults.lose_answer(executed=False, count=1)
    with pytest.raises(LostAnswerError):
        server.request("POST", _MAPS, {"metadata": {"name": "b"}})
    assert _names(server) == ["a"]


def test_a_watch_that_never_began_is_forgotten(server: LocalServer) -> None:
    """No reader will ever take its lines."""
    server.engine.faults.lose_answer(verbs=["watch"], count=1)
    with pytest.raises(LostAnswerError):
        server.watch(f"{_MAPS}?watch=1&allowWatchBookmarks=true")
    assert server.engine.tick() is None


def test_answers_that_never_come(server: LocalServer) -> None:
    """A named verb is carried out, or not, without an answer."""
    with server.engine.faults.silence(verbs=["create"]), pytest.raises(NoAnswerError):
        server.request("POST", _MAPS, {"metadata": {"name": "a"}})
    with server.engine.faults.silence(verbs=["create"], executed=False), pytest.raises(NoAnswerError):
        server.request("POST", _MAPS, {"metadata": {"name": "b"}})
    assert _names(server) == ["a"]


def test_latency_is_reported_to_the_waiting_client() -> None:
    """The sum of the faults' delays, each within its jitter, repeatable by the seed."""
    delays = []
    for _ in range(2):
        server = LocalServer(seed=5)
        request = Request("GET", _MAPS)
        assert server.engine.delay(request) == 0.0
        server.engine.faults.latency(0.5, jitter_seconds=1.0, verbs=["list"], count=3)
        server.engine.faults.latency(2.0)
        delays.append([server.engine.delay(request) for _ in range(4)])
    assert delays[0] == delays[1]
    assert all(2.5 <= delay < 3.5 for delay in delays[0][:3])
    assert delays[0][3] == 2.0


def test_a_lag_shows_the_past_to_reads_from_the_cache(server: LocalServer) -> None:
    """Lists at version 0 and watches see the world as it was; reads without a version ask the store."""
    _create(server, "a")
    lag = server.engine.faults.lag()
    newer = _create(server, "b")
    assert _names(server, "?resourceVersion=0") == ["a"]
    assert _names(server) == ["a", "b"]
    assert server.request("GET", f"{_MAPS}/b?resourceVersion=0").status == 404
    behind = server.request("GET", f"{_MAPS}?resourceVersion={newer}&resourceVersionMatch=NotOlderThan")
    assert (behind.status, behind.body["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")
    watch = server.watch(f"{_MAPS}?watch=1&resourceVersion=0")
    assert [event["object"]["metadata"]["name"] for event in server.events(watch)] == ["a"]
    lag.clear()
    assert _names(server, "?resourceVersion=0") == ["a", "b"]
    assert [event["object"]["metadata"]["name"] for event in server.events(watch)] == ["b"]


def test_a_lag_ends_at_the_beginning(server: LocalServer) -> None:
    """With more changes than there were, reads see the first version, from which a watch can go on."""
    path = with_widgets(server)
    server.engine.faults.lag(1000)
    rv = server.request("GET", f"{path}?resourceVersion=0").body["metadata"]["resourceVersion"]
    assert server.events(server.watch(f"{path}?watch=1&resourceVersion={rv}")) == []


def test_a_lag_may_show_the_past_to_all(server: LocalServer) -> None:
    """With consistent_reads lists and gets without a version are stale, too, some changes behind."""
    for name in ("a", "b", "c"):
        _create(server, name)
    server.engine.faults.lag(2, consistent_reads=True)
    assert _names(server) == ["a"]
    _create(server, "d")
    assert _names(server) == ["a", "b"]
    listed = server.request("GET", _MAPS).body["metadata"]["resourceVersion"]
    assert int(listed) == server.engine.version() - 2


def test_writes_are_not_behind(server: LocalServer) -> None:
    """A lagging server writes to the same store: a stale version is a conflict, an old name is taken."""
    server.engine.faults.lag(consistent_reads=True)
    _create(server, "a")
    assert server.request("POST", _MAPS, {"metadata": {"name": "a"}}).status == 409
    assert _names(server) == []


def test_a_lag_with_a_count_is_for_so_many_answers(server: LocalServer) -> None:
    """Watches are not held back by it."""
    watch = server.watch(f"{_MAPS}?watch=1")
    server.engine.faults.lag(count=1)
    _create(server, "a")
    assert _names(server, "?resourceVersion=0") == []
    assert _names(server, "?resourceVersion=0") == ["a"]
    assert len(server.events(watch)) == 1


def test_a_lists_next_page_expires(server: LocalServer) -> None:
    """Its continue token answers 410; the list can be begun again."""
    for name in ("a", "b"):
        _create(server, name)
    token = server.request("GET", f"{_MAPS}?limit=1").body["metadata"]["continue"]
    server.engine.faults.expire(count=1)
    refused = server.request("GET", f"{_MAPS}?limit=1&continue={token}")
    assert (refused.status, refused.body["reason"]) == (410, "Expired")
    assert server.request("GET", f"{_MAPS}?limit=1&continue={token}").status == 200


def test_a_watch_that_continues_expires(server: LocalServer) -> None:
    """As an event in the stream, or as the status; one that begins now is not too old."""
    version = _create(server, "a")
    with server.engine.faults.expire():
        fresh = server.watch(f"{_MAPS}?watch=1")
        assert [event["type"] for event in server.events(fresh)] == ["ADDED"]
        (event,) = server.events(server.watch(f"{_MAPS}?watch=1&resourceVersion={version}"))
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == (
            "ERROR",
            410,
            "Expired",
        )
    with server.engine.faults.expire(as_status=True):
        refused = server.request("GET", f"{_MAPS}?watch=1&resourceVersion={version}")
        assert (refused.status, refused.body["reason"]) == (410, "Expired")
    assert not fresh.ended


@pytest.mark.parametrize("as_status", [False, True])
def test_a_streamed_list_does_not_expire(server: LocalServer, as_status: bool) -> None:
    """A watch that begins with the present objects is not too old, whatever version it names."""
    rv = _create(server, "a")
    server.engine.faults.expire(as_status=as_status)
    query = f"watch=1&resourceVersion={rv}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    assert [event["type"] for event in server.events(server.watch(f"{_MAPS}?{query}"))] == ["ADDED"]
    expired = server.send("GET", f"{_MAPS}?watch=1&resourceVersion={rv}")
    assert isinstance(expired, Stream) is not as_status


def test_compaction_forgets_what_was(server: LocalServer) -> None:
    """Older versions are 410 for watches and lists; a watch that is open and up to date goes on."""
    old = _create(server, "a")
    watch = server.watch(f"{_MAPS}?watch=1")
    _create(server, "b")
    assert len(server.events(watch)) == 2
    server.engine.faults.compact()
    (event,) = server.events(server.watch(f"{_MAPS}?watch=1&resourceVersion={old}"))
    assert event["object"]["reason"] == "Expired"
    exact = f"{_MAPS}?resourceVersion={old}&resourceVersionMatch=Exact"
    assert server.request("GET", exact).status == 410
    _create(server, "c")
    assert len(server.events(watch)) == 1


def test_a_rewind_brings_an_older_state_back(server: LocalServer) -> None:
    """Created objects are gone, deleted and changed ones are back, watches end, versions are reused."""
    _create(server, "kept")
    version = _create(server, "gone")
    watch = server.watch(f"{_MAPS}?watch=1")
    server.request("DELETE", f"{_MAPS}/gone")
    server.request(
        "PATCH", f"{_MAPS}/kept", {"data": {"k": "v"}}, content_type="application/merge-patch+json"
    )
    uid = _create(server, "new")
    assert server.engine.faults.rewind(changes=3) == version
    assert _names(server) == ["gone", "kept"]
    assert "data" not in server.request("GET", f"{_MAPS}/kept").body
    server.events(watch)
    assert watch.ended
    assert _create(server, "other") == version + 1 < uid
    (event,) = server.events(server.watch(f"{_MAPS}?watch=1&resourceVersion={version}"))
    assert event["object"]["metadata"]["name"] == "other"


def test_a_rewind_takes_definitions_along(server: LocalServer) -> None:
    """A CRD created since is not served any more, and can be created again."""
    before = server.engine.version()
    path = with_widgets(server)
    assert server.request("GET", path).status == 200
    server.engine.faults.rewind(resource_version=before)
    assert server.request("GET", path).status == 404
    assert with_widgets(server) == path
    assert server.request("GET", path).status == 200


def test_a_rewind_needs_a_memory(server: LocalServer) -> None:
    """A version that is forgotten, or in the future, is refused; and one of the two arguments is enough."""
    old = _create(server, "a")
    _create(server, "b")
    server.engine.faults.compact()
    for wrong in (
        {"resource_version": old},
        {"resource_version": 10**6},
        {"changes": 1, "resource_version": 1},
        {},
    ):
        arguments: dict[str, Any] = wrong
        with pytest.raises(ValueError, match=r"."):
            server.engine.faults.rewind(**arguments)
    assert _names(server) == ["a", "b"]


def test_faults_do_not_touch_the_sandboxs_own_paths(server: LocalServer) -> None:
    """Otherwise they could not be cleared."""
    server.engine.faults.error()
    server.engine.faults.latency(100)
    assert server.request("DELETE", "/sandbox/faults").status == 200
    assert server.engine.delay(Request("GET", "/sandbox/faults")) == 0.0
    assert server.request("GET", _MAPS).status == 200


def test_faults_know_users() -> None:
    """A fault for one user spares the others, and strangers are refused as ever."""
    users = {"a": User("alice", ("system:masters",)), "b": User("bob", ("system:masters",))}
    server = LocalServer(users=users)
    server.engine.faults.error(user="alice")
    server.engine.faults.latency(1, user="alice")
    assert server.request("GET", _MAPS, authorization="Bearer a").status == 500
    assert server.request("GET", _MAPS, authorization="Bearer b").status == 200
    assert server.request("GET", _MAPS, authorization="Bearer c").status == 401
    headers = {"authorization": "Bearer c"}
    assert server.engine.delay(Request("GET", _MAPS, headers=headers)) == 0.0


def test_only_open_watches_are_hit_when_asked_so(server: LocalServer) -> None:
    """Those opened later are spared; the fault is over at once."""
    before = server.watch(f"{_MAPS}?watch=1")
    server.events(before)
    dropped = server.engine.faults.drop_watches(only_open=True)
    after = server.watch(f"{_MAPS}?watch=1")
    assert (server.events(before), before.ended) == ([], True)
    assert (server.events(after), after.ended) == ([], False)
    assert dropped.hits == 1
    assert server.engine.faults.list() == []


def test_an_answer_without_faults_is_what_it_was(server: LocalServer) -> None:
    """A watch opened and read with no fault in sight is the bare stream."""
    stream = server.send("GET", f"{_MAPS}?watch=1")
    assert isinstance(stream, Stream)
    _create(server, "a")
    (line,) = server.engine.take(stream.watcher)
    assert json.loads(line)["type"] == "ADDED"
