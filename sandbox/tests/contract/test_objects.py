from __future__ import annotations

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer


def test_create_fills_in_what_the_server_owns(widgets: Widgets) -> None:
    """A new object gets uid, time, generation 1, version and defaults, in place of the client's."""
    created = widgets.create(
        "a", metadata={"uid": "mine", "generation": 7, "creationTimestamp": "2001-01-01T00:00:00Z"}
    )
    metadata = created.body["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata["generation"] == 1
    assert not metadata["creationTimestamp"].startswith("2001")
    assert int(metadata["resourceVersion"]) > 0
    assert created.body["spec"] == {"size": 3, "color": "red", "replicas": 1, "nested": {"mode": "auto"}}
    assert widgets.server.get(f"{widgets.path}/a").body == created.body


def test_create_twice_is_refused(widgets: Widgets) -> None:
    """The second create of a name is 409 AlreadyExists with the resource in its details."""
    widgets.create("a")
    again = widgets.server.create(widgets.path, widgets.new("a"))
    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")
    assert again.message == f'widgets.{widgets.group} "a" already exists'
    assert again.body["details"] == {"name": "a", "group": widgets.group, "kind": "widgets"}


def test_repeated_owner_references_are_dropped(widgets: Widgets) -> None:
    """Equal owner references are stored once, with a warning; those that only share a UID are kept."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    other = {**owner, "name": "q"}
    text = "API server dedups owner references in 1.20+, and may reject such requests as early as 1.24"
    text = f"{text}; please fix your requests; duplicate UID(s) observed: u"
    warned = f".metadata.ownerReferences contains duplicate entries; {text}"
    # in dry runs, because the garbage collector removes owners that do not exist
    server, dry = widgets.server, "?dryRun=All"
    obj = widgets.new("a", metadata={"ownerReferences": [owner, other, owner]})
    created = server.create(f"{widgets.path}{dry}", obj)
    assert (created.body["metadata"]["ownerReferences"], created.warnings) == ([owner, other], [warned])
    stored = widgets.create("a").body
    path = f"{widgets.path}/a{dry}"
    metadata = {**stored["metadata"], "ownerReferences": [owner, owner]}
    replaced = server.update(path, {**stored, "metadata": metadata})
    assert (replaced.body["metadata"]["ownerReferences"], replaced.warnings) == ([owner], [warned])
    patched = server.patch(path, {"metadata": {"ownerReferences": [other, other]}})
    later = warned.replace("entries;", "entries after mutating admission happens;")
    assert (patched.body["metadata"]["ownerReferences"], patched.warnings) == ([other], [later])


def test_an_owner_has_a_version(widgets: Widgets) -> None:
    """An owner reference whose apiVersion has two slashes is refused."""
    owner = {"apiVersion": "a/b/c", "kind": "Pod", "name": "p", "uid": "u"}
    refused = widgets.server.create(widgets.path, widgets.new("a", metadata={"ownerReferences": [owner]}))
    found = ("FieldValueInvalid", "metadata.ownerReferences.apiVersion")
    assert refused.causes == [(*found, 'Invalid value: "a/b/c": version must not be empty')]


def test_generate_name_appends_five_characters(widgets: Widgets) -> None:
    """A generateName makes a name of the prefix and five characters that are hard to confuse."""
    obj = widgets.new("", metadata={"generateName": "gen-"})
    del obj["metadata"]["name"]
    names = {widgets.server.create(widgets.path, obj).body["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    for name in names:
        assert name.startswith("gen-")
        assert len(name) == len("gen-") + 5
        assert set(name.removeprefix("gen-")) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_versions_rise_across_kinds(widgets: Widgets) -> None:
    """One counter serves every kind: each write has a higher version than the one before."""
    configmaps = f"/api/v1/namespaces/{widgets.namespace}/configmaps"
    first = widgets.create("a")
    second = widgets.server.create(configmaps, {"metadata": {"name": "a"}})
    third = widgets.server.patch(f"{widgets.path}/a", {"spec": {"size": 4}})
    assert int(first.rv) < int(second.rv) < int(third.rv)


def test_update_with_an_old_version_conflicts(widgets: Widgets) -> None:
    """A PUT computed from an older version is 409 and changes nothing."""
    old = widgets.create("a").body
    widgets.server.patch(f"{widgets.path}/a", {"spec": {"size": 4}})
    stale = widgets.server.update(f"{widgets.path}/a", old)
    assert (stale.status, stale.body["reason"]) == (409, "Conflict")
    assert stale.message.startswith(
        f'Operation cannot be fulfilled on widgets.{widgets.group} "a": the object'
    )
    assert widgets.server.get(f"{widgets.path}/a").body["spec"]["size"] == 4


def test_update_without_a_version_depends_on_the_kind(widgets: Widgets) -> None:
    """Custom resources want a version (422), ConfigMaps take an unconditional PUT."""
    widgets.create("a")
    refused = widgets.server.update(f"{widgets.path}/a", widgets.new("a", size=5))
    assert refused.status == 422
    assert refused.causes == [
        ("FieldValueInvalid", "metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
    ]
    path = f"/api/v1/namespaces/{widgets.namespace}/configmaps"
    widgets.server.create(path, {"metadata": {"name": "c"}, "data": {"a": "1"}})
    taken = widgets.server.update(f"{path}/c", {"metadata": {"name": "c"}, "data": {"a": "2"}})
    assert (taken.status, taken.body["data"]) == (200, {"a": "2"})


def test_a_write_that_changes_nothing_is_no_write(widgets: Widgets) -> None:
    """A PUT or PATCH that leaves the object as it is keeps its version and generation."""
    created = widgets.create("a")
    put = widgets.server.update(f"{widgets.path}/a", created.body)
    patched = widgets.server.patch(f"{widgets.path}/a", {"spec": {"size": 3}})
    assert put.status == patched.status == 200
    assert put.rv == patched.rv == created.rv


def test_generation_follows_the_spec_only(widgets: Widgets) -> None:
    """Changing the spec raises the generation, changing labels or the status does not."""
    widgets.create("a")
    path = f"{widgets.path}/a"
    labelled = widgets.server.patch(path, {"metadata": {"labels": {"x": "y"}}})
    assert labelled.body["metadata"]["generation"] == 1
    resized = widgets.server.patch(path, {"spec": {"size": 9}})
    assert resized.body["metadata"]["generation"] == 2
    reported = widgets.server.patch(f"{path}/status", {"status": {"phase": "Ready"}})
    assert reported.body["metadata"]["generation"] == 2


def test_name_and_uid_of_an_update_must_match(widgets: Widgets) -> None:
    """A PUT with another name is 400, with another uid 409, for a missing object 404."""
    body = widgets.create("a").body
    path = f"{widgets.path}/a"
    renamed = widgets.server.update(path, {**body, "metadata": {**body["metadata"], "name": "b"}})
    assert renamed.status == 400
    assert renamed.message == "the name of the object (b) does not match the name on the URL (a)"
    other = widgets.server.update(path, {**body, "metadata": {**body["metadata"], "uid": "x"}})
    assert other.status == 409
    assert "Precondition failed: UID in precondition: x" in other.message
    missing = widgets.server.update(f"{widgets.path}/b", widgets.new("b", metadata={"resourceVersion": "1"}))
    assert missing.status == 404


def test_dry_run_changes_nothing(widgets: Widgets) -> None:
    """dryRun=All answers what would be, without version and without a trace."""
    tried = widgets.server.create(f"{widgets.path}?dryRun=All", widgets.new("a"))
    assert tried.status == 201
    assert "resourceVersion" not in tried.body["metadata"]
    assert widgets.server.get(f"{widgets.path}/a").status == 404
    created = widgets.create("a")
    changed = widgets.server.patch(f"{widgets.path}/a?dryRun=All", {"spec": {"size": 9}})
    assert (changed.body["spec"]["size"], changed.body["metadata"]["generation"]) == (9, 2)
    assert widgets.server.get(f"{widgets.path}/a").body == created.body


def test_objects_need_their_namespace(server: APIServer, widgets: Widgets) -> None:
    """Creating in a namespace that is not there is 404 about the namespace; one in the body has to match."""
    elsewhere = widgets.path.replace(widgets.namespace, "nowhere-at-all")
    missing = server.create(elsewhere, widgets.new("a"))
    assert (missing.status, missing.message) == (404, 'namespaces "nowhere-at-all" not found')
    mismatch = server.create(widgets.path, widgets.new("a", metadata={"namespace": "other"}))
    assert mismatch.status == 400
    assert mismatch.message.startswith("the namespace of the provided object does not match")


@pytest.mark.parametrize("subresource", ["", "/status"])
def test_a_deleted_object_does_not_come_back(server: APIServer, namespace: str, subresource: str) -> None:
    """A PUT that would create it, and that names the uid it had, is 409: a new one has another uid."""
    path = f"/api/v1/namespaces/{namespace}/services"
    made = server.create(path, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}).body
    server.delete(f"{path}/a")
    uid = made["metadata"]["uid"]
    for query, root in (("", "/registry"), ("?dryRun=All", "")):
        refused = server.update(f"{path}/a{subresource}{query}", made)
        text = (
            f'Operation cannot be fulfilled on services "a": StorageError: invalid object, Code: 4, '
            f"Key: {root}/services/specs/{namespace}/a, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
        )
        assert (refused.status, refused.message) == (409, text)
    assert server.get(f"{path}/a").status == 404
    del made["metadata"]["uid"]
    assert server.update(f"{path}/a{subresource}", made).status == 201


def test_leases_are_created_by_put(server: APIServer, namespace: str) -> None:
    """A PUT of a Lease that is not there creates it (201); a ConfigMap's is 404."""
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/l"
    assert server.update(path, lease).status == 201
    missing = server.update(f"/api/v1/namespaces/{namespace}/configmaps/c", {"metadata": {"name": "c"}})
    assert missing.status == 404


def test_managed_fields_name_the_manager(widgets: Widgets) -> None:
    """The managedFields carry the fieldManager, else the user agent's first part."""
    named = widgets.server.create(f"{widgets.path}?fieldManager=boss", widgets.new("a"))
    assert [entry["manager"] for entry in named.body["metadata"]["managedFields"]] == ["boss"]
    unnamed = widgets.create("b")
    entry = unnamed.body["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("contract", "Update")
    assert "f:size" in entry["fieldsV1"]["f:spec"]
