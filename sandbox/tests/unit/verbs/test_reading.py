from __future__ import annotations

import random
from urllib.parse import quote

from support.servers.local_server import LocalServer, widget, with_widgets


def _names(server: LocalServer, path: str) -> list[str]:
    answer = server.request("GET", path)
    assert answer.status == 200, answer
    return [item["metadata"]["name"] for item in answer.body["items"]]


def _filled(count: int, *, history_size: int = 1000) -> tuple[LocalServer, str]:
    server = LocalServer(history_size=history_size)
    path = with_widgets(server)
    for number in range(count):
        server.request("POST", path, widget(f"w{number}", metadata={"labels": {"odd": str(number % 2)}}))
    return server, path


def test_paging_sees_one_snapshot_in_spite_of_changes() -> None:
    """The pages of a list together are the state at its first page, for any size and any writes between."""
    source = random.Random(3)
    for size in (1, 2, 3, 7):
        server, path = _filled(7)
        expected = _names(server, path)
        seen: list[str] = []
        query = f"limit={size}"
        while True:
            page = server.request("GET", f"{path}?{query}").body
            seen += [item["metadata"]["name"] for item in page["items"]]
            if not page["metadata"]["continue"]:
                break
            left = len(expected) - len(seen)
            assert page["metadata"]["remainingItemCount"] == left
            query = f"limit={size}&continue={quote(page['metadata']['continue'])}"
            server.request("DELETE", f"{path}/w{source.randrange(7)}")
            server.request("POST", path, widget(f"new{source.randrange(100)}"))
        assert seen == expected


def test_the_history_bounds_the_past() -> None:
    """A version older than the history is 410, a version in it is shown exactly."""
    server, path = _filled(3, history_size=2)
    newest = int(server.request("GET", path).body["metadata"]["resourceVersion"])
    for back, status in ((1, 200), (2, 200), (3, 410)):
        query = f"resourceVersion={newest - back}&resourceVersionMatch=Exact"
        assert server.request("GET", f"{path}?{query}").status == status


def test_limits_at_version_zero_and_with_legacy_versions() -> None:
    """At version 0 the limit is ignored; a version with a limit and no match is exact."""
    server, path = _filled(3)
    then = server.request("GET", f"{path}/w1").body["metadata"]["resourceVersion"]
    assert _names(server, f"{path}?resourceVersion=0&limit=1") == ["w0", "w1", "w2"]
    assert _names(server, f"{path}?resourceVersion={then}&limit=5") == ["w0", "w1"]
    assert _names(server, f"{path}?resourceVersion={then}") == ["w0", "w1", "w2"]


def test_names_are_found_without_looking_at_everything() -> None:
    """Selecting by name works in one namespace and across all."""
    server, path = _filled(3)
    assert _names(server, f"{path}?fieldSelector=metadata.name%3Dw1") == ["w1"]
    assert _names(server, "/apis/example.com/v1/widgets?fieldSelector=metadata.name%3Dw1") == ["w1"]
    assert _names(server, f"{path}?fieldSelector=metadata.name%3Dnone") == []


def _server() -> tuple[LocalServer, str]:
    server = LocalServer(history_size=4)
    path = with_widgets(server)
    server.request("POST", path, widget("a"))
    return server, path


def _kinds(server: LocalServer, path: str) -> list[str]:
    return [event["type"] for event in server.events(server.watch(path))]


def test_where_a_watch_begins() -> None:
    """No version and 0 begin with the present objects, a version begins after it."""
    server, path = _server()
    rv = server.request("GET", f"{path}/a").body["metadata"]["resourceVersion"]
    assert _kinds(server, f"{path}?watch=1") == ["ADDED"]
    assert _kinds(server, f"{path}?watch=1&resourceVersion=0") == ["ADDED"]
    assert _kinds(server, f"{path}?watch=1&resourceVersion={rv}") == []
    assert _kinds(server, f"{path}?watch=1&resourceVersion={int(rv) - 1}") == ["ADDED"]


def test_initial_events_on_request() -> None:
    """With sendInitialEvents the state comes first for any version; a bookmark needs permission."""
    server, path = _server()
    query = f"{path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    assert _kinds(server, query) == ["ADDED"]
    assert _kinds(server, f"{query}&allowWatchBookmarks=true") == ["ADDED", "BOOKMARK"]
    assert _kinds(server, f"{query}&resourceVersion=1&allowWatchBookmarks=true") == ["ADDED", "BOOKMARK"]
    declined = query.replace("=true", "=false")
    assert _kinds(server, declined) == []


def test_how_long_a_watch_lasts() -> None:
    """A timeout is kept to; without it a stream lasts between half an hour and an hour."""
    server, path = _server()
    short = server.watch(f"{path}?watch=1&timeoutSeconds=5")
    assert short.subscription.deadline == server.clock.now + 5
    long = server.watch(f"{path}?watch=1")
    assert 1800 <= long.subscription.deadline - server.clock.now <= 3600


def test_bookmarks_look_like_their_kind(server: LocalServer) -> None:
    """A bookmark has kind, version and the members that the kind never leaves out."""
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    (bookmark,) = server.events(server.watch(f"/api/v1/namespaces/default/pods?{query}"))
    assert bookmark["object"]["kind"] == "Pod"
    assert bookmark["object"]["status"] == {}
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
