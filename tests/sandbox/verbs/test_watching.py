from __future__ import annotations

from support.local_server import LocalServer, widget, with_widgets


def _server() -> tuple[LocalServer, str]:
    server = LocalServer(history_size=4)
    path = with_widgets(server)
    server.request("POST", path, widget("a"))
    return server, path


def _kinds(server: LocalServer, path: str) -> list[str]:
    return [event["type"] for event in server.events(server.watch(path))]


def test_where_a_watch_begins() -> None:
    """No version and 0 begin with what is there, a version begins after it."""
    server, path = _server()
    rv = server.request("GET", f"{path}/a").body["metadata"]["resourceVersion"]
    assert _kinds(server, f"{path}?watch=1") == ["ADDED"]
    assert _kinds(server, f"{path}?watch=1&resourceVersion=0") == ["ADDED"]
    assert _kinds(server, f"{path}?watch=1&resourceVersion={rv}") == []
    assert _kinds(server, f"{path}?watch=1&resourceVersion={int(rv) - 1}") == ["ADDED"]


def test_initial_events_on_request() -> None:
    """With sendInitialEvents the state comes first whatever the version; a bookmark needs permission."""
    server, path = _server()
    query = f"{path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    assert _kinds(server, query) == ["ADDED"]
    assert _kinds(server, f"{query}&allowWatchBookmarks=true") == ["ADDED", "BOOKMARK"]
    assert _kinds(server, f"{query}&resourceVersion=1&allowWatchBookmarks=true") == ["ADDED", "BOOKMARK"]
    declined = query.replace("=true", "=false")
    assert _kinds(server, declined) == []


def test_versions_that_are_gone() -> None:
    """A version before the history is an ERROR event, and the stream is over."""
    server, path = _server()
    watcher = server.watch(f"{path}?watch=1&resourceVersion=1")
    (event,) = server.events(watcher)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watcher.ended


def test_events_expire_with_compaction() -> None:
    """Events are read from storage: a compacted version is gone for them, with other words."""
    server = LocalServer()
    base = "/api/v1/namespaces/default/events"
    for name in "ab":
        body = {"metadata": {"name": name}, "involvedObject": {"namespace": "default"}}
        server.request("POST", base, body)
    rv = server.request("GET", f"{base}/a").body["metadata"]["resourceVersion"]
    server.engine.compact()
    (event,) = server.events(server.watch(f"{base}?watch=1&resourceVersion={rv}"))
    assert event["object"]["message"] == "The resourceVersion for the provided watch is too old."


def test_how_long_a_watch_lasts() -> None:
    """A timeout is kept to; without it a stream lasts between half an hour and an hour."""
    server, path = _server()
    short = server.watch(f"{path}?watch=1&timeoutSeconds=5")
    assert short.subscription.deadline == server.clock.now + 5
    long = server.watch(f"{path}?watch=1")
    assert 1800 <= long.subscription.deadline - server.clock.now <= 3600


def test_one_object_can_be_watched() -> None:
    """The old path of a watch on one object selects it by name."""
    server, path = _server()
    server.request("POST", path, widget("b"))
    old = path.replace("/v1/", "/v1/watch/")
    events = server.events(server.watch(f"{old}/b"))
    assert [event["object"]["metadata"]["name"] for event in events] == ["b"]


def test_bookmarks_look_like_their_kind() -> None:
    """A bookmark has kind, version and the members that the kind never leaves out."""
    server = LocalServer()
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    (bookmark,) = server.events(server.watch(f"/api/v1/namespaces/default/pods?{query}"))
    assert bookmark["object"]["kind"] == "Pod"
    assert bookmark["object"]["status"] == {}
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
