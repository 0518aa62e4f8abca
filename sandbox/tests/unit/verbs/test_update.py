from __future__ import annotations

from typing import Any

from support.servers.local_server import LocalServer, widget, with_widgets


def _widget(server: LocalServer) -> tuple[str, dict[str, Any]]:
    path = with_widgets(server)
    created = server.request("POST", path, widget("a", metadata={"finalizers": ["x/y"]}))
    return f"{path}/a", created.body


def test_a_put_replaces_and_counts(server: LocalServer) -> None:
    """A PUT with the current version is stored under a new one, with the next generation."""
    path, body = _widget(server)
    changed = server.request("PUT", path, {**body, "spec": {"size": 7}})
    assert changed.status == 200
    assert changed.body["metadata"]["generation"] == 2
    assert changed.body["spec"]["color"] == "red"
    stale = server.request("PUT", path, {**body, "spec": {"size": 8}})
    assert stale.status == 409


def test_versions_that_make_no_sense(server: LocalServer) -> None:
    """No version is 422 for a custom resource, an unparsable one 500, a missing object 404."""
    path, body = _widget(server)
    assert server.request("PUT", path, widget("a")).status == 422
    bad = {**body, "metadata": {**body["metadata"], "resourceVersion": "abc"}}
    assert server.request("PUT", path, bad).message == 'strconv.ParseUint: parsing "abc": invalid syntax'
    assert server.request("PUT", f"{path[:-2]}/b", widget("b")).status == 404


def test_writing_the_same_is_no_write(server: LocalServer) -> None:
    """An equal object is answered as it is stored; no event is sent."""
    path, body = _widget(server)
    watcher = server.watch(
        f"{path.rpartition('/')[0]}?watch=1&resourceVersion={body['metadata']['resourceVersion']}"
    )
    assert server.request("PUT", path, body).body == body
    assert server.events(watcher) == []


def test_the_last_finalizer_removes_what_is_being_deleted(server: LocalServer) -> None:
    """The answer is the object without finalizers under its old version; then it is gone."""
    path, _ = _widget(server)
    going = server.request("DELETE", path).body
    going["metadata"]["finalizers"] = []
    gone = server.request("PUT", path, going)
    assert gone.status == 200
    assert gone.body["metadata"]["resourceVersion"] == going["metadata"]["resourceVersion"]
    assert server.request("GET", path).status == 404


def test_some_kinds_are_created_by_put(server: LocalServer) -> None:
    """A Lease that is not there is created, with 201."""
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    assert server.request("PUT", path, {"metadata": {"name": "l"}, "spec": {}}).status == 201
    assert server.request("PUT", path, {"metadata": {"name": "m"}, "spec": {}}).status == 400


def test_names_and_uids_have_to_match(server: LocalServer) -> None:
    """Another name or none is 400, another uid 409 with the storage's words."""
    path, body = _widget(server)
    unnamed = server.request("PUT", path, {**body, "metadata": {}})
    assert unnamed.message.endswith("was undeterminable: name must be provided")
    other = {**body, "metadata": {**body["metadata"], "uid": "x"}}
    refused = server.request("PUT", path, other)
    assert refused.status == 409
    assert "Key: /registry/example.com/widgets/n/a" in refused.message
