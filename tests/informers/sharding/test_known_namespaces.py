from __future__ import annotations

import pytest

from handloop.apis.grammar.fields import parse_fields
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.informers.sharding import known_namespaces
from handloop.informers.sharding.known_namespaces import SELECTOR_BYTES, KnownNamespaces

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
        known.meet(name)
        known.dropped(name)
    terms = known.excluding(()).split(",")
    assert terms[:2] == ["metadata.namespace!=zz-busy", "metadata.namespace!=zz-quiet"]
    assert SELECTOR_BYTES - 60 < len(",".join(terms)) <= SELECTOR_BYTES


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that makes and deletes namespaces for ever does not fill the memory."""
    monkeypatch.setattr(known_namespaces, "_REMEMBERED", 2)
    known = KnownNamespaces(16)
    for name in NAMES:
        known.meet(name)
        known.dropped(name)
    assert known.excluding(()) == "metadata.namespace!=ns-06,metadata.namespace!=ns-07"


def test_only_what_the_server_sent_is_known() -> None:
    """A question may be a text that a user wrote: it has a slot, and changes no later selector."""
    known = KnownNamespaces(16)
    known.learn(NAMES)
    before = known.excluding(())
    for text in ("x0,metadata.name=nothing", "y1,z", "", "../a", "\ud800", "x" * 60_000):
        assert 0 <= known.slot_of(text) < 16
    assert (known.excluding(()), len(known)) == (before, len(NAMES))


def test_each_term_is_escaped() -> None:
    """Whatever a namespace is called, the selector leaves out that one, and is understood."""
    known = KnownNamespaces(16)
    known.learn(["a,b", "c=d", "e\\f"])
    assert [term.value for term in parse_fields(known.excluding(()))] == ["a,b", "c=d", "e\\f"]
