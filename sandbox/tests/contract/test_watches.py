from __future__ import annotations

import json
from typing import Any

from support.builders.widgets import CRDS, Widgets, definition, wait_until_served
from support.servers.api_server import APIServer

_WATCH = "watch=1&timeoutSeconds=30"


def _seen(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def test_a_life_is_seen_in_order(widgets: Widgets) -> None:
    """From a list's version, a watch sees every step of a life in order, versions rising."""
    start = widgets.server.get(widgets.path).rv
    with widgets.server.watch(f"{widgets.path}?{_WATCH}&resourceVersion={start}") as watch:
        widgets.create("a", metadata={"finalizers": ["example.com/f"]})
        path = f"{widgets.path}/a"
        widgets.server.patch(path, {"spec": {"size": 4}})
        widgets.server.patch(f"{path}/status", {"status": {"phase": "Ready"}})
        widgets.server.delete(path)
        widgets.server.patch(path, {"metadata": {"finalizers": None}})
        events = watch.count(5)
    assert [kind for kind, _ in _seen(events)] == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    last = events[-1]["object"]["metadata"]
    assert last["finalizers"] == ["example.com/f"]


def test_a_watch_continues_where_another_stopped(widgets: Widgets) -> None:
    """From the version of an event, a new watch sees exactly the events after it."""
    first = widgets.create("a")
    widgets.create("b")
    widgets.server.delete(f"{widgets.path}/a")
    with widgets.server.watch(f"{widgets.path}?{_WATCH}&resourceVersion={first.rv}") as watch:
        assert _seen(watch.count(2)) == [("ADDED", "b"), ("DELETED", "a")]


def test_without_a_version_the_present_comes_first(widgets: Widgets) -> None:
    """Version 0 and no version begin with ADDED for the present objects, then go on."""
    widgets.create("a")
    for query in ("", "&resourceVersion=0"):
        with widgets.server.watch(f"{widgets.path}?{_WATCH}{query}") as watch:
            watch.until(lambda events: ("ADDED", "a") in _seen(events))
            widgets.server.patch(f"{widgets.path}/a", {"metadata": {"labels": {"q": query[1:4] or "none"}}})
            watch.until(lambda events: _seen(events)[-1] == ("MODIFIED", "a"))


def test_entering_and_leaving_a_selection(widgets: Widgets) -> None:
    """An object that stops matching is DELETED as it was, at the new version; coming back is ADDED."""
    created = widgets.create("a", metadata={"labels": {"on": "yes"}})
    path = f"{widgets.path}/a"
    query = f"{_WATCH}&labelSelector=on%3Dyes&resourceVersion={created.rv}"
    with widgets.server.watch(f"{widgets.path}?{query}") as watch:
        left = widgets.server.patch(path, {"metadata": {"labels": {"on": "no"}}})
        widgets.server.patch(path, {"spec": {"size": 5}})
        widgets.server.patch(path, {"metadata": {"labels": {"on": "yes"}}})
        events = watch.count(2)
    assert _seen(events) == [("DELETED", "a"), ("ADDED", "a")]
    gone = events[0]["object"]["metadata"]
    assert (gone["labels"], gone["resourceVersion"]) == ({"on": "yes"}, left.rv)
    assert events[1]["object"]["spec"]["size"] == 5


def test_field_selectors_watch_one_object(widgets: Widgets) -> None:
    """A watch on metadata.name sees that object only."""
    start = widgets.server.get(widgets.path).rv
    query = f"{_WATCH}&fieldSelector=metadata.name%3Db&resourceVersion={start}"
    with widgets.server.watch(f"{widgets.path}?{query}") as watch:
        widgets.create("a")
        widgets.create("b")
        assert _seen(watch.count(1)) == [("ADDED", "b")]


def test_the_server_ends_a_watch_in_time(widgets: Widgets) -> None:
    """The stream ends cleanly after timeoutSeconds."""
    start = widgets.server.get(widgets.path).rv
    with widgets.server.watch(f"{widgets.path}?watch=1&timeoutSeconds=1&resourceVersion={start}") as watch:
        assert watch.status == 200
        assert watch.finish(seconds=10) == []


def test_a_version_too_old_is_an_error_event(widgets: Widgets) -> None:
    """A watch from before the history is 200 with one ERROR event, 410 Expired, and ends."""
    with widgets.server.watch(f"{widgets.path}?{_WATCH}&resourceVersion=1") as watch:
        assert watch.status == 200
        (event,) = watch.finish()
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: 1 (")


def test_a_version_of_the_future_is_silent(widgets: Widgets) -> None:
    """A watch from a version that does not exist yet is 200 and stays silent."""
    query = "watch=1&timeoutSeconds=1&resourceVersion=99999999999"
    with widgets.server.watch(f"{widgets.path}?{query}") as watch:
        widgets.create("a")
        assert watch.finish(seconds=10) == []


def test_initial_events_of_the_future_are_an_error_event(widgets: Widgets) -> None:
    """A streamed list from a version that does not exist yet sends no events, but the list's 504."""
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999999"
    widgets.create("a")
    with widgets.server.watch(f"{widgets.path}?{_WATCH}&{query}") as watch:
        (event,) = watch.finish()
    status = event["object"]
    assert (event["type"], status["code"], status["reason"]) == ("ERROR", 504, "Timeout")
    assert status["message"].startswith("Timeout: Too large resource version: 99999999999, current: ")
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    assert status["details"] == {"causes": [cause], "retryAfterSeconds": 1}


def test_initial_events_end_with_a_bookmark(widgets: Widgets) -> None:
    """With sendInitialEvents the present comes as ADDED, then a bookmark that ends it."""
    widgets.create("a")
    widgets.create("b")
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with widgets.server.watch(f"{widgets.path}?{_WATCH}&{query}") as watch:
        events = watch.count(3)
        assert _seen(events) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]
        bookmark = events[2]["object"]
        assert (bookmark["kind"], bookmark["apiVersion"]) == ("Widget", widgets.api_version)
        assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        newest = max(int(event["object"]["metadata"]["resourceVersion"]) for event in events[:2])
        assert int(bookmark["metadata"]["resourceVersion"]) >= newest
        widgets.create("c")
        assert _seen(watch.count(4))[3] == ("ADDED", "c")


def test_a_bookmark_comes_before_the_end(widgets: Widgets) -> None:
    """With bookmarks allowed, a stream that saw nothing learns the newest version before it is ended."""
    created = widgets.create("a", metadata={"labels": {"on": "yes"}})
    query = "watch=1&timeoutSeconds=5&allowWatchBookmarks=true&labelSelector=on%3Dyes"
    with widgets.server.watch(f"{widgets.path}?{query}&resourceVersion={created.rv}") as watch:
        other = widgets.create("b")
        events = watch.finish(seconds=15)
    assert {event["type"] for event in events} == {"BOOKMARK"}
    assert int(events[-1]["object"]["metadata"]["resourceVersion"]) >= int(other.rv)


def test_wrong_watch_options(widgets: Widgets) -> None:
    """Contradictions are 422, a version that does not parse is 500, a bad timeout 400."""
    get = widgets.server.get
    match = get(f"{widgets.path}?watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan")
    assert match.status == 422
    assert "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided" in match.message
    initial = get(f"{widgets.path}?watch=1&sendInitialEvents=true")
    assert "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" in initial.message
    assert get(f"{widgets.path}?watch=1&resourceVersion=abc").status == 500
    assert get(f"{widgets.path}?watch=1&timeoutSeconds=abc").status == 400


def test_tables_are_watched_row_by_row(widgets: Widgets) -> None:
    """A Table watch sends one row an event, the columns only with the first."""
    widgets.create("a")
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    with widgets.server.watch(f"{widgets.path}?{_WATCH}&resourceVersion=0", accept=accept) as watch:
        watch.count(1)
        widgets.server.patch(f"{widgets.path}/a", {"spec": {"size": 8}})
        first, second = (event["object"] for event in watch.count(2))
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Size", "Phase"]
    assert not second.get("columnDefinitions")
    assert [table["rows"][0]["cells"][:2] for table in (first, second)] == [["a", 3], ["a", 8]]


def test_the_old_watch_paths(server: APIServer, namespace: str) -> None:
    """The deprecated /watch/ path of one object still works."""
    server.create(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "c"}})
    path = f"/api/v1/watch/namespaces/{namespace}/configmaps/c?resourceVersion=0&timeoutSeconds=30"
    with server.watch(path) as watch:
        assert _seen(watch.until(lambda events: ("ADDED", "c") in _seen(events))) == [("ADDED", "c")]


