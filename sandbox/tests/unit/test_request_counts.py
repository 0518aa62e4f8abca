from __future__ import annotations

from handloop_sandbox.request_counts import RequestCounts, exposition
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource


def test_the_exposition(store: Store) -> None:
    """Requests are counted by method and status, objects by kind, watches as they are."""
    counts = RequestCounts()
    for method, code in (("GET", 200), ("GET", 200), ("POST", 409)):
        counts.answered(method, code)
    transaction = Transaction(store)
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    transaction.put(GroupResource("", "pods"), obj)
    store.commit(transaction.changes)
    text = exposition(store, counts, watches=3)
    assert 'apiserver_request_total{code="200",verb="GET"} 2\n' in text
    assert 'apiserver_request_total{code="409",verb="POST"} 1\n' in text
    assert 'apiserver_longrunning_requests{verb="WATCH"} 3\n' in text
    assert 'apiserver_resource_objects{group="",resource="pods"} 1\n' in text
    assert text.count("# TYPE") == 3


def test_methods_that_clients_invent_are_one() -> None:
    """A client cannot make series."""
    counts = RequestCounts()
    for method in ("BREW", 'x"} 1\n', "get"):
        counts.answered(method, 405)
    assert counts.lines() == ['apiserver_request_total{code="405",verb="other"} 3']
