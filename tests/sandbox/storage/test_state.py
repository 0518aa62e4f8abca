from __future__ import annotations

from handloop.sandbox.storage.state import State
from handloop.sandbox.storage.store import Store
from handloop.sandbox.wire.resource import GroupResource


def test_a_store_is_a_state() -> None:
    """The store offers what the API reads."""
    state: State = Store()
    assert state.list(GroupResource("", "pods")) == []
    assert state.compacted == state.resource_version
    assert state.by_uid("x") is None
    assert list(state.group_resources()) == [GroupResource("", "pods")]
