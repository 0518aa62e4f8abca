from __future__ import annotations

import pytest

from handloop.apis.shard_selector import slot_of_namespace
from handloop.informers import known_namespaces
from handloop.informers.known_namespaces import SELECTOR_BYTES, KnownNamespaces

NAMES = [f"ns-{i:02}" for i in range(8)]
OURS = {slot_of_namespace("ns-00", 16)}


def test_known_namespaces_of_other_slots_are_left_out() -> None:
    """Those of our slots never; before any is known, nothing is."""
    known = KnownNamespaces(16)
    assert known.excluding(OURS) == ""
    known.learn(NAMES)
    foreign = [name for name in NAMES if slot_of_namespace(name, 16) not in OURS]
    assert known.excluding(OURS) == ",".join(f"metadata.namespace!={name}" for name in foreign)
    assert len(known) == len(NAMES)


def test_a_long_selector_names_those_that_cost_most() -> None:
    """A request line must pass every proxy."""
    known = KnownNamespaces(16)
    known.learn(f"a-namespace-with-a-long-name-{i}" for i in range(500))
    for name in ("zz-busy", "zz-busy", "zz-quiet"):
        known.slot_of(name)
        known.dropped(name)
    terms = known.excluding(()).split(",")
    assert terms[:2] == ["metadata.namespace!=zz-busy", "metadata.namespace!=zz-quiet"]
    assert SELECTOR_BYTES - 60 < len(",".join(terms)) <= SELECTOR_BYTES


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that makes and deletes namespaces for ever does not fill the memory."""
    monkeypatch.setattr(known_namespaces, "_REMEMBERED", 2)
    known = KnownNamespaces(16)
    for name in NAMES:
        known.slot_of(name)
        known.dropped(name)
    assert known.excluding(()) == "metadata.namespace!=ns-06,metadata.namespace!=ns-07"
