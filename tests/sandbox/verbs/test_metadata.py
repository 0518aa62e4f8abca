from __future__ import annotations

import random
from typing import Any

from handloop.sandbox.requests.request import Context, User
from handloop.sandbox.verbs import metadata

_CONTEXT = Context(1_700_000_000.0, User("me"), random.Random(1), lambda: "new-uid")


def _fields(given: dict[str, Any]) -> set[str]:
    return {cause.field for cause in metadata.validate(given, metadata.subdomain_rule)}


def test_a_new_object_belongs_to_the_server() -> None:
    """What only the server sets replaces whatever the client sent of it."""
    sent = {
        "name": "a",
        "labels": {"x": "y"},
        "uid": "mine",
        "resourceVersion": "5",
        "generation": 7,
        "selfLink": "/x",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
    }
    cleaned = metadata.without_system_fields({"metadata": sent})
    created = metadata.for_create(cleaned, _CONTEXT, with_generation=True)["metadata"]
    assert created == {
        "name": "a",
        "labels": {"x": "y"},
        "uid": "new-uid",
        "generation": 1,
        "creationTimestamp": "2023-11-14T22:13:20Z",
    }
    plain = metadata.for_create({"metadata": {}}, _CONTEXT, with_generation=False)["metadata"]
    assert "generation" not in plain


def test_kinds_that_count_no_generations_keep_one() -> None:
    """A generation that a client sends stays where the server has none; a PUT that creates keeps more."""
    sent = {"name": "a", "generation": 7, "selfLink": "/x"}
    created = metadata.for_create({"metadata": sent}, _CONTEXT, with_generation=False)["metadata"]
    assert (created["generation"], created["selfLink"]) == (7, "/x")


def test_an_update_keeps_what_it_may_not_change() -> None:
    """Creation time, generation and deletion mark stay; another uid is for validation to refuse."""
    old = {"name": "a", "uid": "u", "creationTimestamp": "t", "generation": 3, "deletionTimestamp": "d"}
    sent = {"name": "a", "generation": 9}
    assert metadata.for_update({"metadata": sent}, {"metadata": old})["metadata"] == old
    other = metadata.for_update({"metadata": {"name": "a", "uid": "z"}}, {"metadata": old})["metadata"]
    assert other["uid"] == "z"
    linked = metadata.for_update({"metadata": {"selfLink": "/x"}}, {"metadata": {}})["metadata"]
    assert linked == {"selfLink": "/x"}
    plain = metadata.for_update({"metadata": {"generation": 5}}, {"metadata": {"uid": "u"}})["metadata"]
    assert plain == {"uid": "u"}


def test_names() -> None:
    """A name is required and has to fit; a generateName may end in a dash."""
    assert _fields({}) == {"metadata.name"}
    assert _fields({"name": "Bad"}) == {"metadata.name"}
    assert _fields({"name": "a", "generateName": "a-"}) == set()
    assert _fields({"name": "a", "generateName": "a."}) == {"metadata.generateName"}


def test_labels_annotations_and_finalizers() -> None:
    """Keys and values have rules; annotations are bounded together."""
    assert _fields({"name": "a", "labels": {"ok": "-bad"}}) == {"metadata.labels"}
    assert _fields({"name": "a", "annotations": {"UPPER/ok": "anything at all"}}) == set()
    assert _fields({"name": "a", "annotations": {"a": "x" * 300_000}}) == {"metadata.annotations"}
    assert _fields({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}) == {"metadata.finalizers"}


def test_owner_references() -> None:
    """References need version, kind, name and uid, and only one of them controls."""
    bad = {"apiVersion": "g/", "kind": "", "name": "", "uid": ""}
    assert _fields({"name": "a", "ownerReferences": [bad]}) == {
        f"metadata.ownerReferences.{key}" for key in ("apiVersion", "kind", "name", "uid")
    }
    event = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}
    assert _fields({"name": "a", "ownerReferences": [event]}) == {"metadata.ownerReferences"}
    pair = [{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True} for n in "ab"]
    (cause,) = metadata.validate({"name": "a", "ownerReferences": pair}, metadata.subdomain_rule)
    assert cause.message.endswith('Found "true" in references for Pod/a and Pod/b')


def test_what_an_update_may_not_do() -> None:
    """Identity is fixed, and while an object is being deleted no finalizer is added."""
    old = {"name": "a", "uid": "u", "deletionTimestamp": "d", "finalizers": ["x/y"]}
    assert metadata.validate_update(old, old) == []
    more = {**old, "finalizers": ["x/y", "x/z"]}
    (cause,) = metadata.validate_update(more, old)
    assert cause.message.endswith('found new finalizers []string{"x/z"}')
    causes = metadata.validate_update({**old, "name": "b", "uid": "z"}, old)
    assert [(cause.field, cause.message) for cause in causes] == [
        ("metadata.name", 'Invalid value: "b": field is immutable'),
        ("metadata.uid", 'Invalid value: "z": field is immutable'),
    ]


def test_finalizers_of_built_in_kinds() -> None:
    """They need a domain or a well-known name; how they are written is looked at again in updates."""
    given = {"finalizers": ["kubernetes", "a.b/c", "plain", "bad one"]}
    new = metadata.more_about_finalizers(given, is_update=False)
    assert [cause.field for cause in new] == ["metadata.finalizers[2]", "metadata.finalizers[3]"]
    changed = metadata.more_about_finalizers(given, is_update=True)
    assert changed[0].field == "metadata.finalizers"


def test_finalizers_without_a_domain_are_mentioned() -> None:
    """Standard finalizers and qualified ones are fine, others draw a warning."""
    (warning,) = metadata.finalizer_warnings({"finalizers": ["orphan", "a.b/c", "plain"]})
    assert warning.startswith('metadata.finalizers: "plain": prefer a domain-qualified finalizer name')