def test_the_watches_of_a_removed_kind_end(server: APIServer, widgets: Widgets) -> None:
    """Removing a definition deletes its objects, which watches see, and then ends them."""
    group = f"gone.{widgets.group}"
    server.create(CRDS, definition(group, "things", "Thing"))
    wait_until_served(server, group, "things")
    path = f"/apis/{group}/v1/namespaces/{widgets.namespace}/things"
    created = server.create(path, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}})
    with server.watch(f"{path}?{_WATCH}&resourceVersion={created.rv}") as watch:
        going = server.delete(f"{CRDS}/things.{group}")
        assert going.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        events = watch.finish(seconds=30)
    assert ("DELETED", "t") in _seen(events)
    server.eventually(path, lambda answer: answer.status == 404)


def test_http_1_0(server: APIServer, widgets: Widgets) -> None:
    """It knows no chunks: the lines come as they are, and the server closes at the end."""
    widgets.create("a")
    connection = server.endpoint.connect(60)
    connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"  # type: ignore[attr-defined]
    fields = {"Authorization": f"Bearer {server.endpoint.token}"} if server.endpoint.token else {}
    try:
        connection.request("GET", f"{widgets.path}?watch=1&timeoutSeconds=1", headers=fields)
        response = connection.getresponse()
        lines = response.read().splitlines()
    finally:
        connection.close()
    assert (response.status, response.version, response.headers.get("Transfer-Encoding")) == (200, 10, None)
    assert [json.loads(line)["type"] for line in lines] == ["ADDED"]
