from __future__ import annotations

from urllib.parse import quote

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer


def test_delete_answers_a_status_with_the_uid(widgets: Widgets) -> None:
    """Deleting an object without finalizers removes it at once; the Status names it."""
    uid = widgets.create("a").body["metadata"]["uid"]
    deleted = widgets.server.delete(f"{widgets.path}/a")
    assert (deleted.status, deleted.body["status"]) == (200, "Success")
    assert deleted.body["details"] == {"name": "a", "group": widgets.group, "kind": "widgets", "uid": uid}
    assert widgets.server.get(f"{widgets.path}/a").status == 404
    assert widgets.server.delete(f"{widgets.path}/a").status == 404


def test_finalizers_hold_an_object_back(widgets: Widgets) -> None:
    """An object with finalizers gets a deletionTimestamp and goes when the last finalizer does."""
    widgets.create("a", metadata={"finalizers": ["example.com/f"]})
    path = f"{widgets.path}/a"
    going = widgets.server.delete(path)
    metadata = going.body["metadata"]
    assert metadata["deletionTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["generation"] == 2
    assert widgets.server.delete(path).rv == going.rv
    gone = widgets.server.patch(path, {"metadata": {"finalizers": None}})
    assert (gone.status, gone.body["metadata"].get("finalizers")) == (200, None)
    assert widgets.server.get(path).status == 404


def test_finalizers_cannot_be_added_while_deleting(widgets: Widgets) -> None:
    """A new finalizer on an object that is being deleted is 422; recreating its name is 409."""
    widgets.create("a", metadata={"finalizers": ["example.com/f"]})
    path = f"{widgets.path}/a"
    widgets.server.delete(path)
    more = widgets.server.patch(path, {"metadata": {"finalizers": ["example.com/f", "example.com/g"]}})
    assert more.status == 422
    assert 'found new finalizers []string{"example.com/g"}' in more.message
    again = widgets.server.create(widgets.path, widgets.new("a"))
    assert again.status == 409
    assert again.message == f'object is being deleted: widgets.{widgets.group} "a" already exists'
    widgets.server.patch(path, {"metadata": {"finalizers": None}})


def test_preconditions(widgets: Widgets) -> None:
    """A DELETE with another uid or version than the object has is 409, about the kind."""
    created = widgets.create("a")
    path = f"{widgets.path}/a"
    uid = widgets.server.delete(path, {"preconditions": {"uid": "x"}})
    assert uid.status == 409
    assert "the UID in the precondition (x) does not match the UID in record" in uid.message
    assert uid.body["details"]["kind"] == "Widget"
    version = widgets.server.delete(path, {"preconditions": {"resourceVersion": "1"}})
    assert version.status == 409
    right = {"uid": created.body["metadata"]["uid"], "resourceVersion": created.rv}
    assert widgets.server.delete(path, {"preconditions": right}).status == 200


def test_propagation_policies_are_finalizers(widgets: Widgets) -> None:
    """Foreground and Orphan keep the object until the garbage collector has done its part."""
    widgets.create("a", metadata={"finalizers": ["example.com/f"]})
    path = f"{widgets.path}/a"
    foreground = widgets.server.delete(f"{path}?propagationPolicy=Foreground")
    assert foreground.body["metadata"]["finalizers"] == ["example.com/f", "foregroundDeletion"]
    orphan = widgets.server.delete(path, {"propagationPolicy": "Orphan"})
    assert "orphan" in orphan.body["metadata"]["finalizers"]
    widgets.server.patch(path, {"metadata": {"finalizers": None}})
    widgets.server.eventually(path, lambda answer: answer.status == 404)


def test_delete_options_are_checked(widgets: Widgets) -> None:
    """An unknown policy, a contradiction and a body of another kind are refused in the server's words."""
    widgets.create("a")
    path = f"{widgets.path}/a"
    unknown = widgets.server.delete(path, {"propagationPolicy": "Later"})
    assert unknown.causes == [
        (
            "FieldValueNotSupported",
            "propagationPolicy",
            'Unsupported value: "Later": supported values: "Foreground", "Background", "Orphan", "nil"',
        )
    ]
    both = widgets.server.delete(path, {"propagationPolicy": "Foreground", "orphanDependents": True})
    assert "orphanDependents and deletionPropagation cannot be both set" in both.message
    other = widgets.server.delete(path, {"kind": "Foo", "apiVersion": "v1"})
    assert other.status == 400
    assert other.message.startswith('no kind "Foo" is registered for version "v1"')


def test_empty_delete_options_are_refused(widgets: Widgets) -> None:
    """A policy that is empty is no policy, and an empty number is no number; dryRun can be repeated."""
    widgets.create("a")
    path = f"{widgets.path}/a"
    supported = 'supported values: "Foreground", "Background", "Orphan", "nil"'
    unsupported = ("FieldValueNotSupported", "propagationPolicy", f'Unsupported value: "": {supported}')
    assert widgets.server.delete(f"{path}?propagationPolicy=").causes == [unsupported]
    both = widgets.server.delete(path, {"propagationPolicy": "", "orphanDependents": False})
    text = "orphanDependents and deletionPropagation cannot be both set"
    assert both.causes == [
        ("FieldValueInvalid", "propagationPolicy", f'Invalid value: "": {text}'),
        unsupported,
    ]
    number = widgets.server.delete(f"{path}?gracePeriodSeconds=")
    assert (number.status, number.message) == (400, 'strconv.ParseInt: parsing "": invalid syntax')
    assert widgets.server.delete(f"{path}?dryRun=All&dryRun=All").status == 200
    assert widgets.server.get(path).status == 200


def test_delete_collection_takes_selectors(widgets: Widgets) -> None:
    """Deleting a collection removes what the selector chooses and answers it as it was."""
    widgets.create("a", metadata={"labels": {"x": "1"}})
    widgets.create("b", metadata={"labels": {"x": "2"}})
    deleted = widgets.server.delete(f"{widgets.path}?labelSelector=x%3D1")
    assert (deleted.status, deleted.names) == (200, ["a"])
    assert widgets.server.get(widgets.path).names == ["b"]


def test_delete_collection_deletes_one_page(widgets: Widgets) -> None:
    """With a limit, only the objects of one page are deleted; the next page follows with its token."""
    for name in "abcde":
        widgets.create(name)
    deleted = widgets.server.delete(f"{widgets.path}?limit=2")
    assert (deleted.status, deleted.names) == (200, ["a", "b"])
    assert deleted.body["metadata"]["remainingItemCount"] == 3
    token = quote(deleted.body["metadata"]["continue"])
    assert widgets.server.get(widgets.path).names == ["c", "d", "e"]
    assert widgets.server.delete(f"{widgets.path}?limit=2&continue={token}").names == ["c", "d"]
    assert widgets.server.get(widgets.path).names == ["e"]


def test_delete_collection_deletes_what_an_older_version_held(widgets: Widgets) -> None:
    """
    With an exact version, objects that were created later stay, and those that are gone are no error.

    The version is also a precondition of each deletion, so it has to be that of the object that still exists.
    """
    widgets.create("a")
    then = widgets.create("b").rv
    widgets.server.delete(f"{widgets.path}/a")
    widgets.create("c")
    query = f"resourceVersion={then}&resourceVersionMatch=Exact"
    deleted = widgets.server.delete(f"{widgets.path}?{query}")
    assert (deleted.status, deleted.names) == (200, ["a", "b"])
    assert widgets.server.get(widgets.path).names == ["c"]


def test_delete_collection_stops_at_a_refusal(widgets: Widgets) -> None:
    """If an object cannot be deleted, those before it are gone and those after it stay."""
    uid = widgets.create("a").body["metadata"]["uid"]
    widgets.create("b")
    refused = widgets.server.delete(widgets.path, {"preconditions": {"uid": uid}})
    assert (refused.status, refused.body["details"]["name"]) == (409, "b")
    assert widgets.server.get(widgets.path).names == ["b"]


def test_garbage_goes_with_its_owner(widgets: Widgets) -> None:
    """An object whose only owner is deleted in the background is collected; an orphaned one stays."""
    configmaps = f"/api/v1/namespaces/{widgets.namespace}/configmaps"
    for name in ("orphaned", "collected"):
        owner = widgets.create(name).body
        reference = {
            "apiVersion": widgets.api_version,
            "kind": "Widget",
            "name": name,
            "uid": owner["metadata"]["uid"],
        }
        child = {"metadata": {"name": f"child-{name}", "ownerReferences": [reference]}}
        widgets.server.create(configmaps, child)
    # a collector that took the younger child away has seen the elder: one it does not know is no orphan to it
    for name, policy, gone in (
        ("collected", "Background", f"{configmaps}/child-collected"),
        ("orphaned", "Orphan", f"{widgets.path}/orphaned"),
    ):
        widgets.server.delete(f"{widgets.path}/{name}?propagationPolicy={policy}")
        widgets.server.eventually(gone, lambda answer: answer.status == 404)
    assert widgets.server.get(f"{widgets.path}/collected").status == 404
    left = widgets.server.get(f"{configmaps}/child-orphaned")
    assert "ownerReferences" not in left.body["metadata"]


def test_a_namespace_takes_its_content_along(server: APIServer, widgets: Widgets) -> None:
    """A deleted namespace is Terminating, refuses new objects with 403, and is gone when it is empty."""
    widgets.create("a", metadata={"finalizers": ["example.com/f"]})
    path = f"/api/v1/namespaces/{widgets.namespace}"
    terminating = server.delete(path)
    assert terminating.body["status"]["phase"] == "Terminating"
    refused = server.create(f"{path}/configmaps", {"metadata": {"name": "late"}})
    assert refused.status == 403
    assert refused.message == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {widgets.namespace} '
        "because it is being terminated"
    )
    assert refused.causes[0][:2] == ("NamespaceTerminating", "metadata.namespace")
    server.eventually(f"{widgets.path}/a", lambda answer: "deletionTimestamp" in answer.body["metadata"])
    server.patch(f"{widgets.path}/a", {"metadata": {"finalizers": None}})
    server.eventually(path, lambda answer: answer.status == 404)


