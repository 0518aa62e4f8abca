from __future__ import annotations

from handloop_learn import ch08_sync_handler
from handloop_learn.ch08_sync_handler import BODY, Sync
from support.checks.chapters import told

DOES = {
    "finds no Foo": 'log.error("Foo referenced',
    "creates": "self._deployments.create(",
    "refuses it": "MESSAGE_RESOURCE_EXISTS",
    "scales it": "self._deployments.patch(",
    "writes status": "self.update_foo_status(",
    "records Event": "SUCCESS_SYNCED",
}


def executed(sync: Sync) -> list[str]:
    """What a sync did, by the lines that it executed."""
    return [words for words, code in DOES.items() if BODY.line_with(code) in sync.lines]


def test_the_sync_handler_looks_at_what_is() -> None:
    """Each situation leads to its writes only, many events to one create, and a kill to the same end."""
    end, text = told(ch08_sync_handler.chapter)
    new, unchanged, scaled, foreign, gone = end.syncs
    assert new.requests == {"POST": 1, "PUT": 1}
    assert new.events == ["Normal Synced Foo synced successfully"]
    assert unchanged.requests == {"PUT": 1}
    assert scaled.requests == {"PATCH": 1, "PUT": 1}
    assert foreign.requests == {}
    assert foreign.error.startswith("ReconcileError")
    assert foreign.events == [
        'Warning ErrResourceExists Resource "foo" already exists and is not managed by Foo'
    ]
    assert gone.requests == {}
    assert gone.error == ""
    assert [executed(sync) for sync in end.syncs] == [
        ["creates", "writes status", "records Event"],
        ["writes status", "records Event"],
        ["scales it", "writes status", "records Event"],
        ["refuses it"],
        ["finds no Foo"],
    ]
    assert f"{BODY.line_with('self._deployments.create(')} 1     |" in text
    assert f"{BODY.line_with('SUCCESS_SYNCED')} 123   |" in text
    assert end.after_many.requests == {"POST": 1, "PUT": 1}
    assert end.replicas == 4
    assert end.uids[0] == end.uids[1]
    assert "{'availableReplicas': 1}" in text
