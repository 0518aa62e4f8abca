"""A StorageVersionMigration, followed to its end, by a server that answers in a row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.client.http.response import Headers, Response
from handloop.controller.cli.server_migration import NotByServerError, ServerMigration
from handloop.testing import FakeClock
from support.doubles.scripted_transport import ScriptedTransport

NAME = "sites.example.org"
OTHER = {"group": "example.org", "resource": "others"}
OWN = {"group": "example.org", "resource": "sites"}


def _answer(body: dict[str, Any], status: int = 200) -> Response:
    return Response(status, Headers({}), json.dumps(body).encode())


def _versions(*names: str) -> Response:
    return _answer({"versions": [{"version": name} for name in names]})


def _migration(*true: str, name: str = "m", resource: dict[str, str] = OWN) -> dict[str, Any]:
    conditions = [{"type": kind, "status": "True", "message": "because"} for kind in true]
    metadata = {"name": name}
    return {"metadata": metadata, "spec": {"resource": resource}, "status": {"conditions": conditions}}


def _list(*items: dict[str, Any]) -> Response:
    return _answer({"items": items})


SERVED = _versions("v1beta1")
MADE = _answer(_migration(), 201)


def _run(*answers: Response) -> tuple[str | None, list[str], list[str]]:
    """Why it was not done, what was told, and the requests."""
    transport, clock, told = ScriptedTransport(answers), FakeClock(), list[str]()
    migration = ServerMigration(transport, NAME, tell=told.append, pause=clock.advance, clock=clock.now)
    why = None
    try:
        migration.run()
    except NotByServerError as error:
        why = str(error)
    return why, told, [f"{sent.method} {sent.path.rpartition('/')[2]}" for sent in transport.sent]


def test_it_is_followed_until_the_definition_is_tidied() -> None:
    """The server shortens storedVersions after it has said that it succeeded."""
    states = [("Running",), ("Running",), ("Running", "Succeeded"), ("Succeeded",)]
    why, told, sent = _run(SERVED, _list(), MADE, *(_answer(_migration(*each)) for each in states))
    assert why is None
    named = "StorageVersionMigration m"
    assert told == [f"{named} waits", f"{named} is running", f"{named} has succeeded"]
    assert sent == [
        "GET storagemigration.k8s.io",
        "GET storageversionmigrations",
        "POST storageversionmigrations",
        *["GET m"] * 4,
    ]


def test_one_that_is_under_way_is_followed() -> None:
    """A run that was stopped goes on in the server; what is over, or of another kind, is left."""
    items = [
        _migration("Failed", name="over"),
        _migration("Running", name="other", resource=OTHER),
        _migration("Running", name="mine"),
    ]
    why, _, sent = _run(SERVED, _list(*items), _answer(_migration("Succeeded", name="mine")))
    assert (why, sent[2:]) == (None, ["GET mine"])


def test_the_newest_version_is_used() -> None:
    """Both have the same form; an alpha one has another."""
    transport = ScriptedTransport([_versions("v1beta1", "v1"), _list(_migration("Running")), SERVED])
    with pytest.raises(StopIteration):
        ServerMigration(transport, NAME, pause=lambda _: None).run()
    assert transport.sent[1].path == "/apis/storagemigration.k8s.io/v1/storageversionmigrations"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([_answer({}, 404)], ""),
        ([_versions("v1alpha1")], ""),
        ([SERVED, _answer({"message": "forbidden"}, 403)], "forbidden"),
        ([SERVED, _list(), _answer({"message": "forbidden"}, 403)], "forbidden"),
        (
            [SERVED, _list(), MADE, *(_answer(_migration(*each, "Failed")) for each in (["Running"], []))],
            "m: because",
        ),
        ([SERVED, _list(), MADE, _answer({}, 404)], "somebody has deleted m"),
    ],
)
def test_why_the_server_does_not_do_it(answers: list[Response], why: str) -> None:
    """Then the objects are written from here."""
    assert _run(*answers)[0] == why


def test_a_controller_that_is_not_there() -> None:
    """A migration that nobody begins is taken back."""
    waits = [_answer(_migration()) for _ in range(32)]
    why, _, sent = _run(SERVED, _list(), MADE, *waits)
    assert why == "no controller has started m within 30 s"
    assert sent[-1] == "DELETE m"


def test_a_definition_that_is_not_tidied_is_not_waited_for() -> None:
    """Whoever called looks at storedVersions, and does it object by object."""
    over = [_answer(_migration("Running", "Succeeded")) for _ in range(40)]
    why, _, sent = _run(SERVED, _list(), MADE, *over)
    assert why is None
    assert len(sent) < 40
