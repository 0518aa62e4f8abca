from __future__ import annotations

from typing import Any

from handloop_sandbox.storage.owner_references import (
    controller_of,
    controller_reference,
    is_controlled_by,
    references,
    with_references,
    without_owners,
)


def _owned(*owners: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "x", **({"ownerReferences": list(owners)} if owners else {})}}


def test_controller_is_the_reference_marked_as_one() -> None:
    """Of several owners only the one with controller = true is the controller."""
    obj = _owned({"uid": "1"}, {"uid": "2", "controller": True})
    assert is_controlled_by(obj, "2")
    assert not is_controlled_by(obj, "1")
    assert controller_of(_owned({"uid": "1"})) is None


def test_controller_reference_blocks_its_owner() -> None:
    """A controller's reference names the owner by kind, name and uid, and blocks foreground deletion."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "uid": "u"}}
    assert controller_reference(owner) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_removing_owners_leaves_the_original_alone() -> None:
    """Owners go by uid from a copy; the field goes with the last of them."""
    obj = _owned({"uid": "1"}, {"uid": "2"})
    assert references(without_owners(obj, {"1"})) == [{"uid": "2"}]
    assert "ownerReferences" not in without_owners(obj, {"1", "2"})["metadata"]
    assert len(references(obj)) == 2
    assert references(with_references(_owned(), [{"uid": "3"}])) == [{"uid": "3"}]
