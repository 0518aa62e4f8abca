from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.shard_selector import slot_of, slot_of_namespace
from handloop.client.options import ListOptions
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import SLOT_LABEL, ShardScope
from handloop.kinds.core_v1 import Namespace


def held(*slots: int, count: int = 4) -> HeldSlots:
    """A process that holds these slots."""
    those = HeldSlots(count)
    for slot in slots:
        those.add(slot)
    return those


def test_namespace_uid_or_label_decide_the_slot() -> None:
    """By hash, or by the label's number; a label that is no slot puts an object into none."""
    for slot, by in ((slot_of_namespace("team-a", 4), "namespace"), (slot_of("u-1", 4), "uid")):
        scope = ShardScope(held(slot), by)  # type: ignore[arg-type]
        assert scope.slot_of("team-a", "u-1", {SLOT_LABEL: "3"}) == slot
        assert scope.holds("team-a", "u-1", {})
    scope = ShardScope(held(3), "label")
    found = [scope.slot_of("", "", {SLOT_LABEL: text}) for text in ("3", "4", "-1", "x", "", "\u0663")]
    assert found == [3, None, None, None, None, None]
    assert scope.holds("", "", {SLOT_LABEL: "3"})
    assert not scope.holds("", "", {})


def test_requests_are_narrowed_to_the_slots() -> None:
    """By UID, label, or known foreign namespaces, beside the selector that is there already."""
    by_uid = ShardScope(held(2, 1, count=4), "uid").narrowed(ListOptions(limit=5))
    assert by_uid.limit == 5
    assert by_uid.shard_selector == (
        "shardRange(object.metadata.uid, '0x4000000000000000', '0xc000000000000000')"
    )
    by_label = ShardScope(held(2, 1), "label").narrowed(ListOptions(label_selector="app=web"))
    assert by_label == ListOptions(label_selector="app=web,handloop.dev/slot in (1,2)")
    ours = slot_of_namespace("team-a", 4)
    by_namespace = ShardScope(held(ours), "namespace")
    by_namespace.held.namespaces.learn(
        ["team-a", next(n for n in "bcdef" if slot_of_namespace(n, 4) != ours)]
    )
    asked = by_namespace.narrowed(ListOptions(field_selector="metadata.name=x")).field_selector
    assert asked.startswith("metadata.name=x,metadata.namespace!=")
    assert "team-a" not in asked
    older = ShardScope(held(2, 1), "label").narrowed(ListOptions(), frozenset({0}))
    assert older == ListOptions(label_selector="handloop.dev/slot in (0)")


def test_all_slots_need_no_hash_and_none_cannot_be_asked_for() -> None:
    """A process that holds everything asks as without shards; one that holds nothing must not ask."""
    for by in ("namespace", "uid"):
        assert ShardScope(held(0, 1, 2, 3), by).narrowed(ListOptions()) == ListOptions()
    with pytest.raises(ValueError, match="no slot"):
        ShardScope(held(), "namespace").narrowed(ListOptions())


def test_by_namespace_a_cluster_scoped_kind_is_whole() -> None:
    """It has no namespace to decide by; its UID and labels do decide."""
    by_namespace, by_uid = ShardScope(held(), "namespace"), ShardScope(held(), "uid")
    assert by_namespace.scope_of(Deployment) is by_namespace
    assert by_namespace.scope_of(Namespace) is None
    assert by_uid.scope_of(Namespace) is by_uid