@pytest.mark.parametrize(
    ("query", "before", "after"),
    [
        ("propagationPolicy=Foreground", [], ["foregroundDeletion"]),
        ("propagationPolicy=Orphan", [], ["orphan"]),
        ("propagationPolicy=Background", ["orphan"], None),
    ],
)
def test_a_namespace_keeps_its_propagation_policy(
    server: APIServer, namespace: str, query: str, before: list[str], after: list[str] | None
) -> None:
    """The propagation policy of a namespace's deletion becomes a finalizer, as for other kinds."""
    path = f"/api/v1/namespaces/{namespace}"
    assert server.patch(path, {"metadata": {"finalizers": before}}).status == 200
    assert server.delete(f"{path}?{query}").body["metadata"].get("finalizers") == after
    server.eventually(path, lambda answer: answer.status == 404)


def test_preconditions_of_a_namespace(server: APIServer, namespace: str) -> None:
    """A namespace's deletion names the resource and both values if a precondition fails."""
    path = f"/api/v1/namespaces/{namespace}"
    metadata = server.get(path).body["metadata"]
    for what, field, found in (
        ("UID", "uid", metadata["uid"]),
        ("ResourceVersion", "resourceVersion", metadata["resourceVersion"]),
    ):
        refused = server.delete(path, {"preconditions": {field: "1"}})
        text = f"Precondition failed: {what} in precondition: 1, {what} in object meta: {found}"
        assert refused.message == f'Operation cannot be fulfilled on namespaces "{namespace}": {text}'


def test_the_default_namespace_stays(server: APIServer) -> None:
    """Deleting `default` is 403."""
    refused = server.delete("/api/v1/namespaces/default")
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.message == 'namespaces "default" is forbidden: this namespace may not be deleted'
