from __future__ import annotations

import random
from typing import Any

from handloop_sandbox.requests.request import Context, User
from handloop_sandbox.verbs import metadata

_CONTEXT = Context(1_700_000_000.0, User("me"), random.Random(1), lambda: "new-uid")


def _fields(given: dict[str, Any]) -> set[str]:
    return {cause.field for cause in metadata.validate(given, metadata.subdomain_rule)}


def test_kinds_that_count_no_generations_keep_one() -> None:
    """A generation that a client sends stays where the server has none; a PUT that creates keeps more."""
    sent = {"name": "a", "generation": 7, "selfLink": "/x"}
    created = metadata.for_create({"metadata": sent}, _CONTEXT, with_generation=False)["metadata"]
    assert (created["generation"], created["selfLink"]) == (7, "/x")


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
