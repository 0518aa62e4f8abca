from __future__ import annotations

import random

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests.call import Call, shallow_metadata, warning_headers
from handloop_sandbox.requests.request import Context, Request, User
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from handloop_sandbox.wire.negotiate import PLAIN
from handloop_sandbox.wire.options import WriteOptions

_MAPS = next(r for r in builtin_resources() if r.plural == "configmaps")


def _call(**headers: str) -> Call:
    return Call(
        request=Request(
            "POST", "/x", headers={key.replace("_", "-"): value for key, value in headers.items()}
        ),
        context=Context(0.0, User("me"), random.Random(1), lambda: "u"),
        state=Store(),
        catalog=Catalog(()),
        resource=_MAPS,
        path=ResourcePath("", "v1", "configmaps", "n", "c"),
        verb="create",
        form=PLAIN,
    )


def test_who_writes() -> None:
    """The field manager is the one named, else the first part of the user agent."""
    assert _call().manager(WriteOptions(field_manager="boss")) == "boss"
    assert _call(user_agent="kubectl/v1.36 (linux)").manager(WriteOptions()) == "kubectl"
    assert _call().manager(WriteOptions()) == "unknown"
    assert _call(user_agent="x" * 200).manager(WriteOptions()) == "x" * 128


def test_warnings_are_given_once() -> None:
    """Each text is one header, quoted."""
    call = _call()
    for text in ('a "b"', 'a "b"', "c"):
        call.warn(text)
    assert warning_headers(call.warnings) == (
        ("Warning", '299 - "a \\"b\\""'),
        ("Warning", '299 - "c"'),
    )
    assert call.headers()[0] == ("Content-Type", "application/json")


def test_transactions_become_changes() -> None:
    """What a transaction changed is the request's once it is committed to it."""
    call = _call()
    transaction = call.transaction(dry_run=False)
    metadata = {"name": "c", "namespace": "n"}
    transaction.put(call.collection, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert call.changes == []
    call.commit(transaction)
    assert [change.name for change in call.changes] == ["c"]
    assert call.stored() is None


def test_metadata_is_copied() -> None:
    """A changed copy of the metadata leaves the object alone; None removes a member."""
    obj = {"kind": "X", "metadata": {"name": "a", "labels": {}}}
    changed = shallow_metadata(obj, labels=None, uid="u")
    assert changed == {"kind": "X", "metadata": {"name": "a", "uid": "u"}}
    assert obj["metadata"] == {"name": "a", "labels": {}}


def test_documents_that_are_not_stored() -> None:
    """A Status or a review is written in the form of the request."""
    answer = _call().answer_value({"kind": "Status"}, 201)
    assert (answer.status, answer.content()) == (201, b'{"kind":"Status"}\n')
