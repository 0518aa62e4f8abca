from __future__ import annotations

from sandbox.resource import GroupResource
from sandbox.state import State
from sandbox.store import Store


def test_a_store_is_a_state() -> None:
    """The store offers what the API reads."""
    state: State = Store()
    assert state.list(GroupResource("", "pods")) == []
    assert state.compacted == state.resource_version
    assert state.by_uid("x") is None
    assert list(state.group_resources()) == [GroupResource("", "pods")]
